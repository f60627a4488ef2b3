// The whole run, thinned to bins, and its notable instants.

import type { Mark, Marks, Network, Overview } from "./protocol";
import { MARKS } from "./protocol";
import { DATA, DROPPED, FRAMES, KIND, RECEIVED, SENT, WORDS, float, kindOf, radioOf, timeOf, word } from "./records";
import { Stations } from "./stations";

/** Values of one chart of all stations. */
const MOST_VALUES = 400_000;
const MOST_BINS = 2400;
const FEWEST_BINS = 200;
const MOST_MARKS = 200_000;

const FREEZES = new Set(["freeze", "stand-by"]);

export class Summary {
  readonly overview: Overview;
  /** When each packet left its source, by uid. */
  private sent = new Float64Array(1024).fill(-1);
  private marks: Record<Mark, Growing>;
  private warmup: number;
  private readonly stations: Stations;
  /** Values in the means of bit rates and of delays, by flow and bin. */
  private rateCounts: Uint32Array;
  private delayCounts: Uint32Array;

  constructor(private readonly network: Network) {
    this.stations = new Stations(network);
    const stations = this.stations.all.length;
    const flows = network.flows.length;
    const room = Math.floor(MOST_VALUES / Math.max(1, stations));
    const bins = Math.max(FEWEST_BINS, Math.min(MOST_BINS, room));
    this.warmup = Math.round(network.warmup * 1e9);
    this.marks = byMark(() => new Growing());
    this.rateCounts = new Uint32Array(flows * bins);
    this.delayCounts = new Uint32Array(flows * bins);
    this.overview = {
      bins,
      width: (network.duration * 1e9) / bins,
      until: 0,
      airtime: new Float32Array(stations * bins * FRAMES.length),
      collisions: new Uint16Array(stations * bins),
      queues: new Uint16Array(stations * bins),
      frames: new Uint32Array(bins),
      delivered: new Float64Array(flows * bins),
      windows: new Float32Array(flows * bins).fill(Number.NaN),
      trips: new Float32Array(flows * bins).fill(Number.NaN),
      states: new Int16Array(flows * bins).fill(-1),
      rates: new Float32Array(flows * bins).fill(Number.NaN),
      delays: new Float32Array(flows * bins).fill(Number.NaN),
      paces: new Float32Array(flows * bins).fill(Number.NaN),
      marks: byMark(() => new Growing().marks()),
      counts: { frames: FRAMES.map(() => 0), collisions: 0, drops: {} },
      names: [],
    };
  }

  /** When a packet left its source; -1 if it never did. */
  sentAt(uid: number): number {
    return this.sent[uid] ?? -1;
  }

  /** A copy for the page. */
  snapshot(names: string[], until: number): Overview {
    this.overview.until = until;
    this.overview.names = names;
    const reached = Math.min(this.overview.bins - 1, Math.floor(until / this.overview.width));
    for (const [station, { length }] of this.lastQueues) {
      this.queue(station, reached, length);
    }
    this.overview.marks = byMark((mark) => this.marks[mark].marks());
    return this.overview;
  }

  add(words: Uint32Array, names: string[]): void {
    for (let at = 0; at < words.length; at += WORDS) {
      const time = timeOf(words, at);
      const subject = word(words, at + 3);
      const bin = Math.min(this.overview.bins - 1, Math.floor(time / this.overview.width));
      switch (kindOf(words, at)) {
        case KIND.frame:
          this.frame(words, at, time, subject, bin);
          break;
        case KIND.collided:
          this.marks.collision.add(time, subject, word(words, at + 4));
          bump(this.overview.collisions, this.stations.of(subject, radioOf(words, at)) * this.overview.bins + bin);
          if (time >= this.warmup) {
            this.overview.counts.collisions += 1;
          }
          break;
        case KIND.packet:
          this.packet(words, at, time, subject, bin, names);
          break;
        case KIND.progress:
          this.progress(words, at, time, subject, bin, names);
          break;
        case KIND.delivered: {
          const cell = subject * this.overview.bins + bin;
          this.overview.delivered[cell] = (this.overview.delivered[cell] as number) + word(words, at + 4);
          break;
        }
        case KIND.queue: {
          const station = this.stations.of(subject, radioOf(words, at));
          if (station >= 0) {
            this.queue(station, bin, word(words, at + 4));
          }
          break;
        }
        case KIND.route:
          this.marks.route.add(time, subject, word(words, at + 4));
          break;
        case KIND.timeout:
          this.marks.timeout.add(time, this.network.flows[subject]?.from ?? 0, subject);
          break;
      }
    }
  }

  /** Notes the longest queue of each bin. A queue keeps its length until the next record. */
  private queue(station: number, bin: number, length: number): void {
    const { bins, queues } = this.overview;
    const last = this.lastQueues.get(station) ?? { bin, length: 0 };
    for (let later = last.bin + 1; later <= bin; later += 1) {
      queues[station * bins + later] = last.length;
    }
    queues[station * bins + bin] = Math.max(queues[station * bins + bin] as number, length);
    this.lastQueues.set(station, { bin, length });
  }

  private lastQueues = new Map<number, { bin: number; length: number }>();

