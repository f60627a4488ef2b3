// Decoder of LZMA streams, which browsers lack: compressed with LZMA the simulator has two thirds of its size with gzip.
// A stream begins with the number of its decompressed bytes, 32 bits, little-endian. Names are those of Igor Pavlov's
// specification of LZMA.

/** Literal context bits, literal position bits and position bits: `tools/build.py` compresses with these. */
const LC = 3;
const LP = 0;
const PB = 0;
const POSITION_STATES = 1 << PB;
const STATES = 12;
/** Number of the lowest bits of a long distance that have probabilities of their own. */
const ALIGN_BITS = 4;
const END_POSITION_MODEL = 14;
const FULL_DISTANCES = 1 << (END_POSITION_MODEL >> 1);
const MIN_MATCH = 2;
const LENGTH_BYTES = 4;

/** A new probability of one half for each of `count` bits. */
function halves(count: number): Uint16Array {
  return new Uint16Array(count).fill(1024);
}

/** Reads bits whose probabilities adapt. */
class RangeDecoder {
  private range = 0xffffffff;
  private code = 0;

  /** `next` is the index of the first byte of the code; a byte 0 precedes it. */
  constructor(
    private readonly input: Uint8Array,
    private next: number,
  ) {
    for (let count = 0; count < 4; count += 1) {
      this.code = ((this.code << 8) | this.byte()) >>> 0;
    }
  }

  private byte(): number {
    const byte = this.input[this.next];
    if (byte === undefined) {
      throw new Error("the compressed simulator is incomplete");
    }
    this.next += 1;
    return byte;
  }

  private normalize(): void {
    if (this.range < 0x1000000) {
      this.range = (this.range << 8) >>> 0;
      this.code = ((this.code << 8) | this.byte()) >>> 0;
    }
  }

  bit(probabilities: Uint16Array, index: number): number {
    const probability = probabilities[index]!;
    const bound = (this.range >>> 11) * probability;
    let bit = 0;
    if (this.code < bound) {
      probabilities[index] = probability + ((2048 - probability) >> 5);
      this.range = bound;
    } else {
      probabilities[index] = probability - (probability >> 5);
      this.code -= bound;
      this.range -= bound;
      bit = 1;
    }
    this.normalize();
    return bit;
  }

  /** `count` bits that are 0 or 1 equally often, the highest first. */
  direct(count: number): number {
    let found = 0;
    for (let left = count; left > 0; left -= 1) {
      this.range >>>= 1;
      const bit = this.code >= this.range ? 1 : 0;
      this.code -= bit * this.range;
      found = (found << 1) | bit;
      this.normalize();
    }
    return found;
  }

  /** A number of `bits` bits, the highest first, in a tree of probabilities. */
  tree(probabilities: Uint16Array, bits: number, from = 0): number {
    let node = 1;
    for (let left = bits; left > 0; left -= 1) {
      node = (node << 1) | this.bit(probabilities, from + node);
    }
    return node - (1 << bits);
  }

  /** A number of `bits` bits, the lowest first. */
  reverseTree(probabilities: Uint16Array, bits: number, from = 0): number {
    let node = 1;
    let found = 0;
    for (let place = 0; place < bits; place += 1) {
      const bit = this.bit(probabilities, from + node);
      node = (node << 1) | bit;
      found |= bit << place;
    }
    return found;
  }
}

/** Lengths of matches, 0 for the shortest. */
class LengthDecoder {
  private readonly choice = halves(2);
  private readonly low = halves(POSITION_STATES << 3);
  private readonly mid = halves(POSITION_STATES << 3);
  private readonly high = halves(1 << 8);

  length(decoder: RangeDecoder, positionState: number): number {
    if (decoder.bit(this.choice, 0) === 0) {
      return decoder.tree(this.low, 3, positionState << 3);
    }
    if (decoder.bit(this.choice, 1) === 0) {
      return 8 + decoder.tree(this.mid, 3, positionState << 3);
    }
    return 16 + decoder.tree(this.high, 8);
  }
}

