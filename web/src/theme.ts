// Colours of the canvases, by the reader's setting. Frames differ in letter and flows in dashes as well.

export interface Theme {
  text: string;
  muted: string;
  line: string;
  faint: string;
  surface: string;
  lost: string;
  frames: string[];
  flows: string[];
}

const LIGHT: Theme = {
  text: "#1b2430",
  muted: "#55606e",
  line: "#c9d0d9",
  faint: "#e9edf2",
  surface: "#ffffff",
  lost: "#b3261e",
  frames: ["#e08e0b", "#4aa8dd", "#12966f", "#1f5fa8", "#b65c96"],
  flows: ["#1f5fa8", "#c25500", "#12805f", "#8b3f8f", "#8a6d00", "#2a8cc4"],
};

const DARK: Theme = {
  text: "#e6eaf0",
  muted: "#a5b0be",
  line: "#3a4452",
  faint: "#232b36",
  surface: "#151b23",
  lost: "#ff6f61",
  frames: ["#f2b04b", "#7cc8f2", "#45c79d", "#6ea6ec", "#dd94c3"],
  flows: ["#6ea6ec", "#ff9d57", "#45c79d", "#d698da", "#dcc04a", "#7cc8f2"],
};

const DASHES: number[][] = [[], [6, 3], [2, 3], [9, 3, 2, 3]];

/** Letters in the boxes of frames. */
export const LETTERS = ["R", "C", "A", "D", "B"];

const dark = matchMedia("(prefers-color-scheme: dark)");

let current = dark.matches ? DARK : LIGHT;
dark.addEventListener("change", () => {
  current = dark.matches ? DARK : LIGHT;
});

export function theme(): Theme {
  return current;
}

export function onThemeChange(act: () => void, signal: AbortSignal): void {
  dark.addEventListener("change", act, { signal });
}

export function flowColour(flow: number): string {
  const { flows } = theme();
  return flows[flow % flows.length] as string;
}

export function flowDash(flow: number): number[] {
  return DASHES[Math.floor(flow / 6 + (flow % 6)) % DASHES.length] as number[];
}

/** The colour of text on a colour: dark, or white on dark colours (relative luminance of WCAG 2, without its gamma). */
export function inkOn(colour: string): string {
  const known = inks.get(colour) ?? ink(colour);
  inks.set(colour, known);
  return known;
}

const inks = new Map<string, string>();

function ink(colour: string): string {
  const part = (at: number): number => (Number.parseInt(colour.slice(at, at + 2), 16) / 255) ** 2;
  const luminance = 0.21 * part(1) + 0.72 * part(3) + 0.07 * part(5);
  return luminance < 0.18 ? "#ffffff" : "#10151c";
}

export function frameColour(kind: number): string {
  return theme().frames[kind] ?? theme().text;
}
