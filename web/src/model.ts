// One run of the page: what is known of it, the stretch in full, the selection.

import { detail, firstFrame } from "./detail";
import type { Detail, Frame } from "./detail";
import { numbered } from "./looks";
import type { Look } from "./looks";
import { MARKS } from "./protocol";
import type { FromWorker, Life, Mark, Network, Overview, Result, ToWorker } from "./protocol";
import { Stations } from "./stations";
import type { View } from "./view";

/** Frames that a stretch may have, so that it is drawn without a pause. */
const MOST_FRAMES = 7000;
/** Records that a stretch may have. */
const MOST_RECORDS = 400_000;
/** The share of these that is fetched around the cursor, where the view is too long for all. */
const AROUND = 0.15;
/** The same while playing: more takes longer to read than a picture of the screen lasts. */
const PLAYED = 0.25;
/** What has been simulated so lately need not be in the stretch, ns. */
const FRESH = 0.5e9;
/** While playing, a stretch is fetched this much ahead, wall-clock s. */
const AHEAD = 0.4;

export class Model {
  /** Nanoseconds. */
  readonly end: number;
  readonly stations: Stations;
  overview: Overview | null = null;
  result: Result | null = null;
  detail: Detail | null = null;
  life: Life | null = null;
  selected: Frame | null = null;
  /** What went wrong with a search. */
  notice = "";
  /** The frame to be selected when its stretch is known. */
  private picked: { at: number; node: number; radio: number } | null = null;
  private asked: { from: number; to: number } | null = null;
  private readonly mostFrames: number;

  constructor(
    readonly network: Network,
    private readonly looks: Look[],
    readonly view: View,
    private readonly ask: (message: ToWorker) => void,
    private readonly changed: () => void,
  ) {
    this.end = Math.round(network.duration * 1e9);
    this.stations = new Stations(network);
    this.mostFrames = Math.min(MOST_FRAMES, MOST_RECORDS / (6 + 3 * degree(network)));
  }

  get cursor(): number {
    return this.view.cursor;
  }

  get from(): number {
    return this.view.from;
  }

  get to(): number {
    return this.view.to;
  }

  get flow(): number | null {
    return this.view.flow;
  }

  /** How a flow is drawn. */
  lookOf(flow: number): Look {
    return this.looks[flow] ?? numbered(flow);
  }

  /** Takes a message of the worker. */
  take(message: FromWorker): void {
    if (message.kind === "overview") {
      this.overview = message.overview;
      this.result = message.result ?? this.result;
    } else if (message.kind === "stretch") {
      this.detail = detail(message.stretch, this.network);
      this.asked = null;
      this.reselect();
    } else if (message.kind === "life") {
      this.life = message.life;
      this.notice = message.life === null ? `There is no packet ${message.uid}.` : "";
    }
    this.changed();
  }

  /** Whether the detail covers what is in view. */
  isDetailed(): boolean {
    const { detail } = this;
    return detail !== null && detail.from <= this.from && detail.to >= this.reach(this.to) && this.isNear();
  }

  /** An instant, at most a little before the end of what has been simulated. */
  private reach(at: number): number {
    const { overview, result, end } = this;
    const known = result !== null || overview === null ? end : overview.until - FRESH;
    return Math.min(at, Math.max(0, known));
  }

  /** Whether the stretch in view has few enough frames for detail. */
  isNear(): boolean {
    return this.frames(this.from, this.to) <= this.mostFrames;
  }

  /** The detail, if it covers this instant. */
  detailAt(at: number): Detail | null {
    const { detail } = this;
    return detail !== null && detail.from <= at && detail.to >= at ? detail : null;
  }

  /** Steps to the next or previous frame. */
  step(direction: 1 | -1): void {
    const detail = this.detailAt(this.cursor);
    if (detail === null) {
      return;
    }
    const first = firstFrame(detail.frames, direction === 1 ? this.cursor + 1 : this.cursor);
    const frame = detail.frames[direction === 1 ? first : first - 1];
    if (frame !== undefined) {
      this.select(frame);
      this.view.moveTo(frame.at);
    }
  }

  select(frame: Frame | null): void {
    this.selected = frame;
    this.picked = null;
    this.life = null;
    this.notice = "";
    if (frame !== null && frame.uid > 0) {
      this.ask({ kind: "life", uid: frame.uid });
    }
    this.changed();
  }

  /** Selects the frame that the radio of a node begins at an instant, once it is known; the packet stays. */
  pick(at: number, node: number, radio: number): void {
    this.selected = null;
    this.picked = { at, node, radio };
    this.reselect();
    this.changed();
  }

  /** Shows a packet: its life, from its first event on. */
  find(uid: number): void {
    this.selected = this.picked = null;
    this.life = null;
    this.notice = "";
    this.ask({ kind: "life", uid });
    this.changed();
  }

