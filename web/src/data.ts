// What the page shows, as `multihop view` wrote it.

import { get } from "./dom";
import type { RunLog } from "./log";
import type { Result } from "./protocol";

/** A request to the simulator's module. */
export interface Request {
  text: string;
  json: boolean;
  name: string;
  overrides: [string, string][];
}

export interface RunData {
  /** Tells the runs of a comparison apart. */
  name?: string;
  request: Request;
  /** The recording of an emulation, in base64, or what has arrived of it. */
  recording?: string | Uint8Array | null;
  /** The result of `multihop run`. */
  result?: Result | null;
  /** The log of a run with user-defined protocols, which the page cannot simulate. */
  log?: RunLog | null;
}

/** What `multihop compare` has found. */
export interface Comparison {
  /** Heading and rows of the table of differences. */
  heading: string[];
  rows: string[][];
  /** Seconds until the first difference between the first two runs, and what each of them does there. */
  first: { at: number; events: [string, string] } | null;
  notes: string[];
}

export interface PageData {
  /** None for a playground. */
  runs: RunData[];
  comparison?: Comparison;
  /** Whether the recording of the run still grows. */
  live?: boolean;
}

export const DATA = JSON.parse(get("request").textContent ?? "") as PageData;