  private frame(words: Uint32Array, at: number, time: number, node: number, bin: number): void {
    const { bins, width, airtime, frames, counts } = this.overview;
    const kind = word(words, at + 5);
    frames[bin] = (frames[bin] as number) + 1;
    if (time >= this.warmup) {
      counts.frames[kind] = (counts.frames[kind] as number) + 1;
    }
    const flow = word(words, at + 11) - 1;
    const radio = radioOf(words, at);
    const rate = this.network.radios[radio]?.rates[word(words, at + 10) >>> 13];
    if (kind === DATA && flow >= 0 && rate !== undefined) {
      addToMean(this.overview.rates, this.rateCounts, flow * bins + bin, rate.mbps);
    }
    // A frame may reach into later bins.
    const station = this.stations.of(node, radio);
    let begin = time;
    const end = time + word(words, at + 6);
    for (let cell = bin; cell < bins && begin < end; cell += 1) {
      const until = Math.min(end, (cell + 1) * width);
      const index = (station * bins + cell) * FRAMES.length + kind;
      airtime[index] = (airtime[index] as number) + (until - begin) / width;
      begin = until;
    }
  }

  private packet(words: Uint32Array, at: number, time: number, node: number, bin: number, names: string[]): void {
    const event = word(words, at + 4);
    const uid = word(words, at + 5);
    if (event === SENT) {
      this.noteSent(uid, time);
    } else if (event === RECEIVED) {
      const arrival = this.arrival(words, at);
      if (arrival !== null) {
        addToMean(this.overview.delays, this.delayCounts, arrival.flow * this.overview.bins + bin, arrival.delay / 1e6);
      }
    } else if (event === DROPPED) {
      const reason = word(words, at + 10);
      const name = names[reason] ?? "end";
      if (time >= this.warmup) {
        const { drops } = this.overview.counts;
        drops[name] = (drops[name] ?? 0) + 1;
      }
      if (name !== "end") {
        this.marks.drop.add(time, node, reason);
      }
    }
  }

  /** The flow and the one-way delay (ns) of a packet that arrives at the destination of its flow, else null. */
  arrival(words: Uint32Array, at: number): { flow: number; delay: number } | null {
    const flow = word(words, at + 6) - 1;
    const node = word(words, at + 3);
    const sent = this.sentAt(word(words, at + 5));
    const isArrival = this.network.flows[flow]?.to === node && word(words, at + 9) === node && sent >= 0;
    return isArrival ? { flow, delay: timeOf(words, at) - sent } : null;
  }

  private noteSent(uid: number, time: number): void {
    if (uid >= this.sent.length) {
      const longer = new Float64Array(2 * uid).fill(-1);
      longer.set(this.sent);
      this.sent = longer;
    }
    if (this.sent[uid] === -1) {
      this.sent[uid] = time;
    }
  }

  private progress(
    words: Uint32Array,
    at: number,
    time: number,
    flow: number,
    bin: number,
    names: string[],
  ): void {
    const { bins, windows, trips, states, paces } = this.overview;
    const cell = flow * bins + bin;
    windows[cell] = float(word(words, at + 4));
    const trip = word(words, at + 5);
    trips[cell] = trip > 0 ? trip : Number.NaN;
    const pace = float(word(words, at + 7));
    paces[cell] = pace > 0 ? pace : Number.NaN;
    const state = word(words, at + 6);
    if (this.lastStates.get(flow) !== state && FREEZES.has(names[state] ?? "")) {
      this.marks.freeze.add(time, this.network.flows[flow]?.from ?? 0, flow);
    }
    this.lastStates.set(flow, state);
    states[cell] = state;
  }

  private lastStates = new Map<number, number>();
}

/** A list of instants that grows. */
class Growing {
  private at = new Float64Array(64);
  private node = new Uint32Array(64);
  private about = new Uint32Array(64);
  private length = 0;
  private cut = false;

  add(at: number, node: number, about: number): void {
    if (this.length >= MOST_MARKS) {
      this.cut = true;
      return;
    }
    if (this.length === this.at.length) {
      [this.at, this.node, this.about] = [longer(this.at), longer(this.node), longer(this.about)];
    }
    this.at[this.length] = at;
    this.node[this.length] = node;
    this.about[this.length] = about;
    this.length += 1;
  }

  marks(): Marks {
    const { at, node, about, length, cut } = this;
    return { at: at.slice(0, length), node: node.slice(0, length), about: about.slice(0, length), cut };
  }
}

/** The same numbers in an array of twice the length. */
function longer<T extends Float64Array | Uint32Array>(values: T): T {
  const more = new (values.constructor as new (length: number) => T)(2 * values.length);
  more.set(values);
  return more;
}

function byMark<T>(make: (mark: Mark) => T): Record<Mark, T> {
  return Object.fromEntries(MARKS.map((mark) => [mark, make(mark)])) as Record<Mark, T>;
}

/** Adds a value to the mean in a cell. */
function addToMean(means: Float32Array, counts: Uint32Array, cell: number, value: number): void {
  const count = (counts[cell] as number) + 1;
  const before = count === 1 ? 0 : (means[cell] as number);
  counts[cell] = count;
  means[cell] = before + (value - before) / count;
}

function bump(counts: Uint16Array, at: number): void {
  counts[at] = Math.min(0xffff, (counts[at] as number) + 1);
}
