// Puts the page together: worker, drawings, controls, address.

import { GUTTER, timeAt } from "./axis";
import { get, make, swatch } from "./dom";
import { seconds } from "./format";
import { MapView } from "./map";
import { MARKS, MARK_NAMES, Model } from "./model";
import { Panels } from "./panel";
import type { FromWorker, Mark, Network, ToWorker } from "./protocol";
import { FRAMES } from "./records";
import { editScenario, keptParts, page } from "./scenario";
import { SeriesView } from "./series";
import { LETTERS, frameColour, onThemeChange } from "./theme";
import { Timeline } from "./timeline";

/** The code of the worker, which the build inserts. */
declare const WORKER: string;

const SPEEDS = [0.0001, 0.001, 0.01, 0.1, 1, 10, 100];
/** Panels are rewritten at most this often while playing, ms. */
const PANELS_EVERY = 120;

const { request, result: native } = page();
editScenario(request);
const worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
const ask = (message: ToWorker): void => worker.postMessage(message);
let app: App | null = null;

worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
  if (data.kind === "problem") {
    get("progress").textContent = data.message;
    get("progress").className = "notice";
    get("subtitle").textContent = "";
  } else if (data.kind === "network") {
    app = new App(data.network);
  } else {
    app?.model.take(data);
  }
};

void start();

