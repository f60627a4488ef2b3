// What multihop compare has found, above the drawings of its runs.

import type { App } from "./app";
import type { Comparison } from "./data";
import { get, make, table } from "./dom";
import { seconds } from "./format";
import { address } from "./address";

/** The view around the first difference, ns. */
const AROUND = 40e6;

/** Shows a comparison, if there is one, and goes to the first difference unless the address says where to go. */
export function showComparison(comparison: Comparison | undefined, app: App): void {
  if (comparison === undefined) {
    return;
  }
  get("comparison-section").hidden = false;
  const { heading, rows, first, notes } = comparison;
  const parts: HTMLElement[] = [table(heading, rows), ...notes.map((note) => make("p", { class: "muted" }, note))];
  if (first !== null) {
    const at = first.at * 1e9;
    const go = make("button", { type: "button", id: "first-difference" }, `Go to ${seconds(at)} s`);
    go.addEventListener("click", () => app.visit(at));
    const events = first.events.map((event, index) => make("li", {}, make("strong", {}, `${app.panes[index]?.name}: `), event));
    parts.push(make("h3", {}, "Where the runs first differ"), make("ul", {}, ...events), make("p", {}, go));
    if (!address().has("t")) {
      app.view.cursor = at;
      app.change((view) => view.show(at - AROUND / 2, at + AROUND / 2));
    }
  } else {
    parts.push(make("p", {}, "No packet of the first two runs differs."));
  }
  get("comparison").replaceChildren(...parts);
}
