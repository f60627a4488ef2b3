// The page of `multihop route status --page`: asks for the state every second, and shows it.

import { get, make, table } from "./dom";
import { WEAK, mesh } from "./mesh";
import { type Delay, type Interface, type Neighbour, type Route, type Status, changes, hostOf, named } from "./status";

/** Beside the page on its server. */
const STATUS = "status";
const EVERY = 1000;
/** Of a server that does not answer. */
const PATIENCE = 5000;
const MOST_CHANGES = 100;

let last: Status | null = null;
let answered = Date.now();

async function look(): Promise<void> {
  if (!document.hidden) {
    try {
      const answer = await fetch(STATUS, { signal: AbortSignal.timeout(PATIENCE) });
      if (!answer.ok) {
        throw new Error(await answer.text());
      }
      show((await answer.json()) as Status);
    } catch (problem) {
      missing(problem);
    }
  }
  setTimeout(() => void look(), EVERY);
}

function missing(problem: unknown): void {
  const reason = problem instanceof Error && problem.name === "Error" ? problem.message : "the page's server does not answer";
  say(`${reason}, for ${ago((Date.now() - answered) / 1000)}`, "notice");
}

function show(status: Status): void {
  answered = Date.now();
  const time = new Date().toLocaleTimeString([], { hour12: false });
  say("now", "");
  const own = status.main_address ?? "no interface yet";
  document.title = `${own}: multihop route`;
  get("title").textContent = own;
  get("subtitle").textContent = `${status.protocol.toUpperCase()} for ${ago(status.seconds)}, ${count(Object.keys(status.routes).length, "route")}`;
  if (last !== null) {
    note(time, changes(last, status));
  }
  last = status;
  get("content").hidden = false;
  put("mesh", mesh(status));
  put("neighbours", neighbours(status.neighbours));
  put("routes", routes(status.routes));
  const rows = status.interfaces.map((one) => [lines(one.name, load(one)), one.address ?? "down or missing"]);
  put("interfaces", table(["Name", "Address"], rows));
  put("counters", counters(status));
}

function say(text: string, kind: string): void {
  const place = get("state");
  // A text that stays must not be read out every second.
  if (place.textContent !== text) {
    place.textContent = text;
    place.className = kind;
  }
}

/** The newest changes come first. */
function note(time: string, found: string[]): void {
  const list = get("changes");
  list.prepend(...found.reverse().map((text) => make("li", {}, make("time", {}, time), text)));
  [...list.children].slice(MOST_CHANGES).forEach((old) => old.remove());
}

function neighbours(list: Neighbour[]): HTMLElement {
  if (list.length === 0) {
    return make("p", { class: "muted" }, "Nobody was heard in the last minute.");
  }
  const hasDelay = list.some(({ delay }) => delay !== null);
  const rows = list.map((one) => {
    const cells = [lines(one.address, one.interface), lines(...link(one)), meter(one.received), `${one.heard_ago.toFixed(1)} s`];
    return hasDelay ? [...cells, one.delay === null ? "" : lines(...parts(one.delay))] : cells;
  });
  return table(["Address", "Link", "Received", "Heard before", ...(hasDelay ? ["Delay"] : [])], rows);
}

/** The delay of a link, and what it consists of. */
function parts(delay: Delay): [string, string] {
  const known = Object.entries(delay).flatMap(([part, seconds]) => (seconds === null ? [] : [[part, 1000 * seconds] as const]));
  const sum = known.reduce((total, [, millis]) => total + millis, 0);
  return known.length === 0 ? ["not known", ""] : [`${sum.toFixed(1)} ms`, known.map(([part, millis]) => `${part} ${millis.toFixed(1)}`).join(", ")];
}

/** The queue and the channel of an interface. */
function load({ queue, channel_busy }: Interface): string {
  const waits = queue === null ? [] : [`${queue.kind} with ${queue.bytes} bytes`];
  return [...waits, ...(channel_busy === null ? [] : [`channel busy for ${(100 * channel_busy).toFixed(0)}%`])].join(", ");
}

function link({ symmetric, relay, selector, address, main_address }: Neighbour): [string, string] {
  const roles = [relay ? "forwards for this host" : "", selector ? "this host forwards for it" : "", main_address === address ? "" : `is ${main_address}`];
  return [symmetric ? "both ways" : "one way", roles.filter((role) => role !== "").join(", ")];
}

function routes(found: Record<string, Route>): HTMLElement {
  const list = Object.entries(found).sort(([a, one], [b, other]) => rank(a) - rank(b) || (one.hops ?? 0) - (other.hops ?? 0));
  if (list.length === 0) {
    return make("p", { class: "muted" }, "None.");
  }
  const hasCost = list.some(([, { cost }]) => cost !== null);
  const rows = list.map(([to, { via, hops, cost, interface: name }]) => {
    const cells = [lines(named(to), hostOf(to) === null ? "network behind a gateway" : ""), lines(via ?? "direct", name), hops === null ? "" : String(hops)];
    return hasCost ? [...cells, cost === null ? "" : String(cost)] : cells;
  });
  return table(["To", "Through", "Hops", ...(hasCost ? ["Cost"] : [])], rows);
}

/** Hosts come before networks. */
function rank(destination: string): number {
  return hostOf(destination) === null ? 1 : 0;
}

function counters(status: Status): HTMLElement {
  const own = ["installed", "route_changes", "oscillations", "refused"].map((name) => [name, status[name]] as const);
  const all = [...own, ...Object.entries(status.messages), ...Object.entries(status.datagrams)];
  const shown = all.flatMap(([name, value]) => [make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, String(value))]);
  return make("dl", {}, ...shown);
}

function meter(share: number | null): HTMLElement {
  if (share === null) {
    return make("span", { class: "muted" }, "not known");
  }
  const bar = make("i");
  bar.style.width = `${(100 * share).toFixed(0)}%`;
  return make("span", {}, make("span", { class: share < WEAK ? "meter weak" : "meter", "aria-hidden": "true" }, bar), `${(100 * share).toFixed(0)}%`);
}

function lines(first: string, second: string): HTMLElement {
  return make("span", {}, first, ...(second === "" ? [] : [make("span", { class: "muted" }, second)]));
}

function put(id: string, content: Node): void {
  const place = get(id);
  // Who scrolls or selects must not be disturbed by what has not changed.
  const [before] = place.children;
  if (before === undefined || !before.isEqualNode(content)) {
    const scrolled = before?.scrollLeft ?? 0;
    place.replaceChildren(content);
    (place.firstElementChild as Element).scrollLeft = scrolled;
  }
}

function ago(seconds: number): string {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours > 0 ? `${hours} h ${minutes} min` : minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

void look();