async function start(): Promise<void> {
  const packed = Uint8Array.from(atob(get("module").textContent ?? ""), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await new Response(stream).arrayBuffer();
  worker.postMessage({ kind: "start", module, request: JSON.stringify(request) }, [module]);
}

class App {
  readonly model: Model;
  private readonly map: MapView;
  private readonly timeline: Timeline;
  private readonly series: SeriesView;
  private readonly panels: Panels;
  private drawn = 0;
  private lastFrame = 0;
  private lastPanels = 0;
  private stale = true;
  private drawnCursor = 0;

  constructor(network: Network) {
    this.model = new Model(network, ask, () => {
      this.stale = true;
      this.schedule();
    });
    this.map = new MapView(get("map"), this.model);
    this.timeline = new Timeline(get("timeline"), this.model);
    this.series = new SeriesView(get("series"), this.model);
    this.panels = new Panels(this.model);
    this.titles(network);
    this.legend();
    this.controls();
    this.pointer();
    this.keys();
    readAddress(this.model);
    addEventListener("hashchange", () => readAddress(this.model));
    onThemeChange(() => {
      this.legend();
      this.model.touch();
    });
    new ResizeObserver(() => this.model.touch()).observe(document.body);
    this.model.touch();
  }

  private titles(network: Network): void {
    const stations = count(network.nodes.length, "station");
    const flows = count(network.flows.length, "flow");
    document.title = `${network.name}, seed ${network.seed}: multihop view`;
    get("title").textContent = network.name;
    get("subtitle").textContent = `seed ${network.seed}, ${network.duration} s, ${stations}, ${flows}`;
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

  private schedule(): void {
    if (this.drawn === 0) {
      this.drawn = requestAnimationFrame((now) => this.frame(now));
    }
  }

  private frame(now: number): void {
    const began = performance.now();
    this.drawn = 0;
    const { model } = this;
    if (model.playing) {
      model.play(Math.min(0.1, (now - this.lastFrame) / 1000));
      this.schedule();
    }
    this.lastFrame = now;
    if (!this.stale) {
      return;
    }
    this.stale = false;
    this.map.draw(model.playing ? this.drawnCursor : model.cursor);
    this.drawnCursor = model.cursor;
    this.timeline.draw();
    this.series.draw();
    get("time").textContent = `${seconds(model.cursor, Math.max(1, (model.to - model.from) / 2000))} s`;
    if (!model.playing || now - this.lastPanels > PANELS_EVERY) {
      this.lastPanels = now;
      this.texts();
    } else {
      this.stale = true;
    }
    document.documentElement.dataset["drawn"] = String(performance.now() - began);
  }

  private texts(): void {
    const { model } = this;
    get("play").textContent = model.playing ? "Pause" : "Play";
    get("thinned").textContent = this.timeline.describe();
    replace(get("flows"), this.panels.flows());
    replace(get("selection"), this.panels.selection());
    replace(get("run"), this.panels.run(native));
    this.values();
    const { overview } = model;
    const share = overview === null ? 0 : Math.floor((100 * overview.until) / model.end);
    get("progress").textContent = model.result === null ? `Simulating: ${share} %` : "";
    if (this.map.hovered !== null) {
      get("station").textContent = this.map.describe(this.map.hovered);
    }
    writeAddress(model);
  }

  private values(): void {
    const groups = this.series.values().map(({ title, values }) => {
      const group = make("span", {}, make("strong", {}, `${title}: `));
      for (const { name, colour, value } of values) {
        group.append(" ", swatch(colour), `${name} ${value}`);
      }
      return group;
    });
    get("values").replaceChildren(...groups);
  }

  private controls(): void {
    const { model } = this;
    const press = (id: string, act: () => void): void => get(id).addEventListener("click", act);
    press("play", () => this.toggle());
    press("back", () => model.step(-1));
    press("forward", () => model.step(1));
    press("in", () => model.zoom(0.4));
    press("out", () => model.zoom(2.5));
    press("fit", () => model.show(0, model.end));
    const mark = get<HTMLSelectElement>("mark");
    mark.append(...MARKS.map((kind) => make("option", { value: kind }, MARK_NAMES[kind])));
    press("earlier", () => model.jump(mark.value as Mark, -1));
    press("later", () => model.jump(mark.value as Mark, 1));
    const active = get<HTMLInputElement>("active");
    active.addEventListener("change", () => {
      model.onlyActive = active.checked;
      model.touch();
    });
    const speed = get<HTMLSelectElement>("speed");
    const names = SPEEDS.map((value) => (value < 1 ? `1/${Math.round(1 / value)}` : `${value}×`));
    speed.append(...SPEEDS.map((value, index) => make("option", { value: String(value) }, names[index] ?? "")));
    speed.value = String(model.speed);
    speed.addEventListener("change", () => {
      model.speed = Number(speed.value);
    });
    get("search").addEventListener("submit", (event) => {
      event.preventDefault();
      this.search(get<HTMLInputElement>("query").value.trim());
    });
    get("flows").addEventListener("click", (event) => {
      const flow = (event.target as HTMLElement).closest<HTMLElement>("[data-flow]")?.dataset["flow"];
      if (flow !== undefined) {
        model.flow = model.flow === Number(flow) ? null : Number(flow);
        model.touch();
      }
    });
    get("selection").addEventListener("click", (event) => {
      const at = (event.target as HTMLElement).closest<HTMLElement>("[data-at]")?.dataset["at"];
      if (at !== undefined) {
        this.visit(Number(at));
      }
    });
  }

  private toggle(): void {
    const { model } = this;
    model.playing = !model.playing && model.cursor < model.end;
    this.lastFrame = performance.now();
    this.drawnCursor = model.cursor;
    model.touch();
  }

  /** A packet by its number, or a time such as `4.5s`. */
  private search(query: string): void {
    const { model } = this;
    const time = /^(\d+(?:\.\d*)?)\s*s$/.exec(query) ?? /^(\d+\.\d*)$/.exec(query);
    if (time !== null) {
      this.visit(Number(time[1]) * 1e9);
    } else if (/^\d+$/.test(query)) {
      model.find(Number(query));
    } else {
      model.notice = `"${query}" is neither the number of a packet nor a time such as 4.5s.`;
      model.touch();
    }
  }

  /** Moves the cursor, close enough to see single frames. */
  private visit(at: number): void {
    const span = Math.min(this.model.to - this.model.from, 30e6);
    this.model.cursor = Math.min(at, this.model.end);
    this.model.show(at - span / 2, at + span / 2);
  }

  private pointer(): void {
    const { model } = this;
    const map = get("map");
    map.addEventListener("pointermove", (event) => {
      this.map.hovered = this.map.nodeAt(event.offsetX, event.offsetY);
      model.touch();
    });
    map.addEventListener("pointerleave", () => {
      this.map.hovered = null;
      model.touch();
    });
    for (const id of ["timeline", "series"]) {
      const canvas = get(id);
      canvas.addEventListener("wheel", (event) => this.wheel(event, canvas), { passive: false });
      let drag: { x: number; y: number; from: number; moved: boolean } | null = null;
      canvas.addEventListener("pointerdown", (event) => {
        drag = { x: event.offsetX, y: event.offsetY, from: model.from, moved: false };
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("pointermove", (event) => {
        if (drag === null) {
          return;
        }
        const by = event.offsetX - drag.x;
        drag.moved ||= Math.hypot(by, event.offsetY - drag.y) > 4;
        if (drag.moved) {
          const span = model.to - model.from;
          const from = drag.from - (by / (canvas.clientWidth - GUTTER)) * span;
          model.show(from, from + span);
          this.timeline.scroll(id === "timeline" ? -event.movementY : 0);
        }
      });
      canvas.addEventListener("pointerup", (event) => {
        if (drag?.moved === false) {
          this.click(id, canvas, event);
        }
        drag = null;
      });
    }
  }

  private wheel(event: WheelEvent, canvas: HTMLElement): void {
    event.preventDefault();
    const { model } = this;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = ((event.deltaX + event.deltaY) / canvas.clientWidth) * (model.to - model.from);
      model.show(model.from + by, model.to + by);
    } else {
      const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300)));
      model.zoom(factor, timeAt(model, canvas.clientWidth, event.offsetX));
    }
  }

  private click(id: string, canvas: HTMLElement, event: PointerEvent): void {
    const { model } = this;
    const frame = id === "timeline" ? this.timeline.frameAt(event.offsetX, event.offsetY) : null;
    if (event.offsetX > GUTTER) {
      model.cursor = Math.max(0, timeAt(model, canvas.clientWidth, event.offsetX));
    }
    if (frame !== null) {
      model.select(frame);
    }
    model.touch();
  }

  private keys(): void {
    const { model } = this;
    const marks: Record<string, Mark> = { d: "drop", c: "collision", r: "route", t: "timeout", f: "freeze" };
    document.addEventListener("keydown", (event) => {
      const target = event.target as HTMLElement;
      if (target.closest("input:not([type=checkbox]), select, textarea") !== null || event.ctrlKey || event.metaKey || event.altKey) {
        return;
      }
      const direction = event.shiftKey ? -1 : 1;
      const mark = marks[event.key.toLowerCase()];
      const span = model.to - model.from;
      const acts: Record<string, () => void> = {
        ArrowLeft: () => (event.shiftKey ? model.show(model.from - span / 5, model.to - span / 5) : model.step(-1)),
        ArrowRight: () => (event.shiftKey ? model.show(model.from + span / 5, model.to + span / 5) : model.step(1)),
        "+": () => model.zoom(0.4),
        "=": () => model.zoom(0.4),
        "-": () => model.zoom(2.5),
        "0": () => model.show(0, model.end),
        Home: () => model.moveTo(0),
        End: () => model.moveTo(model.end),
        "/": () => get("query").focus(),
      };
      const act = mark !== undefined ? () => model.jump(mark, direction) : acts[event.key];
      const isSpace = event.key === " " && target.closest("button, input") === null;
      if (isSpace || act !== undefined) {
        event.preventDefault();
        (act ?? (() => this.toggle()))();
      }
    });
  }
}

