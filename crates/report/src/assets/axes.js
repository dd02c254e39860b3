// The axes of a figure: range, tidy ticks, and how they look on a wide or a narrow page. A value
// axis is always linear in coordinates; see numbers.js for what a coordinate is.

const rangeOf = (values) =>
  values.reduce(([a, b], v) => (v == null ? [a, b] : [Math.min(a, v), Math.max(b, v)]),
    [Infinity, -Infinity]);

// The range of an axis in coordinates, with a little air, from zero where zero means something.
const extentOf = (figure, axis, values, look) => {
  let [low, high] = rangeOf(values.map((v) => place(axis, v)));
  if (low > high) [low, high] = [0, 1];
  if (axis.scale === "tail") return [0, high * 1.03];
  if (axis.unit === "share" && low >= 0 && high <= 1) return [0, 1];
  if (figure.kind === "course" && axis === figure.x) return [low, high];
  const fromZero = figure.kind !== "strip" || low < high / 3;
  // A value in words behind the last interval takes about sixty pixels.
  const words = ["intervals", "boxes", "grouped_bars"].includes(figure.kind) && figure.horizontal && !look.narrow;
  const right = words ? 100 / look.width : 0.03;
  const rounds = axis === figure.x && axis.unit === "count";
  if (axis.scale === "linear" && low >= 0 && fromZero && !rounds) return [0, high * (1 + right)];
  // Names stand beside the signs of a scatter: room for them, most to the right.
  const air = figure.kind === "scatter" ? 0.08 : 0.03;
  const range = high - low || 0.1;
  if (figure.kind === "scatter") return [low - range * air, high + range * (axis === figure.x ? 0.3 : air)];
  return [low - range * 0.03, high + range * right];
};

const ticksFor = (axis, [low, high], room) => {
  const most = Math.max(3, Math.min(9, Math.floor(room)));
  const customValues = scales[axis.scale].ticks(low, high, most, axis.unit)
    .filter((c) => axis.unit !== "count" || axis.scale !== "linear" || Math.abs(c - Math.round(c)) < 1e-6);
  return { axisTick: { customValues }, axisLabel: { customValues } };
};

const categoryAxis = (figure, axis, look, upright) => ({
  type: "category",
  data: axis.categories,
  inverse: upright,
  name: upright ? "" : axis.label,
  nameLocation: "middle",
  nameGap: figure.kind === "heatmap" ? 44 : 28,
  nameTextStyle: { color: look.muted, fontSize: look.narrow ? 11 : 12.5 },
  axisTick: { show: false },
  axisLine: { show: true, lineStyle: { color: look.rule } },
  splitLine: { show: ["intervals", "boxes"].includes(figure.kind), lineStyle: { color: look.rule, opacity: 0.6 } },
  axisLabel: {
    color: look.ink, fontSize: look.narrow ? 10.5 : 12.5, ...(look.narrow ? { lineHeight: 13 } : {}),
    interval: 0, overflow: figure.kind === "heatmap" && !upright ? "break" : "truncate",
    formatter: (name) => (look.narrow ? name.replace(":", ":\n") : name),
    ...(upright ? { width: look.narrow ? 88 : 190 }
      : { width: look.narrow ? 70 : Math.max(60, 760 / axis.categories.length), rotate: look.narrow ? 40 : 0 }),
  },
});

const valueAxis = (figure, axis, extent, look, upright) => {
  const ticks = ticksFor(axis, extent, upright ? look.height / 50 : look.width / 84);
  const words = (coordinate) => scales[axis.scale].from(coordinate);
  return {
    type: "value", min: extent[0], max: extent[1],
    name: axis.label, nameLocation: "middle", nameGap: upright ? 44 : 30,
    nameTextStyle: { color: look.muted, fontSize: look.narrow ? 11 : 12.5 },
    axisLine: { show: !upright, lineStyle: { color: look.rule } },
    axisTick: { ...ticks.axisTick, show: !upright, lineStyle: { color: look.rule } },
    axisLabel: {
      ...ticks.axisLabel, color: look.muted, fontSize: look.narrow ? 10.5 : 12, hideOverlap: true,
      formatter: (coordinate) => tickText(axis.unit, words(coordinate)),
    },
    splitLine: { show: true, lineStyle: { color: look.rule, opacity: 0.6 } },
    axisPointer: { label: { formatter: ({ value }) => format(axis.unit, words(value)) } },
  };
};

const axesOf = (figure, look) => {
  // The frontier of a scatter goes on beyond what is shown.
  const points = figure.series.flatMap((series) =>
    (figure.kind === "scatter" && series.drawn === "line" ? [] : series.points));
  const stacked = figure.series.filter((series) => series.drawn === "as_kind")
    .flatMap((series) => series.points);
  const axis = (model, values, upright) => (model.scale === "category"
    ? categoryAxis(figure, model, look, upright)
    : valueAxis(figure, model, extentOf(figure, model, values, look), look, upright));
  if (figure.kind === "protocol") return protocolAxes(figure);
  if (figure.kind === "heatmap") {
    const rows = { scale: "category", categories: figure.series.map((row) => row.name) };
    return [axis(figure.x, [], false), axis(rows, [], true)];
  }
  const total = (n) => stacked.reduce((sum, p) => sum + (p.x === n ? p.y ?? 0 : 0), 0);
  const measured = figure.kind === "bars" ? [...figure.x.categories.map((_, n) => total(n)), ...points.map((p) => p.y)]
    : points.flatMap((p) => [p.y, p.low, p.high, p.least, p.most]);
  const bounds = figure.marks.map((mark) => mark.value);
  const x = axis(figure.x, points.map((p) => p.x), figure.horizontal);
  const y = axis(figure.y, [...measured, ...bounds], !figure.horizontal);
  return figure.horizontal ? [y, x] : [x, y];
};
