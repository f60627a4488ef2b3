// The axis of time, which the time line and the series share.

import type { Surface } from "./canvas";
import { niceStep, seconds } from "./format";
import type { Model } from "./model";
import { theme } from "./theme";

/** Room for the names at the left, px. */
export const GUTTER = 58;
export const AXIS = 18;

/** Where an instant is, px. */
export function xOf(model: Model, width: number, at: number): number {
  return GUTTER + ((at - model.from) / (model.to - model.from)) * (width - GUTTER);
}

/** Which instant is at a place, ns. */
export function timeAt(model: Model, width: number, x: number): number {
  return model.from + ((x - GUTTER) / (width - GUTTER)) * (model.to - model.from);
}

/** Draws the ticks along the top, and their lines. */
export function drawAxis({ context, width, height }: Surface, model: Model): void {
  const colours = theme();
  const span = model.to - model.from;
  const room = Math.max(2, (width - GUTTER) / 105);
  const step = niceStep(span / room);
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (let n = Math.ceil(model.from / step); n * step <= model.to; n += 1) {
    const x = xOf(model, width, n * step);
    context.fillStyle = colours.faint;
    context.fillRect(x, AXIS, 1, height - AXIS);
    const label = `${seconds(n * step, step)} s`;
    if (x > GUTTER + 20 && x < width - 24) {
      context.fillStyle = colours.muted;
      context.fillText(label, x, AXIS / 2);
    }
  }
}

/** Moves the cursor, an element over the canvas: the drawing stays. */
export function placeCursor(canvas: HTMLCanvasElement, model: Model): void {
  const cursor = canvas.parentElement?.querySelector<HTMLElement>(".cursor");
  const x = xOf(model, canvas.clientWidth, model.cursor);
  const isOutside = x < GUTTER || x > canvas.clientWidth;
  if (cursor !== null && cursor !== undefined) {
    cursor.hidden = isOutside;
    cursor.style.transform = `translateX(${x}px)`;
  }
}
