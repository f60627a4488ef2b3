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

/** A table of rows with a heading; the first cell of each row names it. Narrow windows show each row as a list. */
export function table(heading: string[], rows: Child[][]): HTMLElement {
  const head = make("tr", {}, ...heading.map((text) => make("th", { scope: "col" }, text)));
  const body = rows.map(([first, ...rest]) =>
    make("tr", {}, make("th", { scope: "row" }, first ?? ""), ...rest.map((cell, column) => make("td", { "data-head": heading[column + 1] ?? "" }, cell))),
  );
  return make("div", { class: "table", tabindex: "0", role: "group", "aria-label": heading.join(", ") }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

/** A piece of a line, as charts draw it. */
export function lineKey(colour: string, dashes: number[]): SVGElement {
  const key = document.createElementNS(SVG, "svg");
  const line = document.createElementNS(SVG, "line");
  const set = (element: SVGElement, attributes: Record<string, string>): void =>
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  set(key, { class: "line", viewBox: "0 0 24 4", "aria-hidden": "true" });
  set(line, { x2: "24", y1: "2", y2: "2", stroke: colour, "stroke-width": "2.5", "stroke-dasharray": dashes.join(" ") });
  key.append(line);
  return key;
}

const SVG = "http://www.w3.org/2000/svg";

/** A coloured mark before a name. */
export function swatch(colour: string, letter = ""): HTMLElement {
  const mark = make("span", { class: "swatch", "aria-hidden": "true" }, letter);
  mark.style.background = colour;
  mark.style.color = inkOn(colour);
  return mark;
}
