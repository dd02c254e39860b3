// Numbers and scales of the report page. Numbers read as units.rs writes them. Every axis is
// drawn as a linear axis of coordinates (log10, or -log10(1 - p) for tails), so that the ticks
// are ours: tidy at any zoom, and powers of two for bytes.
"use strict";

const K = 1024;
const prefixes = {
  ns: [[1, " ns"], [1e3, " µs"], [1e6, " ms"], [1e9, " s"]],
  bytes: [[1, " B"], [K, " KiB"], [K ** 2, " MiB"], [K ** 3, " GiB"], [K ** 4, " TiB"]],
  bytes_per_second:
    [[1, " B/s"], [K, " KiB/s"], [K ** 2, " MiB/s"], [K ** 3, " GiB/s"], [K ** 4, " TiB/s"]],
  per_second: [[1, " /s"], [1e3, " k/s"], [1e6, " M/s"], [1e9, " G/s"]],
  ratio: [[1, "×"]],
  share: [[0.01, " %"]],
  count: [[1, ""]],
  number: [[1, ""]],
};

const prefixOf = (unit, v) =>
  prefixes[unit].find(([scale]) => Math.abs(v) / scale < 999.5) ?? prefixes[unit].at(-1);

const decimals = (v, digits) => {
  if (v === 0) return 0;
  const magnitude = Math.floor(Math.log10(Math.abs(Number(v.toPrecision(digits)))));
  return Math.min(9, Math.max(0, digits - 1 - magnitude));
};

const grouped = (v, places) => {
  const fixed = { minimumFractionDigits: places, maximumFractionDigits: places };
  return v.toLocaleString("en", fixed).replace("-", "−");
};

// A value in words: 4120 ns is "4.12 µs".
const format = (unit, v) => {
  if (v == null || !isFinite(v)) return "–";
  if (unit === "share") return `${Number((v * 100).toFixed(6))} %`;
  if (unit === "ratio" && Math.abs(v) >= 9.995) return `${grouped(v, 0)}×`;
  if (unit === "bytes" && Number.isInteger(v) && v < 10000 && v % K) return `${grouped(v, 0)} B`;
  const [scale, suffix] = prefixOf(unit, v);
  const exact = (unit === "bytes" || unit === "count") && Number.isInteger(v / scale);
  return grouped(v / scale, exact ? 0 : decimals(v / scale, 3)) + suffix;
};

// A tick says no more digits than it needs: "1 µs", not "1.00 µs".
const tickText = (unit, v) =>
  format(unit, Number(v.toPrecision(9))).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

// A value with its interval, the unit said once: "4.12 µs [4.10, 4.15]".
const describe = (unit, { y, low, high }) => {
  if (y == null || low == null || high == null) return format(unit, y);
  const [scale, suffix] = prefixOf(unit, y);
  const write = (v, digits) =>
    grouped(v / scale, Math.min(decimals(y / scale, digits), decimals(v / scale, digits)));
  const differs = (n) => write(low, n) !== write(high, n);
  const digits = low === high ? 3 : [3, 4].find(differs) ?? 5;
  return `${write(y, digits)}${suffix} [${write(low, digits)}, ${write(high, digits)}]`;
};

// Steps of 1, 2 and 5; of bytes within their binary prefix.
const evenTicks = (low, high, most, unit = "number") => {
  const raw = (high - low) / most;
  const binary = unit.startsWith("bytes") ? K ** Math.floor(Math.log(Math.max(raw, 1)) / Math.log(K)) : 1;
  const power = binary * 10 ** Math.floor(Math.log10(raw / binary));
  const round = power * ([1, 2, 5].find((n) => n * power >= raw) ?? 10);
  const step = unit.startsWith("bytes") && round >= 1000 * binary ? K * binary : round;
  const first = Math.ceil(low / step - 1e-9);
  const many = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, many) }, (_, n) => (first + n) * step);
};

const logTicks = (low, high, most, unit) => {
  const powers = (base, every, steps = [1]) => {
    const size = Math.log10(base) * every;
    const from = Math.floor(low / size);
    const many = Math.min(400, Math.ceil(high / size) - from + 1);
    return Array.from({ length: many }, (_, n) => (from + n) * size)
      .flatMap((power) => steps.map((step) => power + Math.log10(step)))
      .filter((c) => c >= low - 1e-9 && c <= high + 1e-9);
  };
  const fine = evenTicks(10 ** low, 10 ** high, most, unit).filter((v) => v > 0).map(Math.log10);
  const coarse = unit.startsWith("bytes")
    ? [1, 2, 5, 10, 20].map((every) => powers(2, every))
    : [powers(10, 1, [1, 2, 5]), powers(10, 1, [1, 3]), ...[1, 2, 3].map((n) => powers(10, n))];
  const choices = high - low < 0.7 ? [fine, ...coarse] : coarse;
  return choices.find((ticks) => ticks.length <= most && ticks.length > 1) ?? fine;
};

const tailTicks = (low, high, most) => {
  const to = (p) => -Math.log10(1 - p);
  if (high - low < 0.9) {
    return evenTicks(1 - 10 ** -low, 1 - 10 ** -high, most).filter((p) => p < 1).map(to);
  }
  const named = [0, to(0.5), 1, 2, 3, 4, 5, 6, 7, 8];
  return named.filter((c) => c >= low && c <= high && c !== 0);
};

const scales = {
  linear: { to: (v) => v, from: (c) => c, ticks: evenTicks },
  log: { to: (v) => (v > 0 ? Math.log10(v) : null), from: (c) => 10 ** c, ticks: logTicks },
  tail: {
    to: (p) => (p < 1 ? -Math.log10(1 - p) : null),
    from: (c) => 1 - 10 ** -c,
    ticks: tailTicks,
  },
};

// The coordinate of a value on an axis; null is a gap.
const place = (axis, v) => {
  if (v == null || axis.scale === "category") return v;
  return scales[axis.scale].to(v);
};

const wordsOn = (axis, v) =>
  axis.scale === "category" ? axis.categories[Math.round(v)] ?? "" : format(axis.unit, v);
