// A stretch of time in full: frames with their outcome, what stations wait for, packets, flows.

import type { Network, Stretch } from "./protocol";
import { BROADCAST, DATA, FRAMES, KIND, PACKET_EVENTS, VERDICTS, WORDS, float, kindOf, radioOf, timeOf, word } from "./records";
import { Stations } from "./stations";

export interface Frame {
  at: number;
  end: number;
  node: number;
  /** The radio over which it is sent. */
  radio: number;
  to: number;
  kind: number;
  bytes: number;
  uid: number;
  nav: number;
  retry: boolean;
  sequence: number;
  /** The number of its bit rate. */
  rate: number;
  /** The flow of its packet; -1 if it has none. */
  flow: number;
  /** Stations that received it for themselves, and stations where it was lost to another frame. */
  received: number[];
  collided: number[];
  /** How it reached its receiver, or each station that hears a broadcast. */
  receptions: Reception[];
}

/** A frame at a station. */
export interface Reception {
  node: number;
  verdict: (typeof VERDICTS)[number];
  /** Received power, dBm. */
  power: number;
  /** Ratio to noise and interference at the worst moment, dB; NaN without either. */
  sinr: number;
  /** The strongest other frame at that moment: its station, kind, and power in dBm. A station interferes with itself if it
   * transmitted. */
  interferer: { node: number; radio: number; kind: number; power: number } | null;
}

export type Outcome = "received" | "collided" | "not received";

/** A stretch of time; those of a list follow each other. */
export interface Span {
  at: number;
  end: number;
}

export const WAITS = ["busy", "nav", "backoff", "paused"] as const;

/** What a station waits for, and when. */
export type Waits = Record<(typeof WAITS)[number], Span[]>;

export interface PacketEvent {
  at: number;
  node: number;
  event: (typeof PACKET_EVENTS)[number];
  uid: number;
  flow: number;
  kind: string;
  source: number;
  destination: number;
  hops: number;
  reason: string;
  bytes: number;
}

/** A value that holds from an instant on. */
export interface Step {
  at: number;
  value: number;
}

export interface FlowSteps {
  windows: Step[];
  trips: Step[];
  states: { at: number; state: string }[];
  /** Bit rates of data frames, Mb/s; one-way delays of packets that arrive, ms; rates of a pacing sender, kb/s. */
  rates: Step[];
  delays: Step[];
  paces: Step[];
  /** What else its transport declares, by name. */
  declared: Map<string, Declared>;
}

/** A counter, gauge or state that a transport declares. */
export interface Declared {
  unit: string;
  /** The value, or the name of the state. */
  steps: { at: number; value: number | string }[];
}

export interface Detail {
  from: number;
  to: number;
  frames: Frame[];
  /** By station. */
  waits: Waits[];
  packets: PacketEvent[];
  flows: FlowSteps[];
  /** By station. */
  queues: Step[][];
  collisions: { at: number; node: number; frame: Frame }[];
  /** Next hops, as data used them last. */
  routes: { at: number; node: number; destination: number; next: number }[];
}

export function detail(stretch: Stretch, network: Network): Detail {
  const { words, names, from, to, delays } = stretch;
  const reader = new Reader(network, to);
  for (let at = 0; at < words.length; at += WORDS) {
    reader.read(words, at, names);
  }
  for (let at = 0; at < delays.length; at += 3) {
    const [time, flow, delay] = delays.subarray(at, at + 3) as unknown as [number, number, number];
    reader.delay(time, flow, delay);
  }
  return { from, to, ...reader.finish() };
}

/** What became of a frame for one station, at that station. */
export function outcome(frame: Frame): Outcome {
  if (frame.to === BROADCAST) {
    return frame.received.length > 0 ? "received" : frame.collided.length > 0 ? "collided" : "not received";
  }
  if (frame.received.includes(frame.to)) {
    return "received";
  }
  return frame.collided.includes(frame.to) ? "collided" : "not received";
}

/** How a frame reached a station, if that is known. */
export function receptionAt(frame: Frame, node: number): Reception | undefined {
  return frame.receptions.find((reception) => reception.node === node);
}

/** The stations on the way from one to another at an instant, as far as data has used it. */
export function routeAt({ routes }: Detail, from: number, to: number, at: number): number[] {
  const next = new Map<number, number>();
  for (const route of routes) {
    if (route.at > at) {
      break;
    }
    if (route.destination === to) {
      next.set(route.node, route.next);
    }
  }
  const path = [from];
  for (let hop = next.get(from); hop !== undefined && !path.includes(hop); hop = next.get(hop)) {
    path.push(hop);
  }
  return path;
}

