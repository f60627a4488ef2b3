// The playground: a network that the reader builds, simulated again at each change.

import { address, keepScenario } from "./address";
import type { App } from "./app";
import { get, make, table } from "./dom";
import { trim } from "./format";
import { packed, unpacked } from "./packing";
import type { Result } from "./protocol";
import { ROUTINGS, SCENES, TRANSPORTS, readScene, runOf } from "./scenes";
import type { Scene } from "./scenes";
import { Stage } from "./stage";

/** Where the first view is, and how long, ns. */
const FIRST_VIEW = { at: 10e9, span: 60e6 };
/** Stations are dropped on a grid of so many metres. */
const GRID = 10;
/** Windows in which the fields leave room for the map. The style sheet has the same width. */
const WIDE = matchMedia("(min-width: 901px)");
const HINT = "Drag stations on the map. Each change is simulated at once, with the same seed; the address holds the network.";

/** Shows the playground instead of a run. */
export function startPlayground(): Stage {
  const playground = new Playground();
  return playground.stage;
}

class Playground {
  readonly stage = new Stage((app) => this.connect(app));
  private scene: Scene = structuredClone(SCENES[0] as Scene);
  private station = 0;
  /** Ends of a flow that is being added; null if none is. */
  private ends: number[] | null = null;
  private before: Result | null = null;
  private now: Result | null = null;

  constructor() {
    get("playground").hidden = false;
    get("scenario-section").hidden = true;
    this.controls();
    fold();
    WIDE.addEventListener("change", fold);
    void this.load();
    addEventListener("hashchange", () => void this.load());
  }

  /** Takes the scene of the address, or stays. */
  private async load(): Promise<void> {
    const text = await unpacked(address().get("scene"));
    const scene = readScene(text);
    if (JSON.stringify(scene) !== JSON.stringify(this.scene)) {
      this.scene = scene ?? this.scene;
      this.simulate(false);
    }
    if (address().has("scene") && scene === null) {
      this.hint("The link does not hold a network; this is a prepared one.");
    }
  }

  /** Simulates the scene; `keep` puts it into the address. */
  private simulate(keep = true): void {
    const { scene } = this;
    this.station = Math.min(this.station, scene.stations.length - 1);
    this.ends = null;
    this.fill();
    if (keep) {
      void packed(JSON.stringify(scene)).then((text) => keepScenario({ scene: text }));
    }
    if (scene.flows.length === 0) {
      this.hint("Add a flow: a network without flows is silent.");
      return;
    }
    this.hint(HINT);
    void this.stage.begin([runOf(scene)]);
  }

  private change(act: (scene: Scene) => void): void {
    act(this.scene);
    this.simulate();
  }

  private hint(text: string): void {
    get("hint").textContent = text;
  }

  /** Shows the scene in the controls. */
  private fill(): void {
    const { scene } = this;
    get<HTMLSelectElement>("pick").value = scene.name;
    get("about").textContent = scene.about;
    get<HTMLSelectElement>("routing").value = scene.routing;
    get<HTMLInputElement>("duration").value = String(scene.duration);
    get<HTMLTextAreaElement>("other-keys").value = scene.set;
    get("scene-flows").replaceChildren(this.flows());
    this.fillStation();
  }

  private fillStation(): void {
    const [x, y] = this.scene.stations[this.station] ?? [0, 0];
    get<HTMLInputElement>("station-number").value = String(this.station);
    get<HTMLInputElement>("station-x").value = String(x);
    get<HTMLInputElement>("station-y").value = String(y);
  }

