// The records that concern one packet.

import { DATA, DROPPED, KIND, RTS, WORDS, kindOf, radioOf, timeOf, word } from "./records";

const GIVEN_UP = "retry-limit";
/** A frame may be lost until its last bit has arrived; signals take up to some microseconds. Nanoseconds. */
const LATEST = 1e5;

export class Story {
  /** Until when a loss concerns the last frame of a station, a radio of a node: one of the packet, or an RTS. */
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
      switch (kindOf(record, 0)) {
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
      this.settle(this.lastToRequest(word(record, 3)), isIts ? kept : []);
    }
    if (isIts) {
      kept.push(...record);
    }
  }

  private frame(record: Uint32Array, kept: number[]): void {
    const station = stationOf(record, word(record, 3));
    const kind = word(record, 5);
    const end = timeOf(record, 0) + word(record, 6) + LATEST;
    const isIts = word(record, 8) === this.uid;
    if (kind === RTS) {
      this.pending.set(station, [...(this.pending.get(station) ?? []), ...record]);
    } else if (kind === DATA && !isIts) {
      this.pending.delete(station);
    } else if (isIts) {
      this.settle(station, kept);
      kept.push(...record);
    }
    this.frames.set(station, isIts ? end : 0);
    this.requests.set(station, kind === RTS ? end : 0);
  }

  /** What became of a frame at a station that should receive it. */
  private outcome(record: Uint32Array, kept: number[]): void {
    const sender = stationOf(record, word(record, 4));
    const at = timeOf(record, 0);
    if ((this.frames.get(sender) ?? 0) >= at) {
      kept.push(...record);
    } else if ((this.requests.get(sender) ?? 0) >= at) {
      this.pending.get(sender)?.push(...record);
    }
  }

  /** The RTS of a station were for this packet. */
  private settle(station: number, kept: number[]): void {
    kept.push(...(this.pending.get(station) ?? []));
    this.pending.delete(station);
  }

  /** The radio of a node that has sent the latest RTS: what the node's MAC says at the end of an exchange is about that one. */
  private lastToRequest(node: number): number {
    const stations = Array.from({ length: MOST_RADIOS }, (_, radio) => node * MOST_RADIOS + radio);
    const latest = (station: number): number => this.requests.get(station) ?? -1;
    return stations.reduce((best, station) => (latest(station) > latest(best) ? station : best));
  }
}

/** A number for the radio that a record is about, at this node. */
function stationOf(record: Uint32Array, node: number): number {
  return node * MOST_RADIOS + radioOf(record, 0);
}

/** Radios that a node may have. */
const MOST_RADIOS = 8;
