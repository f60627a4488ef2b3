// A canvas as sharp as the screen.

import { theme } from "./theme";

export interface Surface {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
}

export const FONT = "11px system-ui, sans-serif";

/** What something was made from, so that it is made again only when a part has changed. */
export class Made {
  private from: unknown[] = [];

  isStale(from: unknown[]): boolean {
    const isStale = from.length !== this.from.length || from.some((part, index) => part !== this.from[index]);
    this.from = from;
    return isStale;
  }

  /** The same for a drawing, which depends on the size of its canvas as well. */
  isStaleIn(canvas: HTMLCanvasElement, from: unknown[]): boolean {
    return this.isStale([...from, theme(), canvas.clientWidth, canvas.clientHeight, devicePixelRatio]);
  }
}

/** Clears a canvas and returns it with its size in CSS pixels. */
export function begin(canvas: HTMLCanvasElement): Surface {
  const ratio = Math.min(3, devicePixelRatio);
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  prepare(context, ratio);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** Sets what every drawing begins with. */
export function prepare(context: CanvasRenderingContext2D, ratio: number): void {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = FONT;
  context.lineWidth = 1;
  context.setLineDash([]);
  context.textBaseline = "middle";
}
