// Formats figures for people: three significant digits, as on the command line.

type Units = [number, string][];

function inUnits(value: number, units: Units): string {
  const [size, name] =
    units.find(([size]) => Math.abs(value) >= 0.9995 * size) ??
    units[units.length - 1];
  const scaled = value / size;
  const magnitude = Math.abs(scaled);
  const decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  return `${scaled.toFixed(decimals)} ${name}`;
}

export function seconds(value: number): string {
  return inUnits(value, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]);
}

// Returns "23.2 – 61.1 s".
export function secondsRange(low: number, high: number): string {
  const [from, to] = [seconds(low), seconds(high)];
  const unit = (text: string) => text.slice(text.indexOf(" "));
  return `${unit(from) === unit(to) ? from.slice(0, from.indexOf(" ")) : from} – ${to}`;
}

export function bytes(value: number): string {
  return inUnits(value, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]);
}

export function bandwidth(bytesPerS: number): string {
  return inUnits(bytesPerS, [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"]]);
}

export function count(value: number): string {
  return inUnits(value, [
    [1e12, "trillion"],
    [1e9, "billion"],
    [1e6, "million"],
    [1e3, "thousand"],
  ]);
}

export function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}

export function thousands(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

export function items(value: number, noun: string): string {
  return `${thousands(value)} ${noun}${value === 1 ? "" : "s"}`;
}

// Keeps percent signs on the line of their numbers.
export function unbroken(sentence: string): string {
  return sentence.replace(/(\d) %/g, "$1\u00a0%");
}

// Returns "1", or "1 over 8" if shards are replicated.
export function zero(p: { zero: number; zero_degree: number }): string {
  return p.zero_degree > 0 ? `${p.zero} over ${p.zero_degree}` : `${p.zero}`;
}

// Returns "0–3, 5".
export function ranges(numbers: number[]): string {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i + 1;
    while (end < sorted.length && sorted[end] === sorted[end - 1] + 1) ++end;
    const last = sorted[end - 1];
    parts.push(last === sorted[i] ? `${last}` : `${sorted[i]}–${last}`);
    i = end;
  }
  return parts.join(", ");
}
