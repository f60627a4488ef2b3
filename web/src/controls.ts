// Buttons, pointer and keys.

import type { App, Pane } from "./app";
import { GUTTER, timeAt } from "./axis";
import { get, make } from "./dom";
import { MARKS, MARK_NAMES } from "./model";
import type { Mark } from "./protocol";

const SPEEDS = [0.0001, 0.001, 0.01, 0.1, 1, 10, 100];

/** Connects the page's controls with an app until the signal. */
export function connect(app: App, signal: AbortSignal): void {
  buttons(app, signal);
  keys(app, signal);
  for (const pane of app.panes) {
    map(app, pane, signal);
    timed(app, pane, pane.get("timeline") as HTMLCanvasElement, signal);
  }
  timed(app, app.panes[0] as Pane, get("series"), signal);
}

function buttons(app: App, signal: AbortSignal): void {
  const on = (id: string, event: string, act: (event: Event) => void): void => get(id).addEventListener(event, act, { signal });
  const { view } = app;
  on("play", "click", () => app.toggle());
  on("back", "click", () => app.focus.model.step(-1));
  on("forward", "click", () => app.focus.model.step(1));
  on("in", "click", () => app.change(() => view.zoom(0.4)));
  on("out", "click", () => app.change(() => view.zoom(2.5)));
  on("fit", "click", () => app.change(() => view.show(0, view.end)));
  const mark = get<HTMLSelectElement>("mark");
  mark.replaceChildren(...MARKS.map((kind) => make("option", { value: kind }, MARK_NAMES[kind])));
  on("earlier", "click", () => app.focus.model.jump(mark.value as Mark, -1));
  on("later", "click", () => app.focus.model.jump(mark.value as Mark, 1));
  const active = get<HTMLInputElement>("active");
  view.onlyActive = active.checked;
  on("active", "change", () => app.change(() => (view.onlyActive = active.checked)));
  const speed = get<HTMLSelectElement>("speed");
  const names = SPEEDS.map((value) => (value < 1 ? `1/${Math.round(1 / value)}` : `${value}×`));
  speed.replaceChildren(...SPEEDS.map((value, index) => make("option", { value: String(value) }, names[index] ?? "")));
  speed.value = String(view.speed);
  on("speed", "change", () => {
    view.speed = Number(speed.value);
  });
  on("search", "submit", (event) => {
    event.preventDefault();
    search(app, get<HTMLInputElement>("query").value.trim());
  });
  on("flows", "click", (event) => {
    const flow = (event.target as HTMLElement).closest<HTMLElement>("[data-flow]")?.dataset["flow"];
    if (flow !== undefined) {
      app.change(() => (view.flow = view.flow === Number(flow) ? null : Number(flow)));
    }
  });
  on("selection", "click", (event) => {
    const { at, node, radio, packet } = (event.target as HTMLElement).closest("button")?.dataset ?? {};
    if (at !== undefined) {
      app.visit(Number(at));
      app.focus.model.pick(Number(at), Number(node), Number(radio));
    } else if (packet !== undefined) {
      app.focus.model.find(Number(packet));
    }
  });
}

/** A packet by its number, or a time such as `4.5s`. */
function search(app: App, query: string): void {
  const { model } = app.focus;
  const time = /^(\d+(?:\.\d*)?)\s*s$/.exec(query) ?? /^(\d+\.\d*)$/.exec(query);
  if (time !== null) {
    app.visit(Number(time[1]) * 1e9);
  } else if (/^\d+$/.test(query)) {
    model.find(Number(query));
  } else {
    model.notice = `"${query}" is neither the number of a packet nor a time such as 4.5s.`;
    app.touch();
  }
}

function map(app: App, pane: Pane, signal: AbortSignal): void {
  const canvas = pane.get("map");
  const hover = (node: number | null): void => {
    if (node !== pane.map.hovered) {
      pane.map.hovered = node;
      app.touch();
    }
  };
  canvas.addEventListener("pointermove", (event) => hover(pane.map.nodeAt(event.offsetX, event.offsetY)), { signal });
  canvas.addEventListener("pointerleave", () => hover(null), { signal });
}