/** The bytes that an LZMA stream contains. Throws an error if the stream is incomplete or damaged. */
export function decompress(input: Uint8Array): Uint8Array<ArrayBuffer> {
  const length = new DataView(input.buffer, input.byteOffset).getUint32(0, true);
  const decoder = new RangeDecoder(input, LENGTH_BYTES + 1);
  const output = new Uint8Array(length);
  const literals = halves(0x300 << (LC + LP));
  const isMatch = halves(STATES * POSITION_STATES);
  const isRep = halves(STATES);
  const isRepG0 = halves(STATES);
  const isRepG1 = halves(STATES);
  const isRepG2 = halves(STATES);
  const isRep0Long = halves(STATES * POSITION_STATES);
  const slots = halves(4 << 6);
  const positions = halves(1 + FULL_DISTANCES - END_POSITION_MODEL);
  const align = halves(1 << ALIGN_BITS);
  const lengths = new LengthDecoder();
  const repLengths = new LengthDecoder();
  let state = 0;
  let [rep0, rep1, rep2, rep3] = [0, 0, 0, 0];

  const literal = (at: number): number => {
    const before = at > 0 ? output[at - 1]! : 0;
    const context = ((at & ((1 << LP) - 1)) << LC) + (before >> (8 - LC));
    const from = 0x300 * context;
    let symbol = 1;
    if (state >= 7) {
      // After a match the literal differs from the byte at the same distance.
      let matched = output[at - rep0 - 1]!;
      while (symbol < 0x100) {
        const expected = (matched >> 7) & 1;
        matched <<= 1;
        const bit = decoder.bit(literals, from + ((1 + expected) << 8) + symbol);
        symbol = (symbol << 1) | bit;
        if (bit !== expected) {
          break;
        }
      }
    }
    while (symbol < 0x100) {
      symbol = (symbol << 1) | decoder.bit(literals, from + symbol);
    }
    return symbol & 0xff;
  };

  const distance = (matchLength: number): number => {
    const slot = decoder.tree(slots, 6, Math.min(matchLength, 3) << 6);
    if (slot < 4) {
      return slot;
    }
    const bits = (slot >> 1) - 1;
    const high = (2 | (slot & 1)) << bits;
    if (slot < END_POSITION_MODEL) {
      return high + decoder.reverseTree(positions, bits, high - slot);
    }
    const middle = decoder.direct(bits - ALIGN_BITS) << ALIGN_BITS;
    return high + middle + decoder.reverseTree(align, ALIGN_BITS);
  };

  let at = 0;
  while (at < length) {
    const positionState = at & (POSITION_STATES - 1);
    const place = state * POSITION_STATES + positionState;
    if (decoder.bit(isMatch, place) === 0) {
      output[at] = literal(at);
      at += 1;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let matched: number;
    if (decoder.bit(isRep, state) === 0) {
      [rep1, rep2, rep3] = [rep0, rep1, rep2];
      matched = lengths.length(decoder, positionState);
      rep0 = distance(matched);
      state = state < 7 ? 7 : 10;
    } else {
      if (decoder.bit(isRepG0, state) === 0) {
        if (decoder.bit(isRep0Long, place) === 0) {
          output[at] = output[at - rep0 - 1]!;
          at += 1;
          state = state < 7 ? 9 : 11;
          continue;
        }
      } else if (decoder.bit(isRepG1, state) === 0) {
        [rep0, rep1] = [rep1, rep0];
      } else if (decoder.bit(isRepG2, state) === 0) {
        [rep0, rep1, rep2] = [rep2, rep0, rep1];
      } else {
        [rep0, rep1, rep2, rep3] = [rep3, rep0, rep1, rep2];
      }
      matched = repLengths.length(decoder, positionState);
      state = state < 7 ? 8 : 11;
    }
    if (rep0 >= at) {
      throw new Error("the compressed simulator is damaged");
    }
    const end = Math.min(at + matched + MIN_MATCH, length);
    for (; at < end; at += 1) {
      output[at] = output[at - rep0 - 1]!;
    }
  }
  return output;
}
