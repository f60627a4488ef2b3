// Goodput, window, round-trip time and queues, under the axis of the time line.

import { AXIS, GUTTER, drawAxis, drawCursor, xOf } from "./axis";
import { begin } from "./canvas";
import type { Surface } from "./canvas";
import { valueAt } from "./detail";
import type { Step } from "./detail";
import { niceStep, trim } from "./format";
import type { Model } from "./model";
import { flowColour, flowDash, theme } from "./theme";

interface Line {
  colour: string;
  dash: number[];
  name: string;
  steps: Step[];
}

interface Chart {
  title: string;
  lines: Line[];
}

/** Queues of this many stations are drawn: those with the longest. */
const MOST_QUEUES = 4;

export class SeriesView {
  private cached: { key: string; charts: Chart[] } = { key: "", charts: [] };

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly model: Model,
  ) {}

  draw(): void {
    const surface = begin(this.canvas);
    drawAxis(surface, this.model);
    const charts = this.charts();
    const high = (surface.height - AXIS) / charts.length;
    charts.forEach((chart, index) => this.drawChart(surface, chart, AXIS + index * high, high));
    drawCursor(surface, this.model);
  }

  /** Values at the cursor, by chart. */
  values(): { title: string; values: { name: string; colour: string; value: string }[] }[] {
    const { cursor } = this.model;
    return this.charts().map(({ title, lines }) => ({
      title,
      values: lines.map(({ name, colour, steps }) => {
        const value = valueAt(steps, cursor);
        return { name, colour, value: value === null || Number.isNaN(value) ? "–" : trim(value) };
      }),
    }));
  }

  private charts(): Chart[] {
    const { overview, detail, flow } = this.model;
    const detailed = this.model.isDetailed();
    const key = `${overview?.until} ${detailed ? `${detail?.from} ${detail?.to}` : ""} ${flow}`;
    if (this.cached.key !== key) {
      this.cached = { key, charts: this.makeCharts(detailed) };
    }
    return this.cached.charts;
  }

  private makeCharts(detailed: boolean): Chart[] {
    const { overview, detail, network } = this.model;
    if (overview === null) {
      return ["Goodput, kb/s", "Window, segments", "Round trip, ms", "Queue, packets"].map((title) => ({ title, lines: [] }));
    }
    const kbps = 8e6 / overview.width;
    const flows = network.flows.map((_, flow) => flow).filter((flow) => this.isShown(flow));
    const line = (flow: number, steps: Step[]): Line => ({
      colour: flowColour(flow),
      dash: flowDash(flow),
      name: `flow ${flow}`,
      steps,
    });
    const own = (flow: number, from: "windows" | "trips", scale: number): Line => {
      const before = this.steps(overview[from], flow, scale);
      const exact = detailed ? (detail?.flows[flow]?.[from] ?? []) : [];
      return line(flow, exact.length > 0 && detail !== null ? splice(before, scaled(exact, scale), detail) : before);
    };
    return [
      { title: "Goodput, kb/s", lines: flows.map((flow) => line(flow, smooth(this.steps(overview.delivered, flow, kbps)))) },
      { title: "Window, segments", lines: flows.map((flow) => own(flow, "windows", 1)) },
      { title: "Round trip, ms", lines: flows.map((flow) => own(flow, "trips", 1e-3)) },
      { title: "Queue, packets", lines: this.queues(detailed) },
    ];
  }

  private isShown(flow: number): boolean {
    return this.model.flow === null || this.model.flow === flow;
  }

  /** One value for each bin so far. */
  private steps(values: Float32Array | Float64Array | Uint16Array, row: number, scale: number): Step[] {
    const { overview } = this.model;
    const { bins, width, until } = overview as NonNullable<typeof overview>;
    const steps: Step[] = [];
    let last = Number.NaN;
    for (let bin = 0; bin < bins && bin * width < until; bin += 1) {
      const value = (values[row * bins + bin] as number) * scale;
      // A flow without news keeps its state.
      last = Number.isNaN(value) ? last : value;
      if (!Number.isNaN(last)) {
        steps.push({ at: bin * width, value: last });
      }
    }
    return steps;
  }

  private queues(detailed: boolean): Line[] {
    const { overview, detail, network } = this.model;
    if (overview === null) {
      return [];
    }
    const { bins, queues } = overview;
    const longest = network.nodes.map((_, node) => {
      let sum = 0;
      for (let bin = 0; bin < bins; bin += 1) {
        sum += queues[node * bins + bin] as number;
      }
      return { node, sum };
    });
    longest.sort((a, b) => b.sum - a.sum);
    return longest
      .slice(0, MOST_QUEUES)
      .filter(({ sum }) => sum > 0)
      .map(({ node }, index) => {
        const before = this.steps(queues, node, 1);
        const exact = detailed ? (detail?.queues[node] ?? []) : [];
        return {
          colour: flowColour(index),
          dash: flowDash(index),
          name: `station ${network.nodes[node]?.name}`,
          steps: exact.length > 0 && detail !== null ? splice(before, exact, detail) : before,
        };
      });
  }

  private drawChart(surface: Surface, { title, lines }: Chart, top: number, high: number): void {
    const { context, width } = surface;
    const colours = theme();
    const most = this.most(lines);
    const step = niceStep(most / 3);
    const floor = top + high - 6;
    const yOf = (value: number): number => floor - (value / most) * (high - 24);
    context.textAlign = "right";
    for (let tick = 0; tick <= most * 1.0001; tick += step) {
      context.fillStyle = tick === 0 ? colours.line : colours.faint;
      context.fillRect(GUTTER, yOf(tick), width - GUTTER, 1);
      context.fillStyle = colours.muted;
      context.fillText(trim(tick), GUTTER - 8, yOf(tick));
    }
    context.save();
    context.beginPath();
    context.rect(GUTTER, top, width - GUTTER, high);
    context.clip();
    for (const line of lines) {
      this.drawLine(surface, line, yOf);
    }
    context.restore();
    context.textAlign = "left";
    context.lineWidth = 3;
    context.strokeStyle = colours.surface;
    context.strokeText(title, GUTTER + 6, top + 9);
    context.lineWidth = 1;
    context.fillStyle = colours.text;
    context.fillText(title, GUTTER + 6, top + 9);
  }

  private drawLine({ context, width }: Surface, line: Line, yOf: (value: number) => number): void {
    const { from, to } = this.model;
    context.strokeStyle = line.colour;
    context.lineWidth = 1.5;
    context.setLineDash(line.dash);
    context.beginPath();
    let isDown = false;
    line.steps.forEach(({ at, value }, index) => {
      const end = line.steps[index + 1]?.at ?? to;
      if (end < from || at > to || Number.isNaN(value)) {
        return;
      }
      const [x, y] = [xOf(this.model, width, Math.max(at, from - (to - from))), yOf(value)];
      if (isDown) {
        context.lineTo(x, y);
      } else {
        context.moveTo(x, y);
      }
      context.lineTo(xOf(this.model, width, Math.min(end, to)), y);
      isDown = true;
    });
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
  }

  /** The top of a chart: the largest value in view. */
  private most(lines: Line[]): number {
    const { from, to } = this.model;
    let most = 0;
    for (const { steps } of lines) {
      steps.forEach(({ at, value }, index) => {
        const end = steps[index + 1]?.at ?? to;
        if (end >= from && at <= to && value > most) {
          most = value;
        }
      });
    }
    return most > 0 ? most * 1.08 : 1;
  }
}

function scaled(steps: Step[], scale: number): Step[] {
  return steps.map(({ at, value }) => ({ at, value: value * scale }));
}

/** Replaces the steps of a stretch by exact ones, which begin with the state at its start. */
function splice(steps: Step[], exact: Step[], { to }: { to: number }): Step[] {
  return [
    ...steps.filter(({ at }) => at < (exact[0] as Step).at),
    ...exact,
    ...steps.filter(({ at }) => at > to),
  ];
}

/** A moving mean over nine bins, because segments arrive in lumps. */
function smooth(steps: Step[]): Step[] {
  const reach = 4;
  return steps.map(({ at }, index) => {
    const near = steps.slice(Math.max(0, index - reach), index + reach + 1);
    return { at, value: near.reduce((sum, step) => sum + step.value, 0) / near.length };
  });
}