/** The view from the address: time, length of the view, flow, packet. */
function readAddress(model: Model): void {
  const address = new URLSearchParams(location.hash.slice(1));
  const number = (key: string): number | null => {
    const value = Number.parseFloat(address.get(key) ?? "");
    return Number.isFinite(value) && value >= 0 ? value : null;
  };
  const [time, span, flow, uid] = [number("t"), number("w"), number("flow"), number("packet")];
  if (flow !== null && flow < model.network.flows.length) {
    model.flow = flow;
  }
  if (time !== null && `${seconds(time * 1e9, 1)}` !== seconds(model.cursor, 1)) {
    model.cursor = Math.min(time * 1e9, model.end);
    const wide = span === null ? 0.05e9 : span * 1e9;
    model.show(model.cursor - wide / 2, model.cursor + wide / 2);
  }
  if (uid !== null && model.life?.uid !== uid) {
    model.find(uid);
  }
}

let written = "";

function writeAddress(model: Model): void {
  if (model.playing || (model.cursor === 0 && model.from === 0 && model.to === model.end && model.life === null)) {
    return;
  }
  const parts = [...keptParts(), `t=${seconds(model.cursor, 1)}`, `w=${seconds(model.to - model.from, 1)}`];
  if (model.flow !== null) {
    parts.push(`flow=${model.flow}`);
  }
  if (model.life !== null) {
    parts.push(`packet=${model.life.uid}`);
  }
  const address = `#${parts.join("&")}`;
  if (address !== written) {
    written = address;
    history.replaceState(null, "", address);
  }
}

/** Replaces the content of an element if it differs, so that focus and scrolling stay. */
function replace(element: HTMLElement, content: HTMLElement): void {
  const old = element.firstElementChild;
  if (old === null || old.outerHTML !== content.outerHTML) {
    const focused = document.activeElement;
    const place = focused !== null && element.contains(focused) ? [...element.querySelectorAll("button")].indexOf(focused as HTMLButtonElement) : -1;
    element.replaceChildren(content);
    element.querySelectorAll("button")[place]?.focus();
  }
}

function count(number: number, name: string): string {
  return `${number} ${name}${number === 1 ? "" : "s"}`;
}

// Tests look at the model.
declare global {
  interface Window {
    multihop: () => Model | null;
  }
}
window.multihop = () => app?.model ?? null;
