// The records that concern one packet.

import { DATA, DROPPED, KIND, RTS, WORDS, timeOf, word } from "./records";

const GIVEN_UP = "retry-limit";
/** A frame may be lost until its last bit has arrived; signals take up to some microseconds. Nanoseconds. */
const LATEST = 1e5;

export class Story {
  /** Until when a loss concerns the last frame of a station: one of the packet, or an RTS. */
  private frames = new Map<number, number>();
  private requests = new Map<number, number>();
  /** The RTS that a station has sent since its last data frame, and what became of them: they are for its next one. */
  private pending = new Map<number, number[]>();

  constructor(private readonly uid: number) {}

  /** The packet's events, its frames with the RTS before them, and what became of these. */
  read(words: Uint32Array, names: string[]): Uint32Array {
    const kept: number[] = [];
    for (let at = 0; at < words.length; at += WORDS) {
      const record = words.subarray(at, at + WORDS);
      switch (word(record, 0)) {
        case KIND.packet:
          this.event(record, names, kept);
          break;
        case KIND.frame:
          this.frame(record, kept);
          break;
        case KIND.received:
        case KIND.heard:
        case KIND.collided:
          this.outcome(record, kept);
          break;
      }
    }
    return Uint32Array.from(kept);
  }

  private event(record: Uint32Array, names: string[], kept: number[]): void {
    const isIts = word(record, 5) === this.uid;
    // The MAC has given up on the packet that its RTS were for.
    if (word(record, 4) === DROPPED && names[word(record, 10)] === GIVEN_UP) {
      this.settle(word(record, 3), isIts ? kept : []);
    }
    if (isIts) {
      kept.push(...record);
    }
  }

  private frame(record: Uint32Array, kept: number[]): void {
    const node = word(record, 3);
    const kind = word(record, 5);
    const end = timeOf(record, 0) + word(record, 6) + LATEST;
    const isIts = word(record, 8) === this.uid;
    if (kind === RTS) {
      this.pending.set(node, [...(this.pending.get(node) ?? []), ...record]);
    } else if (kind === DATA && !isIts) {
      this.pending.delete(node);
    } else if (isIts) {
      this.settle(node, kept);
      kept.push(...record);
    }
    this.frames.set(node, isIts ? end : 0);
    this.requests.set(node, kind === RTS ? end : 0);
  }

  /** What became of a frame at a station that should receive it. */
  private outcome(record: Uint32Array, kept: number[]): void {
    const sender = word(record, 4);
    const at = timeOf(record, 0);
    if ((this.frames.get(sender) ?? 0) >= at) {
      kept.push(...record);
    } else if ((this.requests.get(sender) ?? 0) >= at) {
      this.pending.get(sender)?.push(...record);
    }
  }

  /** The RTS of a station were for this packet. */
  private settle(node: number, kept: number[]): void {
    kept.push(...(this.pending.get(node) ?? []));
    this.pending.delete(node);
  }
}
