// The panels beside the drawings: flows at the cursor, the selection and its life, the run.

import { concerns, detail as read, frameName, outcome, overlapping, receptionAt, valueAt } from "./detail";
import type { Frame, Reception } from "./detail";
import { make, swatch, table } from "./dom";
import { length, seconds, trim } from "./format";
import type { Model } from "./model";
import type { Life, Result } from "./protocol";
import { BROADCAST, FRAMES, FRAME_KEYS, RTS } from "./records";
import { goodput } from "./series";
import { radioName } from "./stations";
import { colourOf, frameColour, LETTERS } from "./theme";

export class Panels {
  private readonly name: (node: number) => string;

  constructor(private readonly model: Model) {
    this.name = (node) => (node === BROADCAST ? "all" : (model.network.nodes[node]?.name ?? `host ${node}`));
  }

  /** The state of each flow at the cursor. */
  flows(): HTMLElement {
    const { network, overview, cursor, result } = this.model;
    const detail = this.model.detailAt(cursor);
    const bin = overview === null ? 0 : Math.min(overview.bins - 1, Math.floor(cursor / overview.width));
    const rows = network.flows.map((flow, id) => {
      const cell = id * (overview?.bins ?? 0) + bin;
      const exact = detail?.flows[id];
      const state = exact?.states.findLast(({ at }) => at <= cursor)?.state;
      const window = valueAt(exact?.windows ?? [], cursor) ?? lastKnown(overview?.windows, cell, bin);
      const trip = valueAt(exact?.trips ?? [], cursor) ?? lastKnown(overview?.trips, cell, bin);
      const known = lastKnown(overview?.states, cell, bin);
      const pick = make("button", { type: "button", class: "flow", "data-flow": String(id), "aria-pressed": String(this.model.flow === id) });
      pick.append(swatch(colourOf(this.model.lookOf(id))), `${id}: ${this.name(flow.from)} → ${this.name(flow.to)}`);
      return [
        pick,
        overview === null ? "…" : trim(valueAt(goodput(overview, id), cursor) ?? 0),
        result === null ? "…" : trim(result.flows[id]?.goodput_kbps ?? 0),
        state ?? overview?.names[known ?? -1] ?? "–",
        window === null || Number.isNaN(window) ? "–" : trim(window),
        trip === null || Number.isNaN(trip) ? "–" : trim(trip / 1000),
        flow.transport,
      ];
    });
    const flows = table(["Flow", "Goodput, kb/s", "Whole run, kb/s", "State", "Window", "RTT, ms", "Transport"], rows);
    return make("div", {}, flows, ...this.declared());
  }

  /** What else the transport of the selected flow declares, at the cursor. */
  private declared(): HTMLElement[] {
    const { cursor, flow } = this.model;
    const declared = flow === null ? undefined : this.model.detailAt(cursor)?.flows[flow]?.declared;
    const rows = [...(declared ?? [])].map(([name, { unit, steps }]): [string, string] => {
      const value = steps.findLast(({ at }) => at <= cursor)?.value ?? "–";
      const text = typeof value === "number" ? trim(value) : value;
      return [name.replaceAll("_", " "), unit === "" ? text : `${text} ${unit}`];
    });
    return rows.length === 0 ? [] : [make("h3", {}, `Transport of flow ${flow}`), pairs(rows)];
  }

  /** The selected frame, and the packet in it or searched for. */
  selection(): HTMLElement {
    const { selected, life, notice } = this.model;
    const parts: (HTMLElement | string)[] = [];
    if (notice !== "") {
      parts.push(make("p", { class: "notice" }, notice));
    }
    parts.push(...this.here());
    if (selected !== null) {
      parts.push(this.frame(selected));
    }
    if (life !== null) {
      parts.push(...this.life(life));
    }
    if (parts.length === 0) {
      parts.push(make("p", { class: "muted" }, "Click a frame in the time line, step with the arrow keys, jump to an event, or search for a packet."));
    }
    return make("div", {}, ...parts);
  }

  /** What happens at the very instant of the cursor, after a jump. */
  private here(): HTMLElement[] {
    const { cursor, overview } = this.model;
    const detail = this.model.detailAt(cursor);
    if (detail === null || overview === null) {
      return [];
    }
    const packet = (uid: number): HTMLElement => make("button", { type: "button", "data-packet": String(uid) }, `packet ${uid}`);
    const drops = detail.packets.filter(({ at, event, reason }) => at === cursor && event === "dropped" && reason !== "end");
    const lost = detail.collisions.filter(({ at }) => at === cursor);
    const flowsOf = (mark: "timeout" | "freeze"): number[] => {
      const { at, about } = overview.marks[mark];
      return [...about].filter((_, index) => at[index] === cursor);
    };
    const lines = [
      ...drops.map(({ uid, node, reason }) => make("li", {}, packet(uid), ` dropped at ${this.name(node)} (${reason})`)),
      ...lost.map(({ node, frame }) => {
        const what = `${frameName(frame)} of ${this.name(frame.node)} lost in a collision at ${this.name(node)}`;
        const to = concerns(frame, node) ? "" : `, which only overhears it`;
        const reception = receptionAt(frame, node);
        const cause = reception === undefined ? "" : this.cause(reception);
        return make("li", {}, what, to, cause === "" ? "" : `: ${cause}`, ...(frame.uid > 0 ? ["; ", packet(frame.uid)] : []));
      }),
      ...flowsOf("timeout").map((flow) => make("li", {}, `flow ${flow}: retransmission timeout`)),
      ...flowsOf("freeze").map((flow) => make("li", {}, `flow ${flow}: freeze`)),
    ];
    return lines.length === 0 ? [] : [make("h3", {}, `At ${seconds(cursor)} s`), make("ul", { class: "life" }, ...lines)];
  }

