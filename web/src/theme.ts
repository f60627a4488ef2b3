// Colours of the canvases, by the reader's setting. Frames differ in letter and flows in dashes as well.

import palette from "../../python/multihop/palette.json";
import type { Look } from "./looks";

export interface Theme {
  text: string;
  muted: string;
  line: string;
  faint: string;
  surface: string;
  lost: string;
  trail: string;
}

/** Lines behind what is drawn, light and dark. */
const FAINT = ["#e9edf2", "#232b36"];
/** The colours of frames: RTS, CTS, ACK, data, broadcast. */
const FRAMES = ["orange", "sky", "green", "blue", "purple"];
/** The colour of the trails of moving stations. */
const TRAIL = "purple";
const DASHES: Record<string, number[]> = {
  "-": [],
  "--": [6, 3],
  "-.": [9, 3, 2, 3],
  ":": [2, 3],
  "- -": [14, 5],
  "-..": [9, 3, 2, 3, 2, 3],
};

/** Letters in the boxes of frames. */
export const LETTERS = ["R", "C", "A", "D", "B"];

const dark = matchMedia("(prefers-color-scheme: dark)");
const THEMES = [0, 1].map(themed) as [Theme, Theme];

export function theme(): Theme {
  return dark.matches ? THEMES[1] : THEMES[0];
}

export function onThemeChange(act: () => void, signal: AbortSignal): void {
  dark.addEventListener("change", act, { signal });
}

/** The colour of a line. */
export function colourOf({ colour }: Look): string {
  return named(colour);
}

/** The dashes of a line. */
export function dashesOf({ line }: Look): number[] {
  return DASHES[line] ?? [];
}

export function frameColour(kind: number): string {
  return named(FRAMES[kind] ?? "black");
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

function themed(shade: number): Theme {
  const of = (pair: string[]): string => pair[shade] as string;
  const { text, quiet, line, surface, lost } = palette.page;
  return { text: of(text), muted: of(quiet), line: of(line), faint: of(FAINT), surface: of(surface), lost: of(lost), trail: of(palette.colours[TRAIL]) };
}

/** The light or dark variant of a colour. */
function named(colour: string): string {
  const colours: Record<string, string[]> = palette.colours;
  return colours[colour]?.[dark.matches ? 1 : 0] ?? theme().text;
}
