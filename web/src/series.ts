// Goodput, window, round-trip time and queues, under the axis of the time line.

import { AXIS, GUTTER, drawAxis, placeCursor, xOf } from "./axis";
import { Made, begin } from "./canvas";
import type { Surface } from "./canvas";
import { valueAt } from "./detail";
import type { Step } from "./detail";
import { niceStep, trim } from "./format";
import { numbered } from "./looks";
import type { Look } from "./looks";
import type { Model } from "./model";
import type { Overview } from "./protocol";
import { colourOf, dashesOf, theme } from "./theme";

interface Line {
  look: Look;
  name: string;
  steps: Step[];
}

interface Chart {
  title: string;
  lines: Line[];
}

const TITLES = ["Goodput, kb/s", "One-way delay, ms", "Bit rate of data frames, Mb/s", "Window, segments", "Pacing rate, kb/s", "Round trip, ms", "Queue, packets"];
/** Charts that are left out if no flow has a value. */
const OPTIONAL = new Set(["Pacing rate, kb/s"]);
const CHART_HEIGHT = 92;
/** Queues of this many stations are drawn: those with the longest. */
const MOST_QUEUES = 4;

/** A run whose series are drawn; its name is empty if it is the only one. */
interface Run {
  name: string;
  model: Model;
}

export class SeriesView {
  private cached: { from: unknown[]; charts: Chart[] } = { from: [], charts: [] };
  private readonly made = new Made();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly runs: Run[],
  ) {}

  draw(): void {
    const { model } = this.runs[0] as Run;
    const charts = this.charts();
    if (this.made.isStaleIn(this.canvas, [charts, model.from, model.to])) {
      const surface = begin(this.canvas);
      drawAxis(surface, model);
      const high = (surface.height - AXIS) / charts.length;
      charts.forEach((chart, index) => this.drawChart(surface, chart, AXIS + index * high, high));
    }
    placeCursor(this.canvas, model);
  }

  /** Values at the cursor, by chart. */
  values(): { title: string; values: { name: string; look: Look; value: string }[] }[] {
    const { cursor } = (this.runs[0] as Run).model;
    return this.charts().map(({ title, lines }) => ({
      title,
      values: lines.map(({ name, look, steps }) => {
        const value = valueAt(steps, cursor);
        return { name, look, value: value === null || Number.isNaN(value) ? "–" : trim(value) };
      }),
    }));
  }

  private charts(): Chart[] {
    const from = this.runs.flatMap(({ model }) => [model.overview, model.flow, model.isDetailed() ? model.detail : null]);
    if (from.some((part, index) => part !== this.cached.from[index])) {
      const ofRuns = this.runs.map((run, index) => this.chartsOf(run, index));
      const all = TITLES.map((title, chart) => ({ title, lines: ofRuns.flatMap((lines) => lines[chart] as Line[]) }));
      const charts = all.filter(({ title, lines }) => !OPTIONAL.has(title) || lines.some(({ steps }) => steps.some(({ value }) => !Number.isNaN(value))));
      this.canvas.style.height = `${AXIS + CHART_HEIGHT * charts.length}px`;
      this.cached = { from, charts };
    }
    return this.cached.charts;
  }

  /** The lines of a run, by chart. */
  private chartsOf(run: Run, index: number): Line[][] {
    const { overview, detail, network, flow: only } = run.model;
    if (overview === null) {
      return TITLES.map(() => []);
    }
    const detailed = run.model.isDetailed();
    const flows = network.flows.map((_, flow) => flow).filter((flow) => only === null || only === flow);
    const line = (flow: number, steps: Step[]): Line => ({
      look: run.model.lookOf(flow),
      name: `${run.name} flow ${flow}`.trim(),
      steps,
    });
    const own = (flow: number, from: "windows" | "trips" | "rates" | "delays" | "paces", scale: number): Line => {
      const before = stepsOf(overview, overview[from], flow, scale);
      const exact = detailed ? (detail?.flows[flow]?.[from] ?? []) : [];
      return line(flow, exact.length > 0 && detail !== null ? splice(before, scaled(exact, scale), detail) : before);
    };
    return [
      flows.map((flow) => line(flow, goodput(overview, flow))),
      flows.map((flow) => own(flow, "delays", 1)),
      flows.map((flow) => own(flow, "rates", 1)),
      flows.map((flow) => own(flow, "windows", 1)),
      flows.map((flow) => own(flow, "paces", 1)),
      flows.map((flow) => own(flow, "trips", 1e-3)),
      this.queues(run, index, overview, detailed),
    ];
  }

  /** The longest queues; of several runs, one each. */
  private queues({ name, model }: Run, run: number, overview: Overview, detailed: boolean): Line[] {
    const { detail, stations } = model;
    const { bins, queues } = overview;
    const longest = stations.all.map((_, station) => {
      let sum = 0;
      for (let bin = 0; bin < bins; bin += 1) {
        sum += queues[station * bins + bin] as number;
      }
      return { station, sum };
    });
    longest.sort((a, b) => b.sum - a.sum);
    return longest
      .slice(0, this.runs.length > 1 ? 1 : MOST_QUEUES)
      .filter(({ sum }) => sum > 0)
      .map(({ station }, index) => {
        const before = stepsOf(overview, queues, station, 1);
        const exact = detailed ? (detail?.queues[station] ?? []) : [];
        return {
          look: numbered(run + index),
          name: `${name} station ${stations.all[station]?.name}`.trim(),
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
    const { model } = this.runs[0] as Run;
    const { from, to } = model;
    context.strokeStyle = colourOf(line.look);
    context.lineWidth = 1.5;
    context.setLineDash(dashesOf(line.look));
    context.beginPath();
    let isDown = false;
    line.steps.forEach(({ at, value }, index) => {
      const end = line.steps[index + 1]?.at ?? to;
      if (end < from || at > to || Number.isNaN(value)) {
        return;
      }
      const [x, y] = [xOf(model, width, Math.max(at, from - (to - from))), yOf(value)];
      if (isDown) {
        context.lineTo(x, y);
      } else {
        context.moveTo(x, y);
      }
      context.lineTo(xOf(model, width, Math.min(end, to)), y);
      isDown = true;
    });
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
  }

  /** The top of a chart: the largest value in view. */
  private most(lines: Line[]): number {
    const { from, to } = (this.runs[0] as Run).model;
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

/** The goodput of a flow, kb/s. */
export function goodput(overview: Overview, flow: number): Step[] {
  return smooth(stepsOf(overview, overview.delivered, flow, 8e6 / overview.width));
}

/** One value for each bin so far. */
function stepsOf(overview: Overview, values: Float32Array | Float64Array | Uint16Array, row: number, scale: number): Step[] {
  const { bins, width, until } = overview;
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
