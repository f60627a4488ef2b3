// The drawing of a mesh as one host knows it: rings of hops around it, a sector for each neighbour.

import { hostOf, named, type Route, type Status } from "./status";

interface Place {
  name: string;
  x: number;
  y: number;
  kind: "own" | "host" | "network";
}

const SVG = "http://www.w3.org/2000/svg";
const SIZE = 560;
const MIDDLE = SIZE / 2;
/** From the middle to the last ring; names have the rest. */
const RADIUS = 220;
/** Hosts above this number have no names. */
const MOST_NAMES = 40;
/** Links that lose more than a quarter of the packets are drawn as weak. */
export const WEAK = 0.75;

/** The ring of a destination. Protocols that count no hops have two: neighbours, and everything behind them. */
function distance({ via, hops }: Route): number {
  return hops ?? (via === null ? 1 : 2);
}

/** The drawing, and its description for those who cannot see it. */
export function mesh(status: Status): SVGElement {
  const destinations = Object.entries(status.routes).sort(([a], [b]) => (a < b ? -1 : 1));
  const ring = RADIUS / Math.max(1, ...destinations.map(([, route]) => distance(route)));
  const groups = new Map<string, [string, number][]>();
  for (const [to, route] of destinations) {
    const through = route.via ?? hostOf(to) ?? to;
    groups.set(through, [...(groups.get(through) ?? []), [to, distance(route)]]);
  }
  const picture = element("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": described(status) });
  for (let radius = ring; radius <= RADIUS + 1; radius += ring) {
    picture.append(element("circle", { class: "ring", cx: MIDDLE, cy: MIDDLE, r: radius }));
  }
  const places: Place[] = [{ name: status.main_address ?? "", x: MIDDLE, y: MIDDLE, kind: "own" }];
  let angle = -Math.PI / 2;
  for (const [through, members] of groups) {
    const others = members.filter(([to]) => hostOf(to) !== through);
    const width = (2 * Math.PI * Math.max(1, others.length)) / total(groups);
    const neighbour = at(through, angle + width / 2, ring, "host");
    const link = status.neighbours.find(({ address }) => address === through);
    const weak = link !== undefined && (link.received ?? 1) < WEAK ? " weak" : "";
    picture.append(line(places[0] as Place, neighbour, link?.symmetric === false ? "path" : `link${weak}`));
    places.push(neighbour);
    others.forEach(([to, hops], n) => {
      const isHost = hostOf(to) !== null;
      // A network behind a neighbour has a place beside it.
      const radius = ring * (isHost ? Math.max(hops, 1) : hops + 0.3);
      const place = at(named(to), angle + (width * (n + 0.5)) / others.length, Math.min(radius, RADIUS), isHost ? "host" : "network");
      picture.append(line(neighbour, place, "path"));
      places.push(place);
    });
    angle += width;
  }
  const prefix = common(places.filter(({ kind }) => kind !== "network").map(({ name }) => name));
  places.forEach((place) => picture.append(...drawn(place, prefix, places.length <= MOST_NAMES)));
  return picture;
}

function total(groups: Map<string, [string, number][]>): number {
  return [...groups].reduce((sum, [through, members]) => sum + Math.max(1, members.filter(([to]) => hostOf(to) !== through).length), 0);
}

function at(name: string, angle: number, radius: number, kind: Place["kind"]): Place {
  return { name, x: MIDDLE + radius * Math.cos(angle), y: MIDDLE + radius * Math.sin(angle), kind };
}

/** The beginning that all addresses share, up to a separator. */
function common(names: string[]): string {
  const first = names[0] ?? "";
  let length = 0;
  while (length < first.length && names.every((name) => name[length] === first[length])) {
    length += 1;
  }
  return names.length < 2 ? "" : first.slice(0, Math.max(first.slice(0, length).lastIndexOf("."), first.slice(0, length).lastIndexOf(":")) + 1);
}

function drawn({ name, x, y, kind }: Place, prefix: string, isNamed: boolean): SVGElement[] {
  const node = kind === "network" ? element("rect", { class: "node network", x: x - 7, y: y - 7, width: 14, height: 14 }) : element("circle", { class: `node ${kind}`, cx: x, cy: y, r: 8 });
  const title = element("title", {});
  title.textContent = name;
  node.append(title);
  if (!isNamed) {
    return [node];
  }
  const label = element("text", { x: Math.min(Math.max(x, 46), SIZE - 46), y: y + 26 });
  label.textContent = kind !== "own" && kind !== "network" && prefix !== "" && name.startsWith(prefix) ? `…${name.slice(prefix.length)}` : name;
  return [node, label];
}

function line(from: Place, to: Place, kind: string): SVGElement {
  return element("line", { class: kind, x1: from.x, y1: from.y, x2: to.x, y2: to.y });
}

function described({ routes, neighbours }: Status): string {
  const linked = neighbours.filter(({ symmetric }) => symmetric).length;
  return `Drawing of the mesh: ${linked} linked neighbours, ${Object.keys(routes).length} destinations`;
}

function element(tag: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value));
  return made;
}
