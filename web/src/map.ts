// The map: stations, links, frames on the air, collisions, queues, flows and their routes.

import { begin, prepare } from "./canvas";
import type { Surface } from "./canvas";
import { concerns, framesBetween, holdsAt, lastIndex, outcome, routeAt, valueAt } from "./detail";
import type { Detail, Frame, Waits } from "./detail";
import { placeAt } from "./model";
import type { Model } from "./model";
import type { Radio } from "./protocol";
import { BROADCAST, DATA, FRAMES } from "./records";
import type { Station } from "./stations";
import { colourOf, dashesOf, frameColour, inkOn, theme } from "./theme";
import { cross } from "./timeline";

const MARGIN = 40;
/** A flatter network gets the whole width of the page. */
const FLAT = 0.4;
/** Heights of the map, px. */
const LOWEST = 260;
const HIGHEST = 460;
/** Links of larger networks are drawn only at the station under the pointer. */
const MOST_LINKED = 400;
/** How long trails of moving stations are, ns. */
const TRAIL = 15e9;
const TRAIL_PARTS = 6;
/** Distance between the lines that hatch an obstacle, px. */
const HATCHING = 8;
/** Distance between the links of two radios, px. */
const LANE = 5;

export class MapView {
  hovered: number | null = null;
  /** Where stations were moved to by hand, until the network is simulated again. */
  moved = new Map<number, [number, number]>();
  private bounds = { left: 0, top: 0, wide: 1, high: 1 };
  private readonly moves: boolean;
  private readonly ground = document.createElement("canvas");
  private groundFrom: unknown[] = [];
  private groundPlaces: [number, number][] = [];
  private places: [number, number][] = [];

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly model: Model,
  ) {
    this.moves = model.network.nodes.some((node) => node.path.length > 1);
    this.measure();
    const { wide, high } = this.bounds;
    if (high / wide < FLAT) {
      canvas.closest("#scene")?.classList.add("wide");
    }
    const suited = (high / wide) * (canvas.clientWidth - 2 * MARGIN) + 2 * MARGIN;
    canvas.style.height = `${Math.max(LOWEST, Math.min(HIGHEST, suited))}px`;
  }

  /** Draws the instant of the cursor; while playing, everything since the last drawing. */
  draw(since: number): void {
    const surface = begin(this.canvas);
    const { model } = this;
    const places = this.project(surface, this.placesAt(model.cursor));
    const detail = model.detailAt(model.cursor);
    this.drawGround(surface, places);
    if (this.hovered !== null) {
      this.ranges(surface, places, this.hovered);
    }
    const air = detail === null ? [] : framesBetween(detail.frames, Math.min(since, model.cursor), model.cursor);
    if (detail !== null) {
      this.routes(surface, places, detail);
    }
    for (const frame of air) {
      this.frame(surface, places, frame);
    }
    this.stations(surface, places, air, detail);
    this.flows(surface, places, detail);
    this.collisions(surface, places, detail, since);
  }

  /** Where all stations are, m. */
  private placesAt(at: number): [number, number][] {
    const { network } = this.model;
    return network.nodes.map((_, node) => this.moved.get(node) ?? placeAt(network, node, at));
  }

  /** Links, trails and scale, drawn again only when a station has visibly moved. */
  private drawGround(surface: Surface, places: [number, number][]): void {
    const { width, height } = surface;
    const from = [width, height, theme(), devicePixelRatio, places.length > MOST_LINKED ? this.hovered : null];
    const isSame = from.every((part, index) => part === this.groundFrom[index]) && !hasMoved(places, this.groundPlaces);
    if (!isSame) {
      this.groundFrom = from;
      this.groundPlaces = places.map(([x, y]) => [x, y]);
      this.ground.width = this.canvas.width;
      this.ground.height = this.canvas.height;
      const context = this.ground.getContext("2d") as CanvasRenderingContext2D;
      prepare(context, this.canvas.width / width);
      const ground = { context, width, height };
      this.obstacles(ground);
      this.links(ground, places);
      if (this.moves) {
        this.trails(ground);
      }
      this.scale(ground);
    }
    if (this.ground.width > 0 && this.ground.height > 0) {
      // A map that the page shows only later has no size yet, and an empty image is an error.
      surface.context.drawImage(this.ground, 0, 0, width, height);
    }
  }

  /** The station at a place in the canvas. */
  nodeAt(x: number, y: number): number | null {
    const surface = { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
    let best: number | null = null;
    let least = 22;
    this.project(surface, this.placesAt(this.model.cursor)).forEach(([u, v], node) => {
      const distance = Math.hypot(u - x, v - y);
      if (distance < least) {
        [best, least] = [node, distance];
      }
    });
    return best;
  }

  /** The place of the network, in whole metres, at a place in the canvas. */
  placeAt(x: number, y: number): [number, number] {
    const size = { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
    const { left, top, wide, high } = this.bounds;
    const zoom = this.zoom(size);
    return [
      Math.round((x - size.width / 2) / zoom + left + wide / 2),
      Math.round((y - size.height / 2) / zoom + top + high / 2),
    ];
  }

  /** The state of a station in words. */
  describe(node: number): string {
    const { model } = this;
    const { cursor, network } = model;
    const name = (id: number): string => network.nodes[id]?.name ?? String(id);
    const detail = model.detailAt(cursor);
    const [x, y] = placeAt(network, node, cursor);
    const parts = [`Station ${name(node)} at ${Math.round(x)}, ${Math.round(y)} m`];
    if (detail !== null) {
      const air = framesBetween(detail.frames, cursor, cursor);
      for (const station of this.model.stations.ofNode(node)) {
        const { radio } = this.model.stations.all[station] as Station;
        const before = network.radios.length > 1 ? `radio ${radio}: ` : "";
        const states = this.states(node, radio, air, detail.waits[station] as Waits);
        parts.push(...states.map((state) => before + state));
      }
      parts.push(`queue: ${this.queue(node, detail)}`);
    }
    return `${parts.join("; ")}.`;
  }

  /** What a radio of a node does and waits for, in words. */
  private states(node: number, radio: number, air: Frame[], waits: Waits): string[] {
    const { cursor, network } = this.model;
    const name = (id: number): string => network.nodes[id]?.name ?? String(id);
    const parts: string[] = [];
    const frames = air.filter((frame) => frame.radio === radio);
    const own = frames.find((frame) => frame.node === node);
    if (own !== undefined) {
      parts.push(`sends ${FRAMES[own.kind]} to ${own.to === BROADCAST ? "all" : name(own.to)}`);
    }
    const heard = frames.filter((frame) => frame.node !== node && this.senses(radio, node, frame.node));
    if (heard.length > 0) {
      parts.push(`carrier busy: hears ${heard.map((frame) => name(frame.node)).join(", ")}`);
    }
    if (holdsAt(waits.nav, cursor)) {
      parts.push("the medium is reserved (NAV)");
    }
    if (holdsAt(waits.backoff, cursor)) {
      parts.push("counts down its backoff");
    } else if (holdsAt(waits.paused, cursor)) {
      parts.push("its backoff is paused");
    }
    return parts;
  }

  private senses(radio: number, a: number, b: number): boolean {
    const { network, cursor } = this.model;
    const [x, y] = placeAt(network, a, cursor);
    const [u, v] = placeAt(network, b, cursor);
    const { sense_range, decode_range } = network.radios[radio] as Radio;
    return Math.hypot(x - u, y - v) <= (sense_range ?? decode_range);
  }

  private measure(): void {
    const { nodes, obstacles } = this.model.network;
    const corners = obstacles.flat(2);
    const points = nodes.flatMap((node) => node.path);
    const xs = [...points.map(([, x]) => x), ...corners.map(([x]) => x)];
    const ys = [...points.map(([, , y]) => y), ...corners.map(([, y]) => y)];
    const smallest = (values: number[]): number => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    const largest = (values: number[]): number => values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    const [left, top] = [smallest(xs), smallest(ys)];
    this.bounds = { left, top, wide: Math.max(1, largest(xs) - left), high: Math.max(1, largest(ys) - top) };
  }

  private zoom({ width, height }: { width: number; height: number }): number {
    const { wide, high } = this.bounds;
    return Math.min((width - 2 * MARGIN) / wide, (height - 2 * MARGIN) / high, 2);
  }

  /** Places of the canvas for places of the network, in arrays that are used again. */
  private project(size: { width: number; height: number }, places: [number, number][]): [number, number][] {
    const zoom = this.zoom(size);
    const { left, top, wide, high } = this.bounds;
    places.forEach(([x, y], node) => {
      const place = (this.places[node] ??= [0, 0]);
      place[0] = size.width / 2 + (x - left - wide / 2) * zoom;
      place[1] = size.height / 2 + (y - top - high / 2) * zoom;
    });
    return this.places;
  }

  private radius(): number {
    return this.model.network.nodes.length > 120 ? 4 : this.model.network.nodes.length > 30 ? 8 : 11;
  }

  /** Houses and other obstacles, with holes; hatched, so that they differ from the ground without colour. */
  private obstacles({ context, width, height }: Surface): void {
    const { obstacles } = this.model.network;
    if (obstacles.length === 0) {
      return;
    }
    const [zoom, { left, top, wide, high }] = [this.zoom({ width, height }), this.bounds];
    context.save();
    context.beginPath();
    for (const ring of obstacles.flat()) {
      ring.forEach(([x, y], corner) => {
        const place = [width / 2 + (x - left - wide / 2) * zoom, height / 2 + (y - top - high / 2) * zoom] as const;
        if (corner === 0) {
          context.moveTo(...place);
        } else {
          context.lineTo(...place);
        }
      });
      context.closePath();
    }
    context.fillStyle = theme().faint;
    context.fill("evenodd");
    context.strokeStyle = theme().muted;
    context.stroke();
    context.clip("evenodd");
    context.globalAlpha = 0.5;
    context.beginPath();
    for (let x = -height; x < width; x += HATCHING) {
      context.moveTo(x, height);
      context.lineTo(x + height, 0);
    }
    context.stroke();
    context.restore();
  }

  private links({ context, width, height }: Surface, places: [number, number][]): void {
    const { network, stations } = this.model;
    const zoom = this.zoom({ width, height });
    context.strokeStyle = theme().line;
    context.beginPath();
    network.radios.forEach(({ decode_range }, radio) => {
      const reach = decode_range * zoom + 1e-6;
      places.forEach(([x, y], node) => {
        if ((places.length > MOST_LINKED && node !== this.hovered) || stations.of(node, radio) < 0) {
          return;
        }
        for (let other = places.length > MOST_LINKED ? 0 : node + 1; other < places.length; other += 1) {
          const [u, v] = places[other] as [number, number];
          if (Math.hypot(u - x, v - y) <= reach && stations.of(other, radio) >= 0) {
            const [from, to] = this.lane([x, y], [u, v], radio);
            context.moveTo(...from);
            context.lineTo(...to);
          }
        }
      });
    });
    context.stroke();
  }

  /** Where the links of a radio are drawn: those of several radios are side by side. */
  private lane(from: [number, number], to: [number, number], radio: number): [[number, number], [number, number]] {
    const { length } = this.model.network.radios;
    // The same side in both directions.
    const [low, high] = from[0] < to[0] || (from[0] === to[0] && from[1] < to[1]) ? [from, to] : [to, from];
    const [along, up] = [high[0] - low[0], high[1] - low[1]];
    const aside = (LANE * (radio - (length - 1) / 2)) / Math.max(1, Math.hypot(along, up));
    const moved = ([x, y]: [number, number]): [number, number] => [x - up * aside, y + along * aside];
    return [moved(from), moved(to)];
  }

  private trails(surface: Surface): void {
    const { context } = surface;
    const { cursor } = this.model;
    context.save();
    context.strokeStyle = context.fillStyle = theme().trail;
    context.lineCap = "round";
    for (let back = 0; back < TRAIL_PARTS; back += 1) {
      const [at, before] = [back, back + 1].map((part) => Math.max(0, cursor - (TRAIL * part) / TRAIL_PARTS)) as [number, number];
      const ends = this.project(surface, this.placesAt(at)).map(([x, y]) => [x, y] as const);
      // Dots that become smaller and paler into the past; links are thin solid lines.
      context.globalAlpha = 1 - (0.7 * back) / TRAIL_PARTS;
      context.lineWidth = 4.5 - (2.5 * back) / TRAIL_PARTS;
      context.setLineDash([0.1, 8]);
      context.beginPath();
      this.project(surface, this.placesAt(before)).forEach(([x, y], node) => {
        const end = ends[node] as [number, number];
        if (Math.hypot(end[0] - x, end[1] - y) > 0) {
          context.moveTo(...end);
          context.lineTo(x, y);
        }
      });
      context.stroke();
    }
    // The places are those of the cursor again.
    this.project(surface, this.placesAt(cursor));
    context.restore();
  }

  private ranges({ context, width, height }: Surface, places: [number, number][], node: number): void {
    const place = places[node];
    if (place === undefined) {
      return;
    }
    const zoom = this.zoom({ width, height });
    const { network, stations } = this.model;
    const radios = network.radios.filter((_, radio) => stations.of(node, radio) >= 0);
    const ranges = radios.flatMap(({ decode_range, sense_range }) => [[decode_range, []], [sense_range, [5, 4]]]);
    for (const [range, dash] of ranges as [number | null, number[]][]) {
      if (range !== null) {
        context.strokeStyle = theme().muted;
        context.setLineDash(dash);
        circle(context, place, range * zoom);
        context.stroke();
      }
    }
    context.setLineDash([]);
  }

  /** The routes of the shown flows. */
  private routes({ context }: Surface, places: [number, number][], detail: Detail): void {
    const { flow: only, cursor, network } = this.model;
    context.globalAlpha = 0.4;
    context.lineWidth = 5;
    network.flows.forEach((flow, id) => {
      if (only !== null && only !== id) {
        return;
      }
      const look = this.model.lookOf(id);
      context.strokeStyle = colourOf(look);
      context.setLineDash(dashesOf(look));
      const route = routeAt(detail, this.gateway(flow.from), flow.to, cursor);
      context.beginPath();
      for (const node of route) {
        const place = places[node];
        if (place !== undefined) {
          context.lineTo(...place);
        }
      }
      context.stroke();
    });
    context.globalAlpha = 1;
    context.lineWidth = 1;
    context.setLineDash([]);
  }

  private frame(surface: Surface, places: [number, number][], frame: Frame): void {
    const { context } = surface;
    const [sender, receiver] = [places[frame.node], places[frame.to]];
    if (sender === undefined) {
      return;
    }
    context.strokeStyle = frameColour(frame.kind);
    const [from, to] = this.lane(sender, receiver ?? sender, frame.radio);
    if (receiver === undefined) {
      context.globalAlpha = 0.7;
      circle(context, from, (this.model.network.radios[frame.radio] as Radio).decode_range * this.zoom(surface));
      context.stroke();
      context.globalAlpha = 1;
      return;
    }
    context.lineWidth = 3;
    context.setLineDash(outcome(frame) === "received" ? [] : [4, 4]);
    line(context, from, to);
    context.setLineDash([]);
    context.lineWidth = 1;
    // The bits on their way.
    const share = Math.min(1, (this.model.cursor - frame.at) / Math.max(1, frame.end - frame.at));
    const [x, y] = [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
    context.fillStyle = frameColour(frame.kind);
    circle(context, [x, y], 5);
    context.fill();
  }

  private stations(surface: Surface, places: [number, number][], air: Frame[], detail: Detail | null): void {
    const { context } = surface;
    const colours = theme();
    const radius = this.radius();
    const { cursor, overview, stations } = this.model;
    places.forEach((place, node) => {
      const own = stations.ofNode(node);
      let isSilenced = false;
      own.forEach((station, part) => {
        const { radio } = stations.all[station] as Station;
        const sends = air.find((frame) => frame.node === node && frame.radio === radio);
        const waits = detail?.waits[station];
        const waited = waits !== undefined && (holdsAt(waits.busy, cursor) || holdsAt(waits.nav, cursor));
        isSilenced ||= waited;
        context.fillStyle = sends === undefined ? (waited ? colours.line : colours.surface) : frameColour(sends.kind);
        sector(context, place, radius, part, own.length);
        context.fill();
      });
      const sends = own.length > 1 ? undefined : air.find((frame) => frame.node === node);
      circle(context, place, radius);
      context.strokeStyle = isSilenced ? colours.muted : colours.text;
      context.lineWidth = 1.2;
      context.stroke();
      context.lineWidth = 1;
      if (detail === null && overview !== null) {
        this.activity(surface, place, node);
      }
      this.queueBadge(surface, place, node, detail);
      if (radius > 6) {
        const letter = this.model.network.nodes[node]?.name ?? "";
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillStyle = sends === undefined ? colours.text : inkOn(frameColour(sends.kind));
        if (own.length > 1) {
          // Readable on whatever colours the radios have.
          context.strokeStyle = colours.surface;
          context.lineWidth = 3;
          context.strokeText(letter.length > 3 ? letter.slice(0, 3) : letter, place[0], place[1] + 0.5);
          context.lineWidth = 1;
        }
        context.fillText(letter.length > 3 ? letter.slice(0, 3) : letter, place[0], place[1] + 0.5);
      }
    });
  }

  /** A ring for each radio, whose angle is the radio's share of airtime; that of the first one is inside. */
  private activity({ context }: Surface, [x, y]: [number, number], node: number): void {
    const { overview, cursor, stations } = this.model;
    if (overview === null) {
      return;
    }
    const bin = Math.min(overview.bins - 1, Math.floor(cursor / overview.width));
    stations.ofNode(node).forEach((station, ring) => {
      const base = (station * overview.bins + bin) * FRAMES.length;
      const share = FRAMES.reduce((sum, _, kind) => sum + (overview.airtime[base + kind] as number), 0);
      if (share > 0) {
        context.strokeStyle = frameColour(DATA);
        context.lineWidth = 3;
        context.beginPath();
        context.arc(x, y, this.radius() + 3 + 4 * ring, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * Math.min(1, share));
        context.stroke();
        context.lineWidth = 1;
      }
    });
  }

  /** The packets in the queues of all radios of a node. */
  private queue(node: number, detail: Detail | null): number {
    const lengths = this.model.stations.ofNode(node).map((station) => this.queueOf(station, detail));
    return lengths.reduce((sum, length) => sum + length, 0);
  }

  private queueOf(station: number, detail: Detail | null): number {
    const exact = valueAt(detail?.queues[station] ?? [], this.model.cursor);
    const { overview, cursor } = this.model;
    if (exact !== null || overview === null) {
      return exact ?? 0;
    }
    // The last change before the detail: look back through the overview.
    const bin = Math.min(overview.bins - 1, Math.floor(cursor / overview.width));
    return overview.queues[station * overview.bins + bin] as number;
  }

  private queueBadge({ context }: Surface, [x, y]: [number, number], node: number, detail: Detail | null): void {
    const length = this.queue(node, detail);
    if (length === 0 || this.radius() < 6) {
      return;
    }
    const shown = Math.min(length, 12);
    context.fillStyle = theme().muted;
    for (let n = 0; n < shown; n += 1) {
      context.fillRect(x + this.radius() + 5, y + this.radius() - n * 3, 7, 2);
    }
    context.textAlign = "left";
    context.fillText(String(length), x + this.radius() + 14, y + this.radius() - 2);
  }

  /** Ends of flows: a ring as long as the window at the source, a double ring at the destination. */
  private flows({ context }: Surface, places: [number, number][], detail: Detail | null): void {
    const { network, flow: only, overview, cursor } = this.model;
    network.flows.forEach((flow, id) => {
      if (only !== null && only !== id) {
        return;
      }
      const [from, to] = [places[this.gateway(flow.from)], places[this.gateway(flow.to)]];
      if (from === undefined || to === undefined) {
        return;
      }
      const radius = this.radius() + 5 + (id % 3) * 4;
      const colour = colourOf(this.model.lookOf(id));
      context.strokeStyle = colour;
      context.fillStyle = colour;
      context.lineWidth = 3;
      const bin = overview === null ? 0 : Math.min(overview.bins - 1, Math.floor(cursor / overview.width));
      const before = overview === null ? Number.NaN : (overview.windows[id * overview.bins + bin] as number);
      const window = valueAt(detail?.flows[id]?.windows ?? [], cursor) ?? before;
      const share = Number.isNaN(window) ? 0.12 : Math.min(1, window / RING_SEGMENTS);
      context.beginPath();
      context.arc(from[0], from[1], radius, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * share);
      context.stroke();
      context.lineWidth = 1.5;
      circle(context, to, radius);
      context.stroke();
      context.lineWidth = 1;
      context.textAlign = "center";
      if (places.length <= 120) {
        outlined(context, `${id}▸`, from[0], from[1] - radius - 7);
        outlined(context, `▸${id}`, to[0], to[1] - radius - 7);
      }
    });
  }

  private gateway(node: number): number {
    return this.model.network.hosts.find((host) => host.id === node)?.gateway ?? node;
  }

  private collisions({ context }: Surface, places: [number, number][], detail: Detail | null, since: number): void {
    const { cursor } = this.model;
    const collisions = detail?.collisions ?? [];
    for (let index = lastIndex(collisions, cursor); index >= 0; index -= 1) {
      const { at, node, frame } = collisions[index] as Detail["collisions"][number];
      const place = places[node];
      // A collision is shown for a moment, or it would be over before it is seen.
      if (at <= Math.min(since, cursor - 2e5)) {
        break;
      }
      if (place !== undefined) {
        context.globalAlpha = concerns(frame, node) ? 1 : 0.35;
        cross(context, place[0], place[1], this.radius() * 0.9);
        context.globalAlpha = 1;
      }
    }
  }

  private scale({ context, width, height }: Surface): void {
    const metres = [50, 100, 200, 500, 1000, 2000, 5000].find((m) => m * this.zoom({ width, height }) >= 50) ?? 10000;
    const long = metres * this.zoom({ width, height });
    context.fillStyle = theme().muted;
    context.fillRect(12, height - 12, long, 2);
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(`${metres} m`, 12 + long + 6, height - 11);
  }
}

/** Whether a station has moved by half a pixel. */
function hasMoved(places: [number, number][], before: [number, number][]): boolean {
  const moved = ([x, y]: [number, number], [u, v]: [number, number]): boolean => Math.abs(x - u) + Math.abs(y - v) > 0.5;
  return places.length !== before.length || places.some((place, node) => moved(place, before[node] as [number, number]));
}

/** A window of so many segments closes the ring. */
const RING_SEGMENTS = 32;

function circle(context: CanvasRenderingContext2D, [x, y]: [number, number], radius: number): void {
  context.beginPath();
  context.arc(x, y, Math.max(0, radius), 0, 2 * Math.PI);
}

/** One of equal parts of a disk, clockwise from the left half. */
function sector(context: CanvasRenderingContext2D, [x, y]: [number, number], radius: number, part: number, parts: number): void {
  const angle = (n: number): number => Math.PI / 2 + (2 * Math.PI * n) / parts;
  context.beginPath();
  if (parts > 1) {
    context.moveTo(x, y);
  }
  context.arc(x, y, Math.max(0, radius), angle(part), angle(part + 1));
}

function line(context: CanvasRenderingContext2D, from: [number, number], to: [number, number]): void {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

function outlined(context: CanvasRenderingContext2D, text: string, x: number, y: number): void {
  const colour = context.fillStyle;
  context.strokeStyle = theme().surface;
  context.lineWidth = 3;
  context.strokeText(text, x, y);
  context.lineWidth = 1;
  context.fillStyle = colour;
  context.fillText(text, x, y);
}
