// A canvas as sharp as the screen.

export interface Surface {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
}

export const FONT = "11px system-ui, sans-serif";

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
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.lineWidth = 1;
  context.setLineDash([]);
  return { context, width, height };
}