/** Whether a frame is meant for a station. */
export function concerns(frame: Frame, node: number): boolean {
  return frame.to === node || frame.to === BROADCAST;
}

export function frameName(frame: Frame): string {
  return FRAMES[frame.kind] ?? "frame";
}

class Reader {
  private frames: Frame[] = [];
  private packets: PacketEvent[] = [];
  private collisions: Detail["collisions"] = [];
  private routes: Detail["routes"] = [];
  private waits: Waits[];
  private queues: Step[][];
  private flows: FlowSteps[];
  /** The last frame of each station. */
  private lastOf = new Map<number, Frame>();
  private readonly stations: Stations;

  constructor(
    private readonly network: Network,
    private readonly to: number,
  ) {
    this.stations = new Stations(network);
    const stations = this.stations.all.length;
    const flows = network.flows.length;
    this.waits = Array.from({ length: stations }, () => ({ busy: [], nav: [], backoff: [], paused: [] }));
    this.queues = Array.from({ length: stations }, () => []);
    this.flows = Array.from({ length: flows }, () => ({ windows: [], trips: [], states: [], rates: [], delays: [], paces: [], declared: new Map() }));
  }

  read(words: Uint32Array, base: number, names: string[]): void {
    const at = timeOf(words, base);
    const subject = word(words, base + 3);
    const radio = radioOf(words, base);
    const value = (n: number): number => word(words, base + 4 + n);
    switch (kindOf(words, base)) {
      case KIND.frame:
        this.frame(readFrame(words, base));
        break;
      case KIND.received:
        this.lastOf.get(this.stations.of(value(0), radio))?.received.push(subject);
        break;
      case KIND.heard:
        this.lastOf.get(this.stations.of(value(0), radio))?.receptions.push(readReception(words, base));
        break;
      case KIND.collided:
        this.collided(at, subject, this.stations.of(value(0), radio));
        break;
      case KIND.packet:
        this.packets.push(readPacket(words, base, names));
        break;
      case KIND.progress: {
        const flow = this.flows[subject];
        flow?.windows.push({ at, value: float(value(0)) });
        flow?.trips.push({ at, value: value(1) > 0 ? value(1) : Number.NaN });
        flow?.states.push({ at, state: names[value(2)] ?? "" });
        const pace = float(value(3));
        flow?.paces.push({ at, value: pace > 0 ? pace : Number.NaN });
        break;
      }
      case KIND.observed:
        this.observed(subject, at, [names[value(0)] ?? "", names[value(1)] ?? ""], value(3) > 0 ? (names[value(3) - 1] ?? "") : float(value(2)));
        break;
      case KIND.queue:
        this.queues[this.stations.of(subject, radio)]?.push({ at, value: value(0) });
        break;
      case KIND.route:
        this.routes.push({ at, node: subject, destination: value(0), next: value(2) });
        break;
      case KIND.access:
        this.access(words, base, at);
        break;
    }
  }

  finish(): Omit<Detail, "from" | "to"> {
    const { frames, packets, collisions, routes, waits, queues, flows } = this;
    this.blameOverlaps();
    return { frames, packets, collisions, routes, waits, queues, flows };
  }

  private frame(frame: Frame): void {
    this.frames.push(frame);
    this.lastOf.set(this.stations.of(frame.node, frame.radio), frame);
    const rate = this.network.radios[frame.radio]?.rates[frame.rate];
    if (frame.kind === DATA && rate !== undefined) {
      this.flows[frame.flow]?.rates.push({ at: frame.at, value: rate.mbps });
    }
  }

  /** A quantity that a transport declares has a new value. */
  private observed(flow: number, at: number, [name, unit]: [string, string], value: number | string): void {
    const declared = this.flows[flow]?.declared;
    const known = declared?.get(name);
    if (known === undefined) {
      declared?.set(name, { unit, steps: [{ at, value }] });
    } else {
      known.steps.push({ at, value });
    }
  }

  /** A packet of a flow has arrived. */
  delay(at: number, flow: number, delay: number): void {
    this.flows[flow]?.delays.push({ at, value: delay / 1e6 });
  }

  private collided(at: number, node: number, station: number): void {
    const frame = this.lastOf.get(station);
    if (frame !== undefined) {
      frame.collided.push(node);
      this.collisions.push({ at, node, frame });
    }
  }

  /** The receiver counts a collision at the frame that ends last. The other frame for it was lost there too. */
  private blameOverlaps(): void {
    for (const { node, frame } of [...this.collisions]) {
      for (const other of overlapping(this.frames, frame)) {
        const isLost = other.radio === frame.radio && other.to === node && !other.received.includes(node) && !other.collided.includes(node);
        if (isLost) {
          other.collided.push(node);
        }
      }
    }
  }

