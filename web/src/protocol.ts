// What the page and its worker tell each other.

import type { RunLog } from "./log";

export interface Network {
  build: string;
  name: string;
  seed: number;
  duration: number;
  warmup: number;
  /** The radios of the nodes, by their numbers in records. */
  radios: Radio[];
  /** Outlines of obstacles and of their holes, m. */
  obstacles: [number, number][][][];
  nodes: { name: string; path: [number, number, number][] }[];
  hosts: { id: number; gateway: number }[];
  flows: { from: number; to: number; transport: string; app: string }[];
}

export interface Radio {
  phy: string;
  channel: number | null;
  decode_range: number;
  sense_range: number | null;
  slot_us: number;
  /** Its bit rates, by their numbers in frames. */
  rates: { name: string; mbps: number }[];
  /** The nodes that have it; null: all. */
  nodes: number[] | null;
}

/** The part of a run's result that the page shows and checks. */
export interface Result {
  flows: {
    id: number;
    goodput_kbps: number;
    timeouts: number;
    retransmission_index: number | null;
  }[];
  mac: { frames: Record<string, number>; collisions: number; retries: number; drops: number };
  drops: Record<string, number>;
  [key: string]: unknown;
}

/** A run that moves on, and from which records are taken. Times are ns. */
export interface Player {
  at: number;
  end: number;
  readonly network: Network;
  /** Handles all events before `at`. */
  advance(at: number): void;
  /** Leaves a checkpoint on the first passage, if that is due. Records must have been taken. */
  keepIfDue(): void;
  /** More of the recording has arrived. */
  feed(bytes: Uint8Array): void;
  /** How far the run can be moved on. */
  known(): number;
  /** Whether records have details from now on. */
  detailed(on: boolean): void;
  /** A copy of the records since the last call. */
  take(): Uint32Array<ArrayBuffer>;
  /** What `use` makes of the records since the last call, which it sees in place. */
  read<T>(use: (records: Uint32Array<ArrayBuffer>) => T): T;
  names(): string[];
  /** The fields of a packet that was sent since `take`. */
  fieldsOf(uid: number): [string, string][] | undefined;
  /** Ends the run. Afterwards only `take` and `seek` are allowed. */
  finish(): Result;
  /** Continues from an instant that has been passed before, without records. */
  seek(at: number): void;
}

/** Notable instants, in order of time. */
export interface Marks {
  at: Float64Array;
  node: Uint32Array;
  /** What else is known: the reason of a drop, the flow of a timeout. */
  about: Uint32Array;
  /** Whether there were more than are kept. */
  cut: boolean;
}

export const MARKS = ["drop", "collision", "route", "timeout", "freeze"] as const;
export type Mark = (typeof MARKS)[number];

/** The whole run, in bins of equal length. */
export interface Overview {
  bins: number;
  /** Nanoseconds. */
  width: number;
  /** How far the run has come, ns. */
  until: number;
  /** Share of the airtime, by station (`Stations`), bin and kind of frame. */
  airtime: Float32Array;
  /** By station and bin. */
  collisions: Uint16Array;
  queues: Uint16Array;
  /** Frames by bin. */
  frames: Uint32Array;
  /** By flow and bin: bytes delivered; the last values of window, round-trip time (us) and state. */
  delivered: Float64Array;
  windows: Float32Array;
  trips: Float32Array;
  states: Int16Array;
  /** By flow and bin: the mean bit rate of data frames, Mb/s, and the mean one-way delay of its packets, ms; NaN if there
   * are none. */
  rates: Float32Array;
  delays: Float32Array;
  /** By flow and bin: the rate at which a pacing sender transmits, kb/s; NaN if it does not pace. */
  paces: Float32Array;
  marks: Record<Mark, Marks>;
  /** Counted after the warm-up, as the result counts. */
  counts: { frames: number[]; collisions: number; drops: Record<string, number> };
  names: string[];
}

/** Everything in a stretch of time. */
export interface Stretch {
  from: number;
  to: number;
  words: Uint32Array;
  names: string[];
  /** For each packet that arrives at the destination of its flow: the time, the flow and the one-way delay in ns. */
  delays: Float64Array;
}

export interface Life {
  uid: number;
  words: Uint32Array;
  names: string[];
  fields: [string, string][];
  /** When the search for its end was given up; null if its end is known. */
  until: number | null;
}

export type ToWorker =
  | { kind: "start"; module: WebAssembly.Module; request: string; recording: Uint8Array | null; live: boolean }
  /** A run whose log and result are in the page. */
  | { kind: "play"; log: RunLog; result: Result }
  /** More of the recording has arrived. */
  | { kind: "feed"; bytes: Uint8Array }
  | { kind: "stretch"; from: number; to: number }
  | { kind: "life"; uid: number };

export type FromWorker =
  | { kind: "network"; network: Network }
  | { kind: "problem"; message: string }
  | { kind: "overview"; overview: Overview; result: Result | null }
  | { kind: "stretch"; stretch: Stretch }
  | { kind: "life"; life: Life | null; uid: number };