  /** A row for each flow, to be changed in place. */
  private flows(): HTMLElement {
    const { scene } = this;
    const last = scene.stations.length - 1;
    const rows = scene.flows.map((flow, index) => {
      const end = (key: "from" | "to"): HTMLElement => {
        const input = make("input", { type: "number", min: "0", max: String(last), value: String(flow[key]), "aria-label": `Flow ${index}, ${key}` });
        input.addEventListener("change", () => this.change(() => (flow[key] = within(input, 0, last))));
        return input;
      };
      const transport = choice(TRANSPORTS, flow.transport);
      transport.setAttribute("aria-label", `Flow ${index}, transport`);
      transport.addEventListener("change", () => this.change(() => (flow.transport = transport.value)));
      const start = make("input", { type: "number", min: "0", max: String(scene.duration), value: String(flow.start), "aria-label": `Flow ${index}, start` });
      start.addEventListener("change", () => this.change(() => (flow.start = within(start, 0, scene.duration))));
      const remove = make("button", { type: "button", "aria-label": `Remove flow ${index}` }, "Remove");
      remove.addEventListener("click", () => this.change(() => scene.flows.splice(index, 1)));
      return [String(index), end("from"), end("to"), transport, start, remove];
    });
    return table(["Flow", "From", "To", "Transport", "Start, s", "Change"], rows);
  }

  private controls(): void {
    const on = (id: string, event: string, act: () => void): void => get(id).addEventListener(event, act);
    const pick = get<HTMLSelectElement>("pick");
    pick.replaceChildren(...SCENES.map(({ name }) => make("option", { value: name }, name)));
    on("pick", "change", () => {
      const scene = SCENES.find(({ name }) => name === pick.value) as Scene;
      this.scene = structuredClone(scene);
      this.before = this.now = null;
      this.simulate();
    });
    get("routing").replaceChildren(...ROUTINGS.map((name) => make("option", { value: name }, name)));
    on("routing", "change", () => this.change((scene) => (scene.routing = get<HTMLSelectElement>("routing").value)));
    get("transport").replaceChildren(make("option", { value: "" }, "choose…"), ...TRANSPORTS.map((name) => make("option", { value: name }, name)));
    on("transport", "change", () => {
      const { value } = get<HTMLSelectElement>("transport");
      this.change((scene) => scene.flows.forEach((flow) => (flow.transport = value === "" ? flow.transport : value)));
    });
    on("duration", "change", () => this.change((scene) => (scene.duration = within(get("duration"), 10, 600))));
    on("other-keys", "change", () => this.change((scene) => (scene.set = get<HTMLTextAreaElement>("other-keys").value)));
    on("add-flow", "click", () => {
      this.ends = [];
      this.hint("Click the source of the flow on the map, then its destination.");
    });
    on("add-station", "click", () => this.change((scene) => {
      const [x, y] = scene.stations[this.station] ?? [0, 0];
      this.station = scene.stations.push([x + 100, y + 150]) - 1;
    }));
    on("remove-station", "click", () => this.removeStation());
    on("station-number", "change", () => {
      this.station = within(get("station-number"), 0, this.scene.stations.length - 1);
      this.fillStation();
    });
    for (const [id, axis] of [["station-x", 0], ["station-y", 1]] as const) {
      on(id, "change", () => this.change((scene) => ((scene.stations[this.station] as number[])[axis] = within(get(id), -1e6, 1e6))));
    }
    on("copy-link", "click", () => {
      const shown = navigator.clipboard?.writeText(location.href);
      void (shown ?? Promise.reject()).then(() => this.hint("The link is in the clipboard."), () => this.hint("Copy the address of this page: it holds the network."));
    });
  }

  /** Removes the chosen station with its flows; the later ones move up. */
  private removeStation(): void {
    const gone = this.station;
    if (this.scene.stations.length <= 2) {
      this.hint("Two stations are the fewest.");
      return;
    }
    this.change((scene) => {
      scene.stations.splice(gone, 1);
      const kept = scene.flows.filter(({ from, to }) => from !== gone && to !== gone);
      const moved = (node: number): number => (node > gone ? node - 1 : node);
      scene.flows = kept.map((flow) => ({ ...flow, from: moved(flow.from), to: moved(flow.to) }));
    });
  }

