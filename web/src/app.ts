// The page of one run, or of several side by side: their drawings and texts.

import { readView, writeView } from "./address";
import { Made } from "./canvas";
import { connect } from "./controls";
import { get, lineKey, make, swatch } from "./dom";
import { seconds } from "./format";
import { looks } from "./looks";
import type { Look } from "./looks";
import { MapView } from "./map";
import { Model } from "./model";
import { Panels } from "./panel";
import type { FromWorker, Network, Result, ToWorker } from "./protocol";
import { FRAMES } from "./records";
import { SeriesView } from "./series";
import { radioName } from "./stations";
import { LETTERS, colourOf, dashesOf, frameColour, onThemeChange } from "./theme";
import { Timeline } from "./timeline";
import { View } from "./view";

/** Panels are rewritten at most this often while playing, ms. */
const PANELS_EVERY = 120;
/** A live run is shown so much later, ns; a page that is too slow leaves out what is between. */
const BEHIND = 0.5e9;
const MOST_BEHIND = 2e9;
/** The view of a live run at its begin, ns. */
const LIVE_VIEW = 5e9;

/** A run that has begun. */
export interface Begun {
  /** Empty if it is the only one. */
  name: string;
  network: Network;
  native: Result | null;
  ask: (message: ToWorker) => void;
}

/** A run with its drawings. */
export interface Pane {
  name: string;
  native: Result | null;
  model: Model;
  map: MapView;
  timeline: Timeline;
  panels: Panels;
  /** Its element with this name. */
  get: (id: string) => HTMLElement;
}

export class App {
  readonly view: View;
  readonly panes: Pane[];
  /** The run whose selection is shown: the one that was clicked last. */
  focus: Pane;
  /** Called when a run has ended. */
  onResult: () => void = () => {};
  /** Whether the cursor stays near the end of what is known of a live run. */
  follows = false;
  private readonly series: SeriesView;
  private readonly selectionMade = new Made();
  private readonly runMade = new Made();
  private drawn = 0;
  private lastFrame = 0;
  private lastPanels = 0;
  private stale = true;
  private drawnCursor = 0;

  /** `before` is the view of the runs that these replace. */
  constructor(runs: Begun[], signal: AbortSignal, before: View | null) {
    for (const old of document.querySelectorAll(".another")) {
      old.remove();
    }
    get("scene").classList.toggle("several", runs.length > 1);
    get("scene").classList.remove("wide");
    this.view = new View(Math.max(...runs.map(({ network }) => network.duration)) * 1e9);
    if (before !== null) {
      this.view.follow(before);
    }
    const ofFlows = looks(runs.map(({ network }) => network.flows.map(({ transport }) => transport)));
    this.panes = runs.map((run, index) => this.pane(run, ofFlows[index] ?? [], index));
    this.focus = this.panes[0] as Pane;
    this.series = new SeriesView(get("series"), this.panes);
    this.titles(runs);
    this.legend();
    connect(this, signal);
    readView(this.focus.model);
    addEventListener("hashchange", () => this.change(() => readView(this.focus.model)), { signal });
    onThemeChange(() => {
      this.legend();
      this.touch();
    }, signal);
    const resized = new ResizeObserver(() => this.touch());
    resized.observe(document.body);
    signal.addEventListener("abort", () => {
      resized.disconnect();
      cancelAnimationFrame(this.drawn);
    });
    this.touch();
  }

  /** Takes a message of a run's worker. */
  take(index: number, message: FromWorker): void {
    const { model } = this.panes[index] as Pane;
    const had = model.result;
    model.take(message);
    if (model.result !== had) {
      this.onResult();
    }
  }

  /** Draws soon, with what is needed for it. */
  touch(): void {
    for (const { model } of this.panes) {
      model.wantDetail();
    }
    this.stale = true;
    if (this.drawn === 0) {
      this.drawn = requestAnimationFrame((now) => this.frame(now));
    }
  }

  /** Changes the view, and draws. */
  change(act: (view: View) => void): void {
    act(this.view);
    this.touch();
  }

  toggle(): void {
    const { view } = this;
    view.playing = !view.playing && view.cursor < view.end;
    this.lastFrame = performance.now();
    this.drawnCursor = view.cursor;
    this.touch();
  }

  /** Plays a live run in step with it. */
  follow(): void {
    this.follows = true;
    this.change((view) => {
      view.show(0, LIVE_VIEW);
      view.speed = 1;
    });
    get<HTMLSelectElement>("speed").value = "1";
    this.toggle();
  }

  /** Moves the cursor, close enough to see single frames. */
  visit(at: number): void {
    this.change((view) => {
      const span = Math.min(view.to - view.from, 30e6);
      view.cursor = Math.min(at, view.end);
      view.show(at - span / 2, at + span / 2);
    });
  }

  /** The drawings of a run; the first one uses the elements of the page, the others copies. */
  private pane({ name, network, native, ask }: Begun, ofFlows: Look[], index: number): Pane {
    const own = (id: string): HTMLElement => get(index === 0 ? id : `${id}-${index}`);
    if (index > 0) {
      copySection("map-section", index);
      copySection("timeline-section", index);
    }
    if (name !== "") {
      own("map-heading").textContent = `Map: ${name}`;
      own("timeline-heading").textContent = `Time line: ${name}`;
    }
    const model = new Model(network, ofFlows, this.view, ask, () => this.touch());
    const map = new MapView(own("map") as HTMLCanvasElement, model);
    const timeline = new Timeline(own("timeline") as HTMLCanvasElement, model);
    return { name, native, model, map, timeline, panels: new Panels(model), get: own };
  }

