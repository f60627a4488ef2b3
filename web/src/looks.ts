// How lines look: each transport as on all other pages, and what has no transport by its number.

import palette from "../../python/multihop/palette.json";

/** The names of a colour and of a line in the palette. */
export interface Look {
  colour: string;
  line: string;
}

/** Dashes; the first four are those of the figures, too. */
const LINES = ["-", "--", "-.", ":", "- -", "-.."];

/**
 * The looks of the flows of all runs on a page. If their transports differ, the colour is that of the transport. Otherwise
 * the colour is that of the flow's number. Lines differ as long as there are enough, so that flows differ without colour.
 */
export function looks(runs: string[][]): Look[][] {
  if (new Set(runs.flat()).size > 1) {
    return byTransport(runs);
  }
  // Runs side by side: the nth flows of all have one colour.
  const line = (run: number, flow: number): string => nth(LINES, runs.length > 1 ? flow * runs.length + run : flow);
  return runs.map((flows, run) => flows.map((_, flow) => ({ ...numbered(flow), line: line(run, flow) })));
}

/** The look of the nth of lines of one kind. */
export function numbered(n: number): Look {
  const [colour, , line] = nth(palette.others, n) as [string, string, string];
  const turn = Math.floor(n / palette.others.length);
  return { colour, line: nth(LINES, LINES.indexOf(line) + turn) };
}

function byTransport(runs: string[][]): Look[][] {
  const taken: string[] = [];
  const uses = (line: string): number => taken.filter((other) => other === line).length;
  const look = (transport: string): Look => {
    const [colour, , own] = styleOf(transport);
    const line = [own, ...LINES].reduce((best, other) => (uses(other) < uses(best) ? other : best));
    taken.push(line);
    return { colour, line };
  };
  return runs.map((flows) => flows.map(look));
}

/** The style of a transport; what is added to its name need not have its own. */
function styleOf(transport: string): [string, string, string] {
  const styles: Record<string, string[]> = palette.transports;
  const name = transport.replace("tpa-star", "tpa*");
  return (styles[name] ?? styles[name.split("+")[0] as string] ?? palette.unknown) as [string, string, string];
}

function nth<T>(all: T[], n: number): T {
  return all[n % all.length] as T;
}