  private frame(frame: Frame): HTMLElement {
    const { detail } = this.model;
    const rows: [string, string][] = [
      ["sent", `${seconds(frame.at, 1)} s, lasts ${length(frame.end - frame.at)}`],
      ["from, to", `${this.name(frame.node)} → ${this.name(frame.to)}`],
      ...this.radio(frame),
      ["outcome", this.outcome(frame)],
      ["bytes, bit rate", `${frame.bytes} at ${this.rate(frame)}`],
      ...this.signal(frame),
      ["reserves (NAV)", frame.nav > 0 ? length(frame.nav) : "nothing"],
    ];
    if (frame.uid > 0) {
      rows.push(["sequence number", `${frame.sequence}${frame.retry ? ", retransmitted" : ""}`], ["packet", String(frame.uid)]);
    }
    const others = detail === null ? [] : overlapping(detail.frames, frame);
    if (others.length > 0) {
      const names = others.map((other) => `${frameName(other)} of ${this.name(other.node)}${this.over(other)}`);
      rows.push(["also on the air", names.join(", ")]);
    }
    const heading = make("h3", {}, swatch(frameColour(frame.kind), LETTERS[frame.kind]), ` ${frameName(frame)} frame`);
    return make("div", {}, heading, pairs(rows));
  }

  /** The radio of a frame, where nodes have several. */
  private radio(frame: Frame): [string, string][] {
    const { network } = this.model;
    return network.radios.length > 1 ? [["over", radioName(network, frame.radio)]] : [];
  }

  /** The number of the radio of a frame, where nodes have several. */
  private over({ radio }: { radio: number }): string {
    return this.model.network.radios.length > 1 ? ` (radio ${radio})` : "";
  }

  private rate(frame: Frame): string {
    const rate = this.model.network.radios[frame.radio]?.rates[frame.rate];
    if (rate === undefined) {
      return "an unknown rate";
    }
    const mbps = `${trim(rate.mbps)} Mb/s`;
    return rate.name.startsWith("MCS") ? `${mbps} (${rate.name})` : mbps;
  }

  /** How strong a frame was at its receiver, or at each station that hears a broadcast, and what disturbed it. */
  private signal(frame: Frame): [string, string][] {
    const at = frame.to === BROADCAST ? frame.receptions : frame.receptions.filter(({ node }) => node === frame.to);
    const several = at.length > 1;
    const shown = (of: (reception: Reception) => string | null): string =>
      at
        .map((reception) => [reception, of(reception)] as const)
        .filter(([, text]) => text !== null)
        .map(([{ node }, text]) => (several ? `${this.name(node)}: ${text}` : text))
        .join("; ");
    const rows: [string, string][] = [
      ["received power", shown(({ power }) => dbm(power))],
      ["SINR", shown(({ sinr }) => (Number.isNaN(sinr) ? null : `${tenths(sinr)} dB`))],
      ["strongest interference", shown((reception) => this.interference(reception))],
    ];
    return rows.filter(([, text]) => text !== "");
  }

  private interference({ node, interferer }: Reception): string | null {
    if (interferer === null) {
      return null;
    }
    const name = FRAMES[interferer.kind] ?? "frame";
    return interferer.node === node ? `its own ${name}` : `${name} of ${this.name(interferer.node)}${this.over(interferer)}, ${dbm(interferer.power)}`;
  }

  /** Why a station did not receive a frame. */
  private cause(reception: Reception): string {
    const { node, verdict, interferer } = reception;
    if (interferer?.node === node) {
      return `${this.name(node)} transmitted ${FRAMES[interferer.kind]} itself`;
    }
    const disturbed = this.interference(reception);
    switch (verdict) {
      case "deaf":
      case "missed":
        return `${this.name(node)} had just transmitted`;
      case "damaged":
        return "too weak for this bit rate, or damaged by the channel";
      case "ignored":
        return disturbed === null ? "too weak to be detected" : `the receiver was occupied by ${disturbed}`;
      default:
        return disturbed === null ? "" : `destroyed by ${disturbed}`;
    }
  }