  /** Moves to the next or previous mark of a kind; false if there is none. */
  jump(mark: Mark, direction: 1 | -1): boolean {
    const marks = this.overview?.marks[mark];
    const later = (at: number): boolean => at > this.cursor;
    const earlier = (at: number): boolean => at < this.cursor;
    const at = direction === 1 ? marks?.at.find(later) : marks?.at.findLast(earlier);
    if (at === undefined) {
      this.notice = `There is no ${direction === 1 ? "later" : "earlier"} ${MARK_NAMES[mark]}.`;
      this.changed();
      return false;
    }
    this.notice = "";
    this.view.cursor = at;
    const span = Math.min(this.to - this.from, JUMP_SPAN);
    this.view.show(at - span / 2, at + span / 2);
    this.changed();
    return true;
  }

  /** Frames from one instant to another, by the overview. */
  private frames(from: number, to: number): number {
    const { overview } = this;
    if (overview === null) {
      return Number.POSITIVE_INFINITY;
    }
    const { width, frames, bins } = overview;
    const first = Math.floor(from / width);
    const last = Math.min(bins - 1, Math.floor(to / width));
    let sum = 0;
    for (let bin = first; bin <= last; bin += 1) {
      const part = (Math.min(to, (bin + 1) * width) - Math.max(from, bin * width)) / width;
      sum += part * (frames[bin] as number);
    }
    return sum;
  }

  /** Frames per nanosecond in view, and in what is played next. */
  private rate(): number {
    const next = this.view.playing ? Math.min(this.end, this.cursor + 2 * this.aheadOf()) : 0;
    const to = Math.max(this.to, next);
    return this.frames(this.from, to) / (to - this.from);
  }

  /** What is played in the time that fetching a stretch takes, ns. */
  private aheadOf(): number {
    return AHEAD * this.view.speed * 1e9;
  }

  /** Whether it is played so fast that single frames cannot be fetched in time: then shares of airtime are drawn. */
  isTooFast(): boolean {
    return this.view.playing && this.aheadOf() * this.rate() > this.mostFrames * PLAYED;
  }

  /** Asks for the stretch in view if it is short enough; otherwise for some time around the cursor. */
  wantDetail(): void {
    const { overview, view } = this;
    if (overview === null || this.cursor > this.end) {
      return;
    }
    const span = this.to - this.from;
    const near = this.isNear();
    const rate = this.rate();
    const ahead = view.playing ? this.aheadOf() : 1;
    const around = Math.max(2 * ahead, Math.min(span, (this.mostFrames * AROUND) / Math.max(rate, 1e-12)));
    const [from, to] = near ? [this.from, this.to] : [this.cursor - 1e6, this.cursor + around];
    // Long enough that a stretch is asked for now and then, not with every picture of the screen.
    const lead = view.playing ? Math.min(ahead, (this.mostFrames * PLAYED) / rate) : 0;
    const needed = near ? { from, to: this.reach(to + lead) } : { from: this.cursor, to: this.reach(this.cursor + ahead) };
    const covers = (have: { from: number; to: number } | null): boolean =>
      have !== null && have.from <= Math.max(0, needed.from) && have.to >= needed.to;
    if (needed.from > needed.to || this.isTooFast() || covers(this.detail) || covers(this.asked)) {
      return;
    }
    const margin = near && !view.playing && rate * span < this.mostFrames / 2 ? span / 2 : 0;
    const known = this.result === null ? overview.until : this.end;
    this.asked = { from: Math.max(0, from - margin), to: Math.min(known, to + margin + (near ? 2 * lead : 0)) };
    this.ask({ kind: "stretch", ...this.asked });
  }

  /** The selected frame in the new detail. */
  private reselect(): void {
    const wanted = this.selected ?? this.picked;
    if (wanted !== null && this.detail !== null) {
      const same = this.detail.frames.find((frame) => frame.at === wanted.at && frame.node === wanted.node && frame.radio === wanted.radio);
      this.selected = same ?? this.selected;
    }
  }
}

/** The view after a jump is at most this long, ns. */
const JUMP_SPAN = 40e6;

export const MARK_NAMES: Record<Mark, string> = {
  drop: "drop",
  collision: "collision",
  route: "route change",
  timeout: "timeout",
  freeze: "freeze",
};

export { MARKS };

/** Mean number of stations that sense a station at the start. */
function degree(network: Network): number {
  const reach = Math.max(...network.radios.map(({ sense_range, decode_range }) => sense_range ?? 2 * decode_range));
  const places = network.nodes.slice(0, 2000).map((_, node) => placeAt(network, node, 0));
  let pairs = 0;
  for (const [x, y] of places) {
    pairs += places.filter(([u, v]) => Math.hypot(x - u, y - v) <= reach).length - 1;
  }
  return pairs / Math.max(1, places.length);
}

/** Where a node is. */
export function placeAt(network: Network, node: number, at: number): [number, number] {
  const path = network.nodes[node]?.path ?? [];
  const time = at / 1e9;
  let low = 0;
  let high = path.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((path[middle]?.[0] ?? 0) <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const before = path[Math.max(0, low - 1)] ?? [0, 0, 0];
  const after = path[low] ?? before;
  const share = after[0] > before[0] ? (time - before[0]) / (after[0] - before[0]) : 0;
  return [before[1] + (after[1] - before[1]) * share, before[2] + (after[2] - before[2]) * share];
}