  private titles(runs: Begun[]): void {
    const { network } = runs[0] as Begun;
    const names = runs.length > 1 ? runs.map(({ name }) => name).join(" and ") : network.name;
    document.title = `${names}, seed ${network.seed}: multihop view`;
    get("title").textContent = names;
    const sizes = [count(network.nodes.length, "station"), count(network.flows.length, "flow")];
    const radios = network.radios.length > 1 ? network.radios.map((_, radio) => `, ${radioName(network, radio)}`).join("") : "";
    get("subtitle").textContent = `seed ${network.seed}, ${network.duration} s, ${sizes.join(", ")}${radios}`;
    get("progress").className = "";
  }

  private legend(): void {
    const frames = FRAMES.map((name, kind) => make("li", {}, swatch(frameColour(kind), LETTERS[kind]), name));
    const states = [
      ["strike", "", "not received"],
      ["cross", "✕", "lost in a collision (pale: at a station that only overhears)"],
      ["busy", "", "carrier busy"],
      ["nav", "", "NAV"],
      ["backoff", "", "backoff"],
    ].map(([kind, mark, name]) => make("li", {}, make("span", { class: `key ${kind}`, "aria-hidden": "true" }, mark ?? ""), name ?? ""));
    get("legend").replaceChildren(...frames, ...states);
  }

  private frame(now: number): void {
    const began = performance.now();
    const { view } = this;
    this.drawn = 0;
    if (view.playing) {
      const known = Math.min(...this.panes.map(({ model }) => model.overview?.until ?? 0));
      view.play(Math.min(0.1, (now - this.lastFrame) / 1000), known);
      if (this.follows && view.speed === 1 && known - view.cursor > MOST_BEHIND) {
        view.moveTo(known - BEHIND);
      }
      this.touch();
    }
    this.lastFrame = now;
    if (!this.stale) {
      return;
    }
    this.stale = false;
    for (const { map, timeline } of this.panes) {
      map.draw(view.playing ? this.drawnCursor : view.cursor);
      timeline.draw();
    }
    this.drawnCursor = view.cursor;
    this.series.draw();
    setText(get("time"), `${seconds(view.cursor, Math.max(1, (view.to - view.from) / 2000))} s`);
    if (!view.playing || now - this.lastPanels > PANELS_EVERY) {
      this.lastPanels = now;
      this.texts();
    }
    document.documentElement.dataset["drawn"] = String(performance.now() - began);
  }

  private texts(): void {
    const { view, panes, focus } = this;
    setText(get("play"), view.playing ? "Pause" : "Play");
    const named = (pane: Pane, content: HTMLElement): HTMLElement =>
      pane.name === "" ? content : make("div", {}, make("h3", {}, pane.name), content);
    replace(get("flows"), make("div", {}, ...panes.map((pane) => named(pane, pane.panels.flows()))));
    const { selected, life, notice, detail, overview, cursor } = focus.model;
    const at = view.playing ? null : cursor;
    if (this.selectionMade.isStale([selected, life, notice, detail, overview, at])) {
      replace(get("selection"), focus.panels.selection());
    }
    if (this.runMade.isStale(panes.flatMap(({ model }) => [model.overview, model.result]))) {
      replace(get("run"), make("div", {}, ...panes.map((pane) => named(pane, pane.panels.run(pane.native)))));
    }
    for (const { map, timeline, get: own } of panes) {
      setText(own("thinned"), timeline.describe());
      if (map.hovered !== null) {
        setText(own("station"), map.describe(map.hovered));
      }
    }
    this.values();
    const share = Math.min(...panes.map(({ model }) => (model.overview?.until ?? 0) / model.end));
    const isDone = panes.every(({ model }) => model.result !== null);
    // The error message of a refused change stays until the next run.
    if (get("progress").className !== "notice") {
      setText(get("progress"), isDone ? "" : `Simulating: ${Math.floor(100 * share)} %`);
    }
    writeView(focus.model);
  }

  private values(): void {
    const groups = this.series.values().map(({ title, values }) => {
      const group = make("span", {}, make("strong", {}, `${title}: `));
      for (const { name, look, value } of values) {
        group.append(" ", make("span", {}, lineKey(colourOf(look), dashesOf(look)), `${name}: ${value}`));
      }
      return group;
    });
    get("values").replaceChildren(...groups);
  }
}

/** Puts a copy of a section behind it, for another run. */
function copySection(id: string, index: number): void {
  const sections = document.querySelectorAll(`[id="${id}"], [id^="${id}-"]`);
  const copy = (sections[0] as HTMLElement).cloneNode(true) as HTMLElement;
  for (const element of copy.querySelectorAll(".once")) {
    element.remove();
  }
  for (const element of [copy, ...copy.querySelectorAll("[id]")]) {
    element.id = `${element.id}-${index}`;
  }
  copy.setAttribute("aria-labelledby", `${copy.getAttribute("aria-labelledby")}-${index}`);
  copy.classList.add("another");
  (sections[sections.length - 1] as HTMLElement).after(copy);
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** Replaces the content of an element if it differs, so that focus and scrolling stay. */
function replace(element: HTMLElement, content: HTMLElement): void {
  const old = element.firstElementChild;
  if (old !== content && old?.outerHTML !== content.outerHTML) {
    const focused = document.activeElement;
    const place = focused !== null && element.contains(focused) ? [...element.querySelectorAll("button")].indexOf(focused as HTMLButtonElement) : -1;
    element.replaceChildren(content);
    element.querySelectorAll("button")[place]?.focus();
  }
}

function count(number: number, name: string): string {
  return `${number} ${name}${number === 1 ? "" : "s"}`;
}