  /** Makes the map of a new app one to build with, and follows its result. */
  private connect(app: App): void {
    if (app.view.cursor === 0 && !address().has("t")) {
      app.view.cursor = Math.min(FIRST_VIEW.at, app.view.end);
      app.change((view) => view.show(view.cursor - FIRST_VIEW.span / 4, view.cursor + FIRST_VIEW.span));
    }
    app.onResult = () => {
      this.before = this.now ?? this.before;
      this.now = app.focus.model.result;
      this.differ();
    };
    const { map } = app.focus;
    const canvas = app.focus.get("map");
    let dragged: number | null = null;
    canvas.onpointerdown = (event) => {
      dragged = map.nodeAt(event.offsetX, event.offsetY);
      if (dragged !== null) {
        this.station = dragged;
        this.fillStation();
        canvas.setPointerCapture(event.pointerId);
      }
    };
    canvas.onpointermove = (event) => {
      if (dragged !== null && this.ends === null && event.buttons > 0) {
        map.moved.set(dragged, map.placeAt(event.offsetX, event.offsetY));
        app.touch();
      }
    };
    canvas.onpointerup = () => {
      const place = dragged === null ? undefined : map.moved.get(dragged);
      if (dragged !== null && this.ends !== null) {
        this.addEnd(dragged);
      } else if (dragged !== null && place !== undefined) {
        const [x, y] = place.map((value) => Math.round(value / GRID) * GRID) as [number, number];
        const node = dragged;
        this.change((scene) => (scene.stations[node] = [x, y]));
      }
      dragged = null;
    };
  }

  private addEnd(node: number): void {
    const ends = [...(this.ends ?? []), node];
    const [from, to] = ends;
    if (from === undefined || to === undefined) {
      this.ends = ends;
      this.hint(`From station ${node}. Now click the destination.`);
    } else if (from === to) {
      this.hint("The destination is another station.");
    } else {
      const transport = this.scene.flows[0]?.transport ?? "newreno";
      this.change((scene) => scene.flows.push({ from, to, transport, start: 0 }));
    }
  }

  /** The results before and after the last change, side by side. */
  private differ(): void {
    const { before, now } = this;
    if (now === null) {
      return;
    }
    const values = (result: Result | null): [string, number][] => result === null ? [] : [
      ...result.flows.map(({ id, goodput_kbps }): [string, number] => [`goodput of flow ${id}, kb/s`, goodput_kbps]),
      ["goodput of all, kb/s", result.flows.reduce((sum, flow) => sum + flow.goodput_kbps, 0)],
      ["timeouts", result.flows.reduce((sum, flow) => sum + flow.timeouts, 0)],
      ["collisions", result.mac.collisions],
      ["frames retransmitted", result.mac.retries],
      ["packets dropped by the MAC", result.mac.drops],
    ];
    const old = new Map(values(before));
    const rows = values(now).map(([name, value]) => {
      const was = old.get(name);
      const change = was === undefined ? "" : `${value >= was ? "+" : "−"}${trim(Math.abs(value - was))}`;
      return [name, was === undefined ? "" : trim(was), trim(value), change];
    });
    get("difference").replaceChildren(table(["After the warm-up", "Before", "Now", "Change"], rows));
  }
}

/** Shows all fields in wide windows; in others they are folded, so that the map comes first. */
function fold(): void {
  get<HTMLDetailsElement>("change").open = WIDE.matches;
}

function choice(names: string[], chosen: string): HTMLSelectElement {
  const all = names.includes(chosen) ? names : [chosen, ...names];
  const select = make("select", {}, ...all.map((name) => make("option", { value: name }, name))) as HTMLSelectElement;
  select.value = chosen;
  return select;
}

/** The number in an input, moved into its bounds. */
function within(input: HTMLElement, least: number, most: number): number {
  const value = Number((input as HTMLInputElement).value);
  return Math.max(least, Math.min(most, Number.isFinite(value) ? value : least));
}
