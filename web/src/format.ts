// Numbers and times as text.

/** Seconds with as many decimals as a step of `step` ns needs. */
export function seconds(nanos: number, step = 1e3): string {
  const decimals = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(Math.max(1, step)) - 1e-9)));
  return (nanos / 1e9).toFixed(decimals);
}

/** A length of time with a unit that suits it. */
export function length(nanos: number): string {
  const [unit, scale] = ([["s", 1e9], ["ms", 1e6], ["µs", 1e3]] as const).find(([, size]) => nanos >= size) ?? ["ns", 1];
  return `${trim(nanos / scale)} ${unit}`;
}

/** At most four significant digits. */
export function trim(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** A step of 1, 2 or 5 times a power of ten that is at least `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= least * 0.9999) ?? 10;
  return factor * power;
}
