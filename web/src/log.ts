// A run that the page cannot simulate, from the log that `multihop-cli/src/run_log.rs` has written into the page.

import { fromBase64, through } from "./packing";
import type { Network, Player, Result } from "./protocol";
import { KIND, WORDS, kindOf, timeOf, word } from "./records";

/** The log in the page. */
export interface RunLog {
  network: Network;
  /** The names to which records refer. */
  names: string[];
  /** All records of the run, compressed, in base64. */
  records: string;
  /** The uid of each packet sent and its fields, one JSON array per line, compressed, in base64. */
  fields: string;
}

type Fields = [string, string][];

/** Kinds of records that the simulator writes only while it is detailed. */
const DETAILS = new Set<number>([KIND.access, KIND.heard, KIND.observed]);
/** Kinds of records whose newest ones come first when details begin. */
const STATES = new Set<number>([KIND.queue, KIND.progress, KIND.route, KIND.observed]);

export class LogPlayer implements Player {
  at = 0;
  readonly end: number;
  readonly network: Network;
  private isDetailed = false;
  /** The first word that has not been taken, and the word behind the last one that may be. */
  private from = 0;
  private to = 0;
  /** States of the network when details began. */
  private states: number[] = [];

  private constructor(
    private readonly log: RunLog,
    private readonly words: Uint32Array<ArrayBuffer>,
    private readonly fields: Map<number, Fields>,
    private readonly result: Result,
  ) {
    this.network = log.network;
    this.end = Math.round(this.network.duration * 1e9);
  }

  static async open(log: RunLog, result: Result): Promise<LogPlayer> {
    const [records, lines] = await Promise.all([unpacked(log.records), unpacked(log.fields)]);
    const texts = new TextDecoder().decode(lines).split("\n").filter((line) => line !== "");
    const fields = new Map(texts.map((line) => JSON.parse(line) as [number, Fields]));
    return new LogPlayer(log, new Uint32Array(records.buffer), fields, result);
  }

  advance(at: number): void {
    this.at = Math.max(this.at, Math.min(at, this.end));
    this.to = this.place(this.at);
  }

  /** The log needs no checkpoints. */
  keepIfDue(): void {}

  feed(): void {
    throw new Error("the log of a run does not grow");
  }

  known(): number {
    return this.end;
  }

  detailed(on: boolean): void {
    this.isDetailed = on;
    this.states = on ? this.statesBefore(this.from) : [];
  }

  take(): Uint32Array<ArrayBuffer> {
    return this.read((records) => records.slice());
  }

  read<T>(use: (records: Uint32Array<ArrayBuffer>) => T): T {
    const records = this.words.subarray(this.from, this.to);
    const chosen = this.isDetailed ? joined(this.states, records) : withoutDetails(records);
    this.states = [];
    this.from = this.to;
    return use(chosen);
  }

  names(): string[] {
    return this.log.names;
  }

  fieldsOf(uid: number): Fields | undefined {
    return this.fields.get(uid);
  }

  /** The result; then `take` returns the records of packets still in transit. */
  finish(): Result {
    this.to = this.words.length;
    return this.result;
  }

  seek(at: number): void {
    this.at = at;
    this.from = this.place(at);
    this.to = this.from;
    this.detailed(false);
  }

  /** The word of the first record at this time or later. */
  private place(at: number): number {
    let [low, high] = [0, this.words.length / WORDS];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (timeOf(this.words, middle * WORDS) < at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low * WORDS;
  }

  /** The newest record of each state before this word, as records of the current time. */
  private statesBefore(end: number): number[] {
    const newest = new Map<string, number>();
    for (let at = 0; at < end; at += WORDS) {
      if (STATES.has(kindOf(this.words, at))) {
        newest.set(this.subject(at), at);
      }
    }
    return [...newest.values()].flatMap((at) => {
      const record = [...this.words.subarray(at, at + WORDS)];
      [record[1], record[2]] = [this.at % 2 ** 32, Math.floor(this.at / 2 ** 32)];
      if (record[0] === KIND.route) {
        // The route has not changed now.
        record[5] = record[6] as number;
      }
      return record;
    });
  }

  /** What a record of a state is about. */
  private subject(at: number): string {
    const kind = kindOf(this.words, at);
    // Routes to each destination, and quantities by their names, are states of their own.
    const part = kind === KIND.route || kind === KIND.observed ? word(this.words, at + 4) : 0;
    return `${word(this.words, at)} ${word(this.words, at + 3)} ${part}`;
  }
}

/** The records that the simulator writes without details. */
function withoutDetails(records: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const kept = new Uint32Array(records.length);
  let length = 0;
  for (let at = 0; at < records.length; at += WORDS) {
    const kind = kindOf(records, at);
    const isFirstRoute = kind === KIND.route && word(records, at + 5) === word(records, at + 6);
    if (!DETAILS.has(kind) && !isFirstRoute) {
      kept.set(records.subarray(at, at + WORDS), length);
      length += WORDS;
    }
  }
  return kept.subarray(0, length);
}

function joined(first: number[], second: Uint32Array): Uint32Array<ArrayBuffer> {
  const all = new Uint32Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function unpacked(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return through(fromBase64(text), new DecompressionStream("deflate"));
}
