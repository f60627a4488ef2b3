// The records of the simulator: twelve words each, as `multihop-sim/src/view/log.rs` writes them.
// Times are nanoseconds everywhere; doubles hold them exactly for the longest run.

export const WORDS = 12;
export const BROADCAST = 0xffff_ffff;

export const KIND = {
  frame: 1,
  received: 2,
  collided: 3,
  packet: 4,
  progress: 5,
  delivered: 6,
  queue: 7,
  access: 8,
  route: 9,
  timeout: 10,
  heard: 11,
  observed: 12,
} as const;

export const PACKET_EVENTS = ["sent", "received", "forwarded", "dropped"] as const;
export const SENT = 0;
export const RECEIVED = 1;
export const DROPPED = 3;

/** How a receiver judged a frame. */
export const VERDICTS = ["ignored", "deaf", "received", "missed", "damaged", "collided"] as const;

export const FRAMES = ["RTS", "CTS", "ACK", "data", "broadcast"] as const;
export const RTS = 0;
export const DATA = 3;
/** The keys of the same kinds in results. */
export const FRAME_KEYS = ["rts", "cts", "ack", "data", "broadcast"] as const;

/** The word at an index that is known to exist. */
export function word(words: Uint32Array, at: number): number {
  return words[at] as number;
}

/** The kind of the record that begins at this word. */
export function kindOf(words: Uint32Array, at: number): number {
  return word(words, at) & 0xff;
}

/** The radio that the record that begins at this word is about. */
export function radioOf(words: Uint32Array, at: number): number {
  return word(words, at) >>> 8;
}

/** The time of the record that begins at this word. */
export function timeOf(words: Uint32Array, at: number): number {
  return word(words, at + 2) * 2 ** 32 + word(words, at + 1);
}

const bits = new DataView(new ArrayBuffer(4));

/** The floating-point number in a word. */
export function float(value: number): number {
  bits.setUint32(0, value);
  return bits.getFloat32(0);
}