  /** Most records are of this kind. */
  private access(words: Uint32Array, base: number, at: number): void {
    const waits = this.waits[this.stations.of(word(words, base + 3), radioOf(words, base))];
    if (waits === undefined) {
      return;
    }
    const { to } = this;
    const nav = word(words, base + 5);
    const state = word(words, base + 6);
    note(waits.busy, at, word(words, base + 4) === 1, at, to);
    note(waits.nav, at, nav > 0, at, at + nav);
    note(waits.paused, at, state === 1, at, to);
    note(waits.backoff, at, state === 2, at + word(words, base + 9), at + word(words, base + 7));
  }
}

/** What holds from `now` on: the last span goes on, or ends and, if there is one, the span from `at` to `end` follows. */
function note(spans: Span[], now: number, isNext: boolean, at: number, end: number): void {
  const last = spans[spans.length - 1];
  const goesOn = last !== undefined && last.end > now;
  if (isNext && goesOn && at <= Math.max(last.at, now)) {
    last.end = end;
    return;
  }
  if (goesOn) {
    last.end = now;
    if (last.end <= last.at) {
      spans.pop();
    }
  }
  if (isNext) {
    spans.push({ at, end });
  }
}

/** The spans of a list that overlap with a stretch. */
export function spansBetween(spans: Span[], from: number, to: number): Span[] {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle] as Span).end <= from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  let last = low;
  while (last < spans.length && (spans[last] as Span).at <= to) {
    last += 1;
  }
  return spans.slice(low, last);
}

/** Whether a span of a list holds at an instant. */
export function holdsAt(spans: Span[], at: number): boolean {
  const span = spans[lastIndex(spans, at)];
  return span !== undefined && span.end > at;
}

/** The index of the last item that begins at or before an instant; -1 if there is none. */
export function lastIndex(items: { at: number }[], at: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle] as { at: number }).at <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

function readFrame(words: Uint32Array, base: number): Frame {
  const at = timeOf(words, base);
  const value = (n: number): number => word(words, base + 4 + n);
  const flags = value(6);
  return {
    at,
    end: at + value(2),
    node: word(words, base + 3),
    radio: radioOf(words, base),
    to: value(0),
    kind: value(1),
    bytes: value(3),
    uid: value(4),
    nav: value(5),
    retry: (flags & 1) === 1,
    sequence: (flags >> 1) & 0xfff,
    rate: flags >>> 13,
    flow: value(7) - 1,
    received: [],
    collided: [],
    receptions: [],
  };
}

function readReception(words: Uint32Array, base: number): Reception {
  const value = (n: number): number => word(words, base + 4 + n);
  const other = value(4);
  return {
    node: word(words, base + 3),
    verdict: VERDICTS[value(1)] ?? "ignored",
    power: float(value(2)),
    sinr: float(value(3)),
    interferer: other === 0 ? null : { node: other - 1, radio: value(5) >>> 8, kind: value(5) & 0xff, power: float(value(6)) },
  };
}

function readPacket(words: Uint32Array, base: number, names: string[]): PacketEvent {
  const value = (n: number): number => word(words, base + 4 + n);
  const event = PACKET_EVENTS[value(0)] ?? "sent";
  return {
    at: timeOf(words, base),
    node: word(words, base + 3),
    event,
    uid: value(1),
    flow: value(2) - 1,
    kind: names[value(3)] ?? "",
    source: value(4),
    destination: value(5),
    hops: event === "dropped" ? 0 : value(6),
    reason: event === "dropped" ? (names[value(6)] ?? "") : "",
    bytes: value(7),
  };
}

/** The index of the first frame that begins at or after `at`. */
export function firstFrame(frames: Frame[], at: number): number {
  let low = 0;
  let high = frames.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((frames[middle] as Frame).at < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** No frame lasts longer. */
export const LONGEST_FRAME = 25e6;

/** Frames on the air at some instant from `from` to `to`. */
export function framesBetween(frames: Frame[], from: number, to: number): Frame[] {
  const found: Frame[] = [];
  for (let index = firstFrame(frames, from - LONGEST_FRAME); index < frames.length; index += 1) {
    const frame = frames[index] as Frame;
    if (frame.at > to) {
      break;
    }
    if (frame.end >= from) {
      found.push(frame);
    }
  }
  return found;
}

/** Other frames that were on the air together with this one. */
export function overlapping(frames: Frame[], frame: Frame): Frame[] {
  return framesBetween(frames, frame.at, frame.end).filter((other) => other !== frame);
}

/** The value of the last step at or before an instant. */
export function valueAt(steps: Step[], at: number): number | null {
  return steps[lastIndex(steps, at)]?.value ?? null;
}
