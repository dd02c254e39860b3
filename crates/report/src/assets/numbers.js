// Numbers in words, as units.rs writes them, and round values between two, as svg/ticks.rs has them.
"use strict";

const K = 1024;
const binary = (per) =>
  ["B", "KiB", "MiB", "GiB", "TiB"].map((name, n) => [K ** n, ` ${name}${per}`]);
const prefixes = {
  ns: [[1, " ns"], [1e3, " µs"], [1e6, " ms"], [1e9, " s"]],
  bytes: binary(""),
  bytes_per_second: binary("/s"),
  per_second: [[1, " /s"], [1e3, " k/s"], [1e6, " M/s"], [1e9, " G/s"]],
  joules: [[1e-9, " nJ"], [1e-6, " µJ"], [1e-3, " mJ"], [1, " J"]],
  ratio: [[1, "×"]],
  share: [[0.01, " %"]],
};

const prefixOf = (unit, v) => {
  const all = prefixes[unit] ?? [[1, ""]];
  return all.find(([scale]) => Math.abs(v) / scale < 999.5) ?? all.at(-1);
};

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
  if (v == null) return "–";
  if (unit === "share") return `${Number((v * 100).toFixed(6))} %`;
  if (unit === "ratio" && Math.abs(v) >= 9.995) return `${grouped(v, 0)}×`;
  if (unit === "bytes" && Number.isInteger(v) && v < 10000 && v % K) return `${grouped(v, 0)} B`;
  const [scale, suffix] = prefixOf(unit, v);
  const exact = ["bytes", "count"].includes(unit) && Number.isInteger(v / scale);
  return grouped(v / scale, exact ? 0 : decimals(v / scale, 3)) + suffix;
};

// A tick says no more digits than it needs: "1 µs", not "1.00 µs".
const tickWords = (unit, v) =>
  format(unit, Number(v.toPrecision(9))).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

// A value with its interval, the unit said once: "4.12 µs [4.10, 4.15]".
const interval = (unit, y, low, high) => {
  if (y == null || low == null || high == null) return format(unit, y);
  const [scale, suffix] = prefixOf(unit, y);
  const write = (v, digits) =>
    grouped(v / scale, Math.min(decimals(y / scale, digits), decimals(v / scale, digits)));
  const differs = (n) => write(low, n) !== write(high, n);
  const digits = low === high ? 3 : [3, 4].find(differs) ?? 5;
  return `${write(y, digits)}${suffix} [${write(low, digits)}, ${write(high, digits)}]`;
};

const wordsOn = (axis, v) =>
  axis.scale === "category" ? axis.categories[Math.round(v)] ?? "" : format(axis.unit, v);

const evenTicks = (low, high, most, unit) => {
  const raw = (high - low) / most;
  const prefix = unit.startsWith("bytes") ? K ** Math.floor(Math.log(Math.max(raw, 1)) / Math.log(K)) : 1;
  const power = prefix * 10 ** Math.floor(Math.log10(raw / prefix));
  let step = power * ([1, 2, 5].find((n) => n * power >= raw) ?? 10);
  if (prefix > 1 && step >= 1000 * prefix) step = K * prefix;
  if (unit === "count") step = Math.max(1, step);
  const first = Math.ceil(low / step - 1e-9);
  const many = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, many) }, (_, n) => (first + n) * step);
};

const ratioTicks = (low, high, most, unit) => {
  const base = unit.startsWith("bytes") ? 2 : 10;
  const powers = (every, steps) => {
    const [from, to] = [low, high].map((v) => Math.floor(Math.log(v) / Math.log(base) / every));
    return Array.from({ length: to - from + 1 }, (_, n) => base ** ((from + n) * every))
      .flatMap((power) => steps.map((step) => power * step)).filter((v) => v >= low && v <= high);
  };
  const fine = evenTicks(low, high, most, unit).filter((v) => v > 0);
  const coarse = [...(base === 10 ? [[1, [1, 2, 5]], [1, [1, 3]]] : []), [1, [1]], [2, [1]], [3, [1]], [5, [1]]];
  const choices = coarse.map((one) => powers(...one));
  return (high / low < 5 ? [fine, ...choices] : choices)
    .find((ticks) => ticks.length <= most && ticks.length > 1) ?? fine;
};

const NINES = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
const scales = {
  linear: { to: (v) => v, from: (c) => c, ticks: evenTicks },
  log: { to: Math.log10, from: (c) => 10 ** c, ticks: ratioTicks },
  tail: {
    to: (p) => -Math.log10(1 - p), from: (c) => 1 - 10 ** -c,
    ticks: (low, high, most, unit) => {
      const nines = NINES.filter((p) => p >= low && p <= high);
      return nines.length > 1 ? nines : evenTicks(low, high, most, unit).filter((p) => p < 1);
    },
  },
};

