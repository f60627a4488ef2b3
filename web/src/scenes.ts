// Networks of the playground, and how they become scenarios.

import { overrides } from "./lines";
import type { RunData } from "./data";

export interface SceneFlow {
  from: number;
  to: number;
  transport: string;
  /** Seconds. */
  start: number;
}

export interface Scene {
  name: string;
  about: string;
  /** Seconds. */
  duration: number;
  /** Metres. */
  stations: [number, number][];
  routing: string;
  flows: SceneFlow[];
  /** Other keys, one key=value on each line. */
  set: string;
}

export const ROUTINGS = ["static", "aodv", "dsr", "olsr", "olsrv2", "apdr", "babel", "batman", "hwmp"];
export const TRANSPORTS = ["newreno", "tcp-2", "tcp-3", "cubic", "vegas", "westwood", "tcp-ap", "tcp-cwl", "elfn", "adtcp", "tpa-2", "tpa*-3", "tpa-ap-2", "udp"];

/** What a scene may have, so that a link cannot keep a browser busy. */
const MOST_STATIONS = 300;
const MOST_FLOWS = 50;
const LONGEST = 600;

const WARMUP = 5;
/** Datagrams of a flow under UDP, kb/s. */
const UDP_RATE = 400;

/** The scenario of a scene. */
export function runOf(scene: Scene): RunData {
  const scenario = {
    name: "playground",
    duration: scene.duration,
    warmup: Math.min(WARMUP, scene.duration / 2),
    topology: { kind: "list", positions: scene.stations },
    routing: { protocol: scene.routing },
    flow: scene.flows.map(({ from, to, transport, start }) => {
      const traffic = transport === "udp" ? { app: "cbr", rate_kbps: UDP_RATE, size: 1000 } : { app: "ftp" };
      return { from, to, transport, start, ...traffic };
    }),
  };
  return { request: { text: JSON.stringify(scenario), json: true, name: "the network", overrides: overrides(scene.set) } };
}

/** The scene of a link; null if it is none. What it says of keys is checked by the simulator. */
export function readScene(text: string | null): Scene | null {
  try {
    const scene = JSON.parse(text ?? "") as Scene;
    const isNumber = (value: unknown, most: number): boolean => typeof value === "number" && Math.abs(value) <= most;
    const isPlace = (place: unknown): boolean => Array.isArray(place) && place.length === 2 && place.every((value) => isNumber(value, 1e6));
    const isFlow = ({ from, to, transport, start }: SceneFlow): boolean =>
      [from, to].every((node) => Number.isInteger(node) && node >= 0 && node < scene.stations.length) &&
      typeof transport === "string" && isNumber(start, LONGEST);
    const texts = [scene.name, scene.about, scene.routing, scene.set];
    const isScene = texts.every((part) => typeof part === "string") && isNumber(scene.duration, LONGEST) &&
      scene.stations.length <= MOST_STATIONS && scene.stations.every(isPlace) &&
      scene.flows.length <= MOST_FLOWS && scene.flows.every(isFlow);
    return isScene ? scene : null;
  } catch {
    return null;
  }
}

function row(count: number, spacing: number, y = 0): [number, number][] {
  return Array.from({ length: count }, (_, n) => [n * spacing, y]);
}

function grid(size: number, spacing: number): [number, number][] {
  return Array.from({ length: size }, (_, y) => row(size, spacing, y * spacing)).flat();
}

function flow(from: number, to: number, transport = "newreno", start = 0): SceneFlow {
  return { from, to, transport, start };
}

const PLAIN = { duration: 30, routing: "static", set: "" };

export const SCENES: Scene[] = [
  {
    ...PLAIN,
    name: "A chain that chokes",
    about: "Seven hops, one NewReno flow. Stations three hops apart do not sense each other, so that the frames of the first hops collide with those further on. Choose tcp-2, tcp-ap or tpa-2, and watch collisions and goodput.",
    stations: row(8, 200),
    flows: [flow(0, 7)],
  },
  {
    ...PLAIN,
    name: "Two flows cross",
    about: "Two flows of four hops share the station in the middle. Which one wins depends on who came first and on the transport.",
    stations: [...row(5, 200, 400), [400, 0], [400, 200], [400, 600], [400, 800]],
    flows: [flow(0, 4), flow(5, 8, "newreno", 5)],
  },
  {
    ...PLAIN,
    name: "Hidden terminals",
    about: "The two senders are 580 m apart and do not sense each other; station 1 hears both. Move station 2 to x = 530, and nearly all collisions end.",
    stations: [[0, 0], [230, 0], [580, 0], [780, 0]],
    flows: [flow(0, 1, "udp"), flow(2, 3, "udp")],
    set: "mac.rts_threshold=off\nmac.arp=oracle",
  },
  {
    ...PLAIN,
    name: "The flow in the middle starves",
    about: "Three pairs side by side. The middle pair senses both others, which do not sense each other: it waits while either one sends.",
    stations: [[0, 0], [200, 0], [0, 400], [200, 400], [0, 800], [200, 800]],
    flows: [flow(0, 1), flow(2, 3), flow(4, 5)],
  },
  {
    ...PLAIN,
    name: "One hop beside seven",
    about: "A flow of one hop ends where a flow of seven hops begins. The short one sees its ACKs sooner and takes the air.",
    stations: [...row(8, 200), [0, 150]],
    flows: [flow(0, 7), flow(8, 0)],
  },
  {
    ...PLAIN,
    name: "Two parallel chains",
    about: "Two chains 400 m apart: too far to decode each other's frames, near enough to wait for them. One of two NewReno flows starves; do others share?",
    stations: [...row(5, 200), ...row(5, 200, 400)],
    flows: [flow(0, 4), flow(5, 9)],
  },
  {
    ...PLAIN,
    name: "A datagram flood beside TCP",
    about: "UDP does not give way: it sends 400 kb/s along the same chain. How much is left for TCP, and for another transport in its place?",
    stations: row(5, 200),
    flows: [flow(0, 4), flow(4, 0, "udp", 10)],
  },
  {
    ...PLAIN,
    name: "Routes that break by themselves",
    about: "Under AODV a MAC that gives up on a packet in a crowd is taken for a broken link, and a route is searched for. Jump from route change to route change; with routing static there are none.",
    stations: grid(4, 200),
    routing: "aodv",
    flows: [flow(0, 15), flow(12, 3)],
  },
  {
    ...PLAIN,
    name: "A ring with two ways",
    about: "Ten stations in a circle. OLSR knows both ways; move a station out of the ring and the flow must take the other one.",
    stations: Array.from({ length: 10 }, (_, n) => [
      Math.round(320 + 320 * Math.cos((2 * Math.PI * n) / 10)),
      Math.round(320 + 320 * Math.sin((2 * Math.PI * n) / 10)),
    ]),
    routing: "olsr",
    flows: [flow(0, 4, "newreno", 10)],
  },
  {
    ...PLAIN,
    name: "A lossy chain",
    about: "Each frame is received in error with a chance of one in twenty. Compare newreno and tpa-2: goodput, collisions, and packets that the MAC gives up.",
    stations: row(5, 200),
    flows: [flow(0, 4)],
    set: "radio.frame_loss=0.05",
  },
];
