// The simulator's module, and seeking in a run by copies of its memory.

import type { Network, Player, Result } from "./protocol";

interface Exports {
  memory: WebAssembly.Memory;
  input(length: number): number;
  output(): number;
  output_length(): number;
  load(): number;
  advance(nanos: number): void;
  detailed(on: number): void;
  records(): number;
  records_length(): number;
  clear(): void;
  names(): void;
  fields(): void;
  finish(): void;
  feed(): void;
  known(): number;
  end(): number;
}

/** The state of a run at an instant. */
interface Checkpoint {
  at: number;
  /** Bytes of the recording that had arrived. */
  fed: number;
  memory: Uint8Array;
}

/** All checkpoints together have at most this many bytes. */
const MOST_BYTES = 192 * 2 ** 20;
const MOST_CHECKPOINTS = 64;
/** Between checkpoints of a run whose end is not known, ns. */
const LIVE_SPACING = 1e9;

export class Engine implements Player {
  /** Nanoseconds. */
  at = 0;
  readonly network: Network;
  end: number;
  private run: Exports;
  private checkpoints: Checkpoint[] = [];
  private spacing: number;

  /** Begins a run; throws what is wrong with the request. A recording, as far as it has arrived, makes it a replay. */
  constructor(
    private readonly module: WebAssembly.Module,
    request: string,
    private recording: Uint8Array = new Uint8Array(),
    live = false,
  ) {
    this.run = instance(module);
    this.put(new TextEncoder().encode(request), SEPARATOR, recording);
    const loaded = this.run.load();
    if (loaded === 0) {
      throw new Error(this.answer());
    }
    this.network = JSON.parse(this.answer()) as Network;
    this.end = Math.round(this.network.duration * 1e9);
    this.spacing = live ? LIVE_SPACING : this.end / MOST_CHECKPOINTS;
    this.keep();
  }

  /** Handles all events before `at`. */
  advance(at: number): void {
    this.run.advance(at);
    this.at = Math.max(this.at, Math.min(at, this.end, this.known()));
  }

  /** The same on the first passage, which leaves checkpoints behind. Records must have been taken. */
  keepIfDue(): void {
    const last = this.checkpoints[this.checkpoints.length - 1];
    if (last === undefined || this.at >= last.at + this.spacing) {
      this.keep();
    }
  }

  /** More of the recording has arrived. */
  feed(bytes: Uint8Array): void {
    const longer = new Uint8Array(this.recording.length + bytes.length);
    longer.set(this.recording);
    longer.set(bytes, this.recording.length);
    this.recording = longer;
    this.put(bytes);
    this.run.feed();
    this.end = this.run.end();
  }

  /** How far the run can be moved on, ns. */
  known(): number {
    return this.run.known();
  }

  detailed(on: boolean): void {
    this.run.detailed(on ? 1 : 0);
  }

  /** A copy of the records since the last call. */
  take(): Uint32Array<ArrayBuffer> {
    return this.read((records) => records.slice());
  }

  /** What `use` makes of the records since the last call, which it sees in place. */
  read<T>(use: (records: Uint32Array<ArrayBuffer>) => T): T {
    const length = this.run.records_length();
    const made = use(new Uint32Array(this.run.memory.buffer as ArrayBuffer, this.run.records(), length));
    this.run.clear();
    return made;
  }

  names(): string[] {
    this.run.names();
    return JSON.parse(this.answer()) as string[];
  }

  /** The fields of a packet that was sent since `take`. */
  fieldsOf(uid: number): [string, string][] | undefined {
    this.run.fields();
    const all = JSON.parse(this.answer()) as [number, [string, string][]][];
    return all.find(([other]) => other === uid)?.[1];
  }

  /** Ends the run. Afterwards only `seek` is allowed. */
  finish(): Result {
    this.run.finish();
    return JSON.parse(this.answer()) as Result;
  }

  /** Continues from an instant that has been passed before, without records. */
  seek(at: number): void {
    const best = this.checkpoints.findLast((checkpoint) => checkpoint.at <= at) as Checkpoint;
    if (this.at > at || this.at < best.at) {
      this.run = instance(this.module);
      const { memory } = this.run;
      const missing = best.memory.length - memory.buffer.byteLength;
      if (missing > 0) {
        memory.grow(missing / 65536);
      }
      new Uint8Array(memory.buffer).set(best.memory);
      this.at = best.at;
      this.put(this.recording.subarray(best.fed));
      this.run.feed();
    }
    this.detailed(false);
    while (this.at < at) {
      this.run.clear();
      this.advance(Math.min(at, this.at + this.spacing));
    }
    this.run.clear();
  }

  private keep(): void {
    const memory = new Uint8Array(this.run.memory.buffer).slice();
    this.checkpoints.push({ at: this.at, fed: this.recording.length, memory });
    const bytes = this.checkpoints.reduce((sum, checkpoint) => sum + checkpoint.memory.length, 0);
    if (bytes > MOST_BYTES && this.checkpoints.length > 2) {
      this.checkpoints = this.checkpoints.filter((_, index) => index % 2 === 0);
      this.spacing *= 2;
    }
  }

  /** Makes these bytes the input. */
  private put(...parts: Uint8Array[]): void {
    let place = this.run.input(parts.reduce((sum, part) => sum + part.length, 0));
    for (const part of parts) {
      new Uint8Array(this.run.memory.buffer, place, part.length).set(part);
      place += part.length;
    }
  }

  private answer(): string {
    const bytes = new Uint8Array(this.run.memory.buffer, this.run.output(), this.run.output_length());
    return new TextDecoder().decode(bytes);
  }
}

/** Between the request and the recording. */
const SEPARATOR = new Uint8Array([0]);

function instance(module: WebAssembly.Module): Exports {
  return new WebAssembly.Instance(module, {}).exports as unknown as Exports;
}
