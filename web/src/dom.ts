// Elements of the page.

import { inkOn } from "./theme";

/** An element that the page's markup has. */
export function get<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

type Child = Node | string;

/** A new element with attributes and children. */
export function make(tag: string, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** A table of rows with a heading; the first cell of each row names it. */
export function table(heading: string[], rows: Child[][]): HTMLElement {
  const head = make("tr", {}, ...heading.map((text) => make("th", { scope: "col" }, text)));
  const body = rows.map(([first, ...rest]) =>
    make("tr", {}, make("th", { scope: "row" }, first ?? ""), ...rest.map((cell) => make("td", {}, cell))),
  );
  return make("div", { class: "table", tabindex: "0", role: "group", "aria-label": heading.join(", ") }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

/** A coloured mark before a name. */
export function swatch(colour: string, letter = ""): HTMLElement {
  const mark = make("span", { class: "swatch", "aria-hidden": "true" }, letter);
  mark.style.background = colour;
  mark.style.color = inkOn(colour);
  return mark;
}
