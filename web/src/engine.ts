// The simulator's module, and seeking in a run by copies of its memory.

import type { Network, Result } from "./protocol";

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
}

/** The state of a run at an instant. */
interface Checkpoint {
  at: number;
  memory: Uint8Array;
}

/** All checkpoints together have at most this many bytes. */
const MOST_BYTES = 192 * 2 ** 20;
const MOST_CHECKPOINTS = 96;

export class Engine {
  /** Nanoseconds. */
  at = 0;
  readonly network: Network;
  readonly end: number;
  private run: Exports;
  private checkpoints: Checkpoint[] = [];
  private spacing: number;

  /** Begins a run; throws what is wrong with the request. */
  constructor(private readonly module: WebAssembly.Module, request: string) {
    this.run = instance(module);
    const bytes = new TextEncoder().encode(request);
    const place = this.run.input(bytes.length);
    new Uint8Array(this.run.memory.buffer, place, bytes.length).set(bytes);
    const loaded = this.run.load();
    if (loaded === 0) {
      throw new Error(this.answer());
    }
    this.network = JSON.parse(this.answer()) as Network;
    this.end = Math.round(this.network.duration * 1e9);
    this.spacing = this.end / MOST_CHECKPOINTS;
    this.keep();
  }

  /** Handles all events before `at`. */
  advance(at: number): void {
    this.run.advance(at);
    this.at = Math.max(this.at, Math.min(at, this.end));
  }

  /** The same on the first passage, which leaves checkpoints behind. Records must have been taken. */
  keepIfDue(): void {
    const last = this.checkpoints[this.checkpoints.length - 1];
    if (last === undefined || this.at >= last.at + this.spacing) {
      this.keep();
    }
  }

  detailed(on: boolean): void {
    this.run.detailed(on ? 1 : 0);
  }

  /** A copy of the records since the last call. */
  take(): Uint32Array {
    const length = this.run.records_length();
    const records = new Uint32Array(this.run.memory.buffer, this.run.records(), length).slice();
    this.run.clear();
    return records;
  }

  names(): string[] {
    this.run.names();
    return JSON.parse(this.answer()) as string[];
  }

  /** The fields of packets sent since `take`. */
  fields(): [number, [string, string][]][] {
    this.run.fields();
    return JSON.parse(this.answer()) as [number, [string, string][]][];
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
    this.checkpoints.push({ at: this.at, memory });
    const bytes = this.checkpoints.reduce((sum, checkpoint) => sum + checkpoint.memory.length, 0);
    if (bytes > MOST_BYTES && this.checkpoints.length > 2) {
      this.checkpoints = this.checkpoints.filter((_, index) => index % 2 === 0);
      this.spacing *= 2;
    }
  }

  private answer(): string {
    const bytes = new Uint8Array(this.run.memory.buffer, this.run.output(), this.run.output_length());
    return new TextDecoder().decode(bytes);
  }
}

function instance(module: WebAssembly.Module): Exports {
  return new WebAssembly.Instance(module, {}).exports as unknown as Exports;
}
