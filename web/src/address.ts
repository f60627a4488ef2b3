// The address of the page: which instant it shows, and which scenario if that was changed.

import { seconds } from "./format";
import type { Model } from "./model";

/** The parts of the address that say what is simulated. */
const KEPT = ["scenario", "set", "scene"];

export function address(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}

/** Makes a new address; the page of a notebook has none. */
function setAddress(parts: string[]): void {
  const hash = `#${parts.join("&")}`;
  if (location.protocol !== "about:" && hash !== location.hash) {
    history.replaceState(null, "", hash);
  }
}

/** Changes what the address says of the scenario, and forgets the instant. */
export function keepScenario(parts: Record<string, string>): void {
  setAddress(Object.entries(parts).map(([key, value]) => `${key}=${value}`));
}

/** The view from the address: time, length of the view, flow, packet. */
export function readView(model: Model): void {
  const { view } = model;
  const parts = address();
  const number = (key: string): number | null => {
    const value = Number.parseFloat(parts.get(key) ?? "");
    return Number.isFinite(value) && value >= 0 ? value : null;
  };
  const [time, span, flow, uid] = [number("t"), number("w"), number("flow"), number("packet")];
  if (flow !== null && flow < model.network.flows.length) {
    view.flow = flow;
  }
  if (time !== null && seconds(time * 1e9, 1) !== seconds(view.cursor, 1)) {
    view.cursor = Math.min(time * 1e9, view.end);
    const wide = span === null ? 0.05e9 : span * 1e9;
    view.show(view.cursor - wide / 2, view.cursor + wide / 2);
  }
  if (uid !== null && model.life?.uid !== uid) {
    model.find(uid);
  }
}

let written = "";

/** Puts the view into the address, unless it is that of a fresh page. */
export function writeView(model: Model): void {
  const { view, life } = model;
  const isFresh = view.cursor === 0 && view.from === 0 && view.to === view.end && life === null;
  if (view.playing || isFresh) {
    return;
  }
  const parts = [`t=${seconds(view.cursor, 1)}`, `w=${seconds(view.to - view.from, 1)}`];
  if (view.flow !== null) {
    parts.push(`flow=${view.flow}`);
  }
  if (life !== null) {
    parts.push(`packet=${life.uid}`);
  }
  const text = parts.join("&");
  if (text !== written) {
    written = text;
    const kept = [...address()].filter(([key]) => KEPT.includes(key)).map(([key, value]) => `${key}=${value}`);
    setAddress([...kept, ...parts]);
  }
}
