// The time line: a row for each station, a box for each frame; from afar, shares of airtime.

import { AXIS, GUTTER, drawAxis, placeCursor, timeAt, xOf } from "./axis";
import { Made, begin } from "./canvas";
import type { Surface } from "./canvas";
import { concerns, framesBetween, outcome, spansBetween } from "./detail";
import type { Frame, Span, Waits } from "./detail";
import type { Model } from "./model";
import { DATA, FRAMES } from "./records";
import { LETTERS, frameColour, inkOn, theme } from "./theme";

const LEAST_ROW = 16;
const MOST_ROW = 44;
/** Heights of all rows, px. */
const LOWEST = 150;
const HIGHEST = 520;
/** No letter of a label is narrower, px. */
const LEAST_DIGIT = 3;
/** Rectangles of the density view. */
const MOST_CELLS = 40_000;

export class Timeline {
  /** Scrolled rows, px. */
  private top = 0;
  /** The share of airtime that fills a row from afar. */
  private full = 1;
  /** The stations that have a row, and the row of each. */
  private rows: number[] = [];
  private rowOf = new Map<number, number>();
  private readonly made = new Made();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly model: Model,
  ) {
    const rows = model.stations.all.length;
    canvas.style.height = `${AXIS + Math.max(LOWEST, Math.min(HIGHEST, rows * 34))}px`;
  }

  draw(): void {
    const { overview, selected, life, from, to, view } = this.model;
    const detail = this.model.isDetailed() ? this.model.detail : null;
    if (this.made.isStaleIn(this.canvas, [overview, detail, selected, life, from, to, view.onlyActive, this.top])) {
      this.paint();
    }
    placeCursor(this.canvas, this.model);
  }

  private paint(): void {
    const surface = begin(this.canvas);
    drawAxis(surface, this.model);
    this.choose();
    const row = this.row(surface.height);
    const { context, width, height } = surface;
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    this.names(surface, row);
    context.beginPath();
    context.rect(GUTTER, AXIS, width - GUTTER, height - AXIS);
    context.clip();
    if (this.model.isDetailed()) {
      this.drawDetail(surface, row);
    } else {
      this.drawDensity(surface, row);
    }
    context.restore();
  }

  /** What the drawing shows, in words. */
  describe(): string {
    const { model } = this;
    if (model.isDetailed()) {
      return `Every frame is drawn.${this.overflows() ? " Drag up or down for other stations." : ""}`;
    }
    if (model.isNear() && !model.isTooFast()) {
      return "Loading single frames…";
    }
    const width = model.overview === null ? 0 : model.overview.width / 1e6;
    const cut = model.overview?.marks.collision.cut === true ? " Jumps reach only the first 200,000 collisions." : "";
    const full = Math.round(100 * this.full);
    const step = Number(width.toPrecision(2));
    return `Thinned out: heights are shares of airtime (a full row: ${full} %) in steps of ${step} ms or more, red lines are collisions. ${model.isNear() ? "Play slower" : "Zoom in"} for single frames.${cut}`;
  }

  /** Gives rows to all stations, or to those that send or receive in view. */
  private choose(): void {
    const { model } = this;
    const all = model.stations.all.map((_, station) => station);
    this.rows = model.view.onlyActive ? all.filter((station) => this.isActive(station)) : all;
    this.rowOf = new Map(this.rows.map((station, row) => [station, row]));
    this.scroll(0);
  }

  private isActive(station: number): boolean {
    const { overview, from, to } = this.model;
    if (overview === null) {
      return true;
    }
    const { airtime, bins, width } = overview;
    const last = Math.min(bins - 1, Math.floor(to / width));
    for (let bin = Math.floor(from / width); bin <= last; bin += 1) {
      for (let kind = 0; kind < FRAMES.length; kind += 1) {
        if ((airtime[(station * bins + bin) * FRAMES.length + kind] as number) > 0) {
          return true;
        }
      }
    }
    return false;
  }

  private overflows(): boolean {
    return this.rows.length * LEAST_ROW > this.canvas.clientHeight - AXIS;
  }

  scroll(by: number): void {
    const rows = this.rows.length * this.row(this.canvas.clientHeight);
    this.top = Math.max(0, Math.min(rows - (this.canvas.clientHeight - AXIS), this.top + by));
  }

  /** The frame at a place in the canvas. */
  frameAt(x: number, y: number): Frame | null {
    const { model } = this;
    const { detail } = model;
    if (detail === null || !model.isDetailed()) {
      return null;
    }
    const width = this.canvas.clientWidth;
    const station = this.rows[Math.floor((y - AXIS + this.top) / this.row(this.canvas.clientHeight))];
    const slack = ((model.to - model.from) / width) * 3;
    const at = timeAt(model, width, x);
    const near = framesBetween(detail.frames, at - slack, at + slack);
    const own = near.filter((frame) => this.stationOf(frame, frame.node) === station);
    return own[0] ?? near.find((frame) => this.stationOf(frame, frame.to) === station) ?? null;
  }

  private row(height: number): number {
    const rows = Math.max(1, this.rows.length);
    return Math.max(LEAST_ROW, Math.min(MOST_ROW, (height - AXIS) / rows));
  }

  private yOf(station: number, row: number): number {
    // Stations without a row are out of sight.
    return AXIS + (this.rowOf.get(station) ?? -100) * row - this.top;
  }

  /** The station of a node that takes part in the exchange of a frame; -1 if there is none. */
  private stationOf(frame: Frame, node: number): number {
    return this.model.stations.of(node, frame.radio);
  }

  /** The stations whose rows are in sight. */
  private visible({ height }: Surface, row: number): number[] {
    return this.rows.slice(Math.floor(this.top / row), Math.floor((this.top + height - AXIS) / row) + 1);
  }

  private names(surface: Surface, row: number): void {
    const { context, width } = surface;
    const colours = theme();
    context.textAlign = "right";
    for (const station of this.visible(surface, row)) {
      const y = this.yOf(station, row);
      context.fillStyle = colours.faint;
      context.fillRect(0, y, width, 1);
      context.fillStyle = colours.text;
      context.fillText(shorten(this.model.stations.all[station]?.name ?? ""), GUTTER - 8, y + row / 2);
    }
  }

  private drawDensity(surface: Surface, row: number): void {
    const { overview, from, to } = this.model;
    if (overview === null) {
      return;
    }
    const { bins, width: bin, airtime, collisions, until } = overview;
    const visible = this.visible(surface, row);
    const columns = Math.min(surface.width - GUTTER, MOST_CELLS / ((visible.length + 1) * FRAMES.length));
    const each = Math.max(1, Math.ceil((to - from) / bin / columns));
    const begins = Math.floor(from / bin / each) * each;
    const full = (this.full = this.largestShare(visible, each));
    for (let start = begins; start < Math.min(bins, to / bin); start += each) {
      const x = xOf(this.model, surface.width, start * bin);
      const wide = xOf(this.model, surface.width, (start + each) * bin) - x;
      for (const station of visible) {
        let bottom = this.yOf(station, row) + row - 1;
        let lost = 0;
        for (let kind = 0; kind < FRAMES.length; kind += 1) {
          let share = 0;
          for (let n = start; n < Math.min(bins, start + each); n += 1) {
            share += airtime[(station * bins + n) * FRAMES.length + kind] as number;
          }
          const high = (share / each / full) * (row - 5);
          if (high > 0.05) {
            surface.context.fillStyle = frameColour(kind);
            surface.context.fillRect(x, bottom - high, Math.max(1, wide - (wide > 4 ? 1 : 0)), high);
            bottom -= high;
          }
        }
        for (let n = start; n < Math.min(bins, start + each); n += 1) {
          lost += collisions[station * bins + n] as number;
        }
        if (lost > 0) {
          // Darker where there are more; full at one in 2 ms.
          surface.context.globalAlpha = Math.min(1, 0.15 + (lost / (each * bin)) * 2e6);
          surface.context.fillStyle = theme().lost;
          surface.context.fillRect(x, this.yOf(station, row) + 1, Math.max(1, wide), 3);
          surface.context.globalAlpha = 1;
        }
      }
    }
    this.shadeUnknown(surface, until);
  }

  /** The largest share of airtime in view. */
  private largestShare(stations: number[], each: number): number {
    const { overview, from, to } = this.model;
    if (overview === null) {
      return 1;
    }
    const { bins, width, airtime } = overview;
    let most = 0.05;
    for (const station of stations) {
      for (let start = Math.floor(from / width); start < Math.min(bins, to / width); start += each) {
        let sum = 0;
        for (let n = start * FRAMES.length; n < Math.min(bins, start + each) * FRAMES.length; n += 1) {
          sum += airtime[station * bins * FRAMES.length + n] as number;
        }
        most = Math.max(most, sum / each);
      }
    }
    return most;
  }

  /** What the first passage has not reached. */
  private shadeUnknown({ context, width, height }: Surface, until: number): void {
    const x = Math.max(GUTTER, xOf(this.model, width, until));
    context.globalAlpha = 0.6;
    context.fillStyle = theme().faint;
    context.fillRect(x, AXIS, width - x, height);
    context.globalAlpha = 1;
  }

  private drawDetail(surface: Surface, row: number): void {
    const { detail, from, to, selected, life } = this.model;
    if (detail === null) {
      return;
    }
    for (const station of this.visible(surface, row)) {
      this.drawWaits(surface, detail.waits[station], this.yOf(station, row), row);
    }
    const uid = life?.uid ?? selected?.uid ?? 0;
    const frames = framesBetween(detail.frames, from, to);
    for (const frame of frames) {
      this.drawFrame(surface, frame, row);
    }
    for (const frame of frames) {
      this.drawArrow(surface, frame, row, frame === selected || (uid > 0 && frame.uid === uid));
    }
    for (const { at, node, frame } of detail.collisions) {
      if (at >= from && at <= to) {
        const matters = concerns(frame, node);
        surface.context.globalAlpha = matters ? 1 : 0.4;
        const y = this.yOf(this.stationOf(frame, node), row) + row / 2;
        cross(surface.context, xOf(this.model, surface.width, at), y, matters ? 4 : 2.5);
        surface.context.globalAlpha = 1;
      }
    }
  }

  private drawWaits(surface: Surface, waits: Waits | undefined, y: number, row: number): void {
    if (waits === undefined) {
      return;
    }
    const { context } = surface;
    const colours = theme();
    for (const [x, wide] of this.stripes(surface, waits.busy)) {
      context.fillStyle = colours.faint;
      context.fillRect(x, y + 1, wide, row - 1);
    }
    for (const [x, wide] of this.stripes(surface, waits.nav)) {
      context.fillStyle = colours.line;
      context.fillRect(x, y + row - 4, wide, 3);
    }
    for (const kind of ["backoff", "paused"] as const) {
      context.strokeStyle = kind === "backoff" ? colours.muted : colours.line;
      context.setLineDash(kind === "backoff" ? [2, 2] : [1, 4]);
      context.beginPath();
      for (const [x, wide] of this.stripes(surface, waits[kind])) {
        context.moveTo(x, y + 3.5);
        context.lineTo(x + wide, y + 3.5);
      }
      context.stroke();
    }
    context.setLineDash([]);
  }

  /** Place and width of the spans that are wide enough to be seen. */
  private stripes({ width }: Surface, spans: Span[]): [number, number][] {
    const { from, to } = this.model;
    return spansBetween(spans, from, to)
      .map((span): [number, number] => {
        const x = Math.max(GUTTER, xOf(this.model, width, span.at));
        return [x, Math.min(width, xOf(this.model, width, span.end)) - x];
      })
      .filter(([, wide]) => wide > 0.5);
  }

  private drawFrame({ context, width }: Surface, frame: Frame, row: number): void {
    const { selected, life } = this.model;
    const x = xOf(this.model, width, frame.at);
    const wide = Math.max(1, xOf(this.model, width, frame.end) - x);
    const y = this.yOf(this.stationOf(frame, frame.node), row) + 5;
    const high = row - 10;
    context.fillStyle = frameColour(frame.kind);
    context.fillRect(x, y, wide, high);
    const isLost = outcome(frame) !== "received";
    if (isLost && wide > 2) {
      context.strokeStyle = theme().surface;
      context.lineWidth = 3;
      strike(context, x, y, wide, high);
      context.strokeStyle = theme().lost;
      context.lineWidth = 1.5;
      strike(context, x, y, wide, high);
      context.lineWidth = 1;
    }
    this.label(context, frame, x, y, wide, high);
    const receiver = this.stationOf(frame, frame.to);
    if (receiver >= 0) {
      context.globalAlpha = 0.4;
      context.fillStyle = isLost ? theme().lost : frameColour(frame.kind);
      context.fillRect(x, this.yOf(receiver, row) + row - 8, wide, 3);
      context.globalAlpha = 1;
    }
    const isOfPacket = life !== null && life.uid === frame.uid && frame.uid > 0;
    if (frame === selected || isOfPacket) {
      context.strokeStyle = theme().text;
      context.lineWidth = frame === selected ? 2 : 1;
      context.strokeRect(x - 1, y - 1, wide + 2, high + 2);
      context.lineWidth = 1;
    }
  }

  private label(
    context: CanvasRenderingContext2D,
    frame: Frame,
    x: number,
    y: number,
    wide: number,
    high: number,
  ): void {
    const letter = LETTERS[frame.kind] ?? "";
    const full = frame.uid > 0 ? `${letter} ${frame.uid}${frame.retry ? " retry" : ""}` : letter;
    // Labels that are surely too long are not measured.
    const text = [full, letter].find((label) => label.length * LEAST_DIGIT <= wide && context.measureText(label).width + 4 <= wide);
    if (text !== undefined && high >= 8) {
      const [left, right] = [Math.max(x, GUTTER), Math.min(x + wide, this.canvas.clientWidth)];
      context.textAlign = "center";
      context.fillStyle = inkOn(frameColour(frame.kind));
      context.fillText(text, (left + right) / 2, y + high / 2 + 0.5);
    }
  }

  /** From the end of a frame to its receiver. */
  private drawArrow({ context, width }: Surface, frame: Frame, row: number, isMarked: boolean): void {
    const x = xOf(this.model, width, frame.end);
    const wide = x - xOf(this.model, width, frame.at);
    const ends = [frame.node, frame.to].map((node) => this.stationOf(frame, node));
    if (ends.includes(-1) || !(isMarked || (frame.kind === DATA && wide > 5))) {
      return;
    }
    const [y, target] = ends.map((station) => this.yOf(station, row) + row / 2) as [number, number];
    const isLost = outcome(frame) !== "received";
    context.strokeStyle = isLost ? theme().lost : isMarked ? theme().text : frameColour(frame.kind);
    context.setLineDash(isLost ? [3, 3] : []);
    const tip = target > y ? -4 : 4;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x, target);
    context.stroke();
    context.setLineDash([]);
    if (isLost) {
      cross(context, x, target, 4);
    } else {
      context.fillStyle = context.strokeStyle;
      context.beginPath();
      context.moveTo(x, target);
      context.lineTo(x - 3.5, target + tip * 1.6);
      context.lineTo(x + 3.5, target + tip * 1.6);
      context.fill();
    }
  }
}

function strike(context: CanvasRenderingContext2D, x: number, y: number, wide: number, high: number): void {
  context.beginPath();
  context.moveTo(x, y + high);
  context.lineTo(x + wide, y);
  context.stroke();
}

/** A cross where a frame was lost. */
export function cross(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  for (const [colour, width] of [[theme().surface, 4], [theme().lost, 2]] as const) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x - size, y - size);
    context.lineTo(x + size, y + size);
    context.moveTo(x + size, y - size);
    context.lineTo(x - size, y + size);
    context.stroke();
  }
  context.lineWidth = 1;
}

/** A long name with its end: the numbers of radios are there. */
function shorten(name: string): string {
  return name.length > 8 ? `${name.slice(0, 5)}…${name.slice(-2)}` : name;
}