  private outcome(frame: Frame): string {
    const what = outcome(frame);
    if (frame.to === BROADCAST) {
      const lost = frame.collided.length > 0 ? `, lost in a collision at ${frame.collided.map(this.name).join(", ")}` : "";
      return `received by ${frame.received.map(this.name).join(", ") || "nobody"}${lost}`;
    }
    const text = what === "collided" ? `lost in a collision at ${this.name(frame.to)}` : what;
    const reception = what === "received" ? undefined : receptionAt(frame, frame.to);
    const cause = reception === undefined ? "" : this.cause(reception);
    return cause === "" ? text : `${text}: ${cause}`;
  }

  /** Every event of a packet. */
  private life(life: Life): HTMLElement[] {
    const stretch = { from: 0, to: this.model.end, words: life.words, names: life.names, delays: new Float64Array() };
    const { frames, packets } = read(stretch, this.model.network);
    const events = [
      ...packets.map((packet) => ({
        at: packet.at,
        node: -1,
        radio: 0,
        text: `${packet.event} at ${this.name(packet.node)}${packet.reason === "" ? "" : ` (${packet.reason})`}${packet.event === "received" ? ` after ${hops(packet.hops)}` : ""}`,
        isLost: packet.event === "dropped",
      })),
      ...frames.map((frame) => ({
        at: frame.at,
        node: frame.node,
        radio: frame.radio,
        text: `${frame.retry && frame.kind !== RTS ? "retransmission" : frameName(frame)} ${this.name(frame.node)} → ${this.name(frame.to)}${this.over(frame)}: ${this.outcome(frame)}`,
        isLost: outcome(frame) !== "received",
      })),
    ];
    events.sort((a, b) => a.at - b.at);
    const list = make("ol", { class: "life" });
    for (const { at, node, radio, text, isLost } of events) {
      const go = make("button", { type: "button", "data-at": String(at), "data-node": String(node), "data-radio": String(radio) }, `${seconds(at, 1e3)} s`);
      list.append(make("li", isLost ? { class: "lost" } : {}, go, ` ${text}`));
    }
    const first = packets[0];
    const about = first === undefined ? "" : `: ${first.kind}, ${this.name(first.source)} → ${this.name(first.destination)}`;
    const parts = [make("h3", {}, `Packet ${life.uid}${about}`), list, pairs(life.fields)];
    if (life.until !== null) {
      parts.push(make("p", { class: "muted" }, `Neither delivered nor dropped until ${seconds(life.until, 1e6)} s.`));
    }
    return parts;
  }

  /** Counts on this page and in the result of the simulator itself. */
  run(native: Result | null): HTMLElement {
    const { overview, result } = this.model;
    if (overview === null) {
      return make("p", { class: "muted" }, "The run has not begun.");
    }
    const { counts } = overview;
    const rows: [string, number, number | undefined][] = FRAME_KEYS.map((key, kind) => [
      `${key} frames`,
      counts.frames[kind] as number,
      result?.mac.frames[key],
    ]);
    rows.push(["collisions", counts.collisions, result?.mac.collisions]);
    const reasons = new Set([...Object.keys(counts.drops), ...Object.keys(result?.drops ?? {})]);
    for (const reason of [...reasons].sort()) {
      rows.push([`drops: ${reason}`, counts.drops[reason] ?? 0, result?.drops[reason] ?? (result === null ? undefined : 0)]);
    }
    const agree = result !== null && rows.every(([, page, counted]) => page === counted);
    const same = native === null ? "" : same_result(native, result);
    const verdict = result === null ? "The run is still being simulated." : `${agree ? "The page shows what the result counts." : "The page and the result differ."} ${same}`;
    return make(
      "div",
      {},
      make("p", { class: "verdict" }, verdict),
      table(["After the warm-up", "This page", "Result"], rows.map(([name, page, counted]) => [name, String(page), counted === undefined ? "…" : String(counted)])),
    );
  }
}

function same_result(native: Result, result: Result | null): string {
  if (result === null) {
    return "";
  }
  return sorted(native) === sorted(result)
    ? "The run in this page has the same result as multihop run."
    : "Warning: the run in this page has another result than multihop run.";
}

/** JSON with sorted keys. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

function pairs(rows: [string, string][]): HTMLElement {
  return make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function dbm(power: number): string {
  return `${tenths(power)} dBm`;
}

function tenths(value: number): string {
  return value.toFixed(1).replace("-", "−");
}

function hops(count: number): string {
  return count === 1 ? "1 hop" : `${count} hops`;
}

/** The last value in a row of the overview up to a cell. */
function lastKnown(values: Float32Array | Int16Array | undefined, cell: number, bin: number): number | null {
  for (let back = 0; values !== undefined && back <= bin; back += 1) {
    const value = values[cell - back] as number;
    if (!Number.isNaN(value) && value !== -1) {
      return value;
    }
  }
  return null;
}
