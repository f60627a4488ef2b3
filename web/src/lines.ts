// Keys of a scenario as lines of text.

/** Lines of `key=value`; a line without `=` is left to the simulator to refuse. */
export function overrides(lines: string): [string, string][] {
  const filled = lines.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return filled.map((line) => {
    const [key, ...value] = line.split("=");
    return [(key as string).trim(), value.join("=").trim()];
  });
}