/** A drawing over time: the wheel zooms, dragging moves, a click selects. */
function timed(app: App, pane: Pane, canvas: HTMLCanvasElement, signal: AbortSignal): void {
  const { view } = app;
  const isTimeline = canvas === pane.get("timeline");
  canvas.addEventListener("wheel", (event) => wheel(app, pane, event, canvas), { passive: false, signal });
  let drag: { x: number; y: number; from: number; moved: boolean } | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, y: event.offsetY, from: view.from, moved: false };
    canvas.setPointerCapture(event.pointerId);
  }, { signal });
  canvas.addEventListener("pointermove", (event) => {
    if (drag === null) {
      return;
    }
    const by = event.offsetX - drag.x;
    drag.moved ||= Math.hypot(by, event.offsetY - drag.y) > 4;
    if (drag.moved) {
      const span = view.to - view.from;
      const from = drag.from - (by / (canvas.clientWidth - GUTTER)) * span;
      pane.timeline.scroll(isTimeline ? -event.movementY : 0);
      app.change(() => view.show(from, from + span));
    }
  }, { signal });
  canvas.addEventListener("pointerup", (event) => {
    if (drag?.moved === false) {
      click(app, pane, canvas, event);
    }
    drag = null;
  }, { signal });
}

function wheel(app: App, pane: Pane, event: WheelEvent, canvas: HTMLElement): void {
  event.preventDefault();
  const { view } = app;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    const by = ((event.deltaX + event.deltaY) / canvas.clientWidth) * (view.to - view.from);
    app.change(() => view.show(view.from + by, view.to + by));
  } else {
    const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300)));
    app.change(() => view.zoom(factor, timeAt(pane.model, canvas.clientWidth, event.offsetX)));
  }
}

function click(app: App, pane: Pane, canvas: HTMLElement, event: PointerEvent): void {
  const isTimeline = canvas === pane.get("timeline");
  const frame = isTimeline ? pane.timeline.frameAt(event.offsetX, event.offsetY) : null;
  if (event.offsetX > GUTTER) {
    app.view.cursor = Math.max(0, timeAt(pane.model, canvas.clientWidth, event.offsetX));
  }
  if (frame !== null) {
    app.focus = pane;
    pane.model.select(frame);
  }
  app.touch();
}

const MARK_KEYS: Record<string, Mark> = { d: "drop", c: "collision", r: "route", t: "timeout", f: "freeze" };

function keys(app: App, signal: AbortSignal): void {
  const { view } = app;
  const move = (share: number) => () => {
    const by = share * (view.to - view.from);
    app.change(() => view.show(view.from + by, view.to + by));
  };
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (target.closest("input:not([type=checkbox]), select, textarea") !== null || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const { model } = app.focus;
    const acts: Record<string, () => void> = {
      ArrowLeft: event.shiftKey ? move(-1 / 5) : () => model.step(-1),
      ArrowRight: event.shiftKey ? move(1 / 5) : () => model.step(1),
      "+": () => app.change(() => view.zoom(0.4)),
      "=": () => app.change(() => view.zoom(0.4)),
      "-": () => app.change(() => view.zoom(2.5)),
      "0": () => app.change(() => view.show(0, view.end)),
      Home: () => app.change(() => view.moveTo(0)),
      End: () => app.change(() => view.moveTo(view.end)),
      "/": () => get("query").focus(),
    };
    const mark = MARK_KEYS[event.key.toLowerCase()];
    const act = mark !== undefined ? () => model.jump(mark, event.shiftKey ? -1 : 1) : acts[event.key];
    const isSpace = event.key === " " && target.closest("button, input") === null;
    if (isSpace || act !== undefined) {
      event.preventDefault();
      (act ?? (() => app.toggle()))();
    }
  }, { signal });
}
