// Turns the figure model into options for Apache ECharts. `x` is what was varied, `y` what was
// measured; `horizontal` swaps them on the page only. A series is told by its sign or its dashes
// as well as by its colour. Tooltips are built from nodes: no name is ever parsed as HTML.

const dashes = ["solid", "dashed", "dotted", [8, 3, 2, 3]];
const symbols = ["circle", "rect", "triangle", "diamond",
  "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond"];
const cividis = ["#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a69d75", "#d3c164", "#fee838"];

const rangeOf = (values) =>
  values.reduce(([a, b], v) => (v == null ? [a, b] : [Math.min(a, v), Math.max(b, v)]),
    [Infinity, -Infinity]);

// The range of an axis in coordinates, with a little air, from zero where zero means something.
const extentOf = (figure, axis, values) => {
  let [low, high] = rangeOf(values.map((v) => place(axis, v)));
  if (low > high) [low, high] = [0, 1];
  if (axis.scale === "tail") return [0, high * 1.03];
  if (axis.unit === "share" && low >= 0 && high <= 1) return [0, 1];
  const fromZero = figure.kind !== "strip" || low < high / 3;
  const words = figure.kind === "intervals" && figure.horizontal ? 4 : 1;
  if (axis.scale === "linear" && low >= 0 && fromZero) return [0, high * (1 + 0.04 * words)];
  const air = (high - low || 0.1) * 0.03;
  return [low - air, high + air * words];
};

const ticksFor = (axis, [low, high], room) => {
  const most = Math.max(3, Math.min(9, Math.floor(room / 70)));
  const customValues = scales[axis.scale].ticks(low, high, most, axis.unit);
  return { axisTick: { customValues }, axisLabel: { customValues } };
};

const categoryAxis = (figure, axis, look, upright) => ({
  type: "category",
  data: axis.categories,
  inverse: upright,
  axisTick: { show: false },
  axisLine: { show: true, lineStyle: { color: look.rule } },
  splitLine: { show: figure.kind === "intervals", lineStyle: { color: look.rule, opacity: 0.6 } },
  axisLabel: {
    color: look.ink, fontSize: look.narrow ? 10.5 : 12.5, interval: 0, overflow: "truncate",
    ...(upright ? { width: look.narrow ? 88 : 190 }
      : { width: look.narrow ? 70 : 120, rotate: look.narrow ? 40 : 0 }),
  },
});

const valueAxis = (figure, axis, extent, look, upright) => {
  const ticks = ticksFor(axis, extent, upright ? look.height : look.width * 0.8);
  const words = (coordinate) => scales[axis.scale].from(coordinate);
  return {
    type: "value", min: extent[0], max: extent[1],
    name: axis.label, nameLocation: "middle", nameGap: upright ? 14 : 10,
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

const signs = [
  (x, y) => ({ type: "circle", shape: { cx: x, cy: y, r: 4.5 } }),
  (x, y) => ({ type: "rect", shape: { x: x - 4, y: y - 4, width: 8, height: 8 } }),
  (x, y) => ({ type: "polygon", shape: { points: [[x, y - 5], [x + 5, y + 4], [x - 5, y + 4]] } }),
  (x, y) => ({ type: "polygon", shape: { points: [[x, y - 6], [x + 6, y], [x, y + 6], [x - 6, y]] } }),
];

// An interval with caps, its sign at the value, and on wide screens the value in words.
const drawInterval = (figure, series, index, look) => (params, api) => {
  const swap = figure.horizontal;
  const step = swap ? api.size([0, 1])[1] : api.size([1, 0])[0];
  const band = Math.min(16, step / (figure.series.length + 0.6));
  const shift = (index - (figure.series.length - 1) / 2) * band;
  const [mid, low, high] = [1, 2, 3].map((n) => {
    const [x, y] = api.coord(swap ? [api.value(n), api.value(0)] : [api.value(0), api.value(n)]);
    return swap ? [x, y + shift] : [x + shift, y];
  });
  if (!mid.every(isFinite)) return undefined;
  const color = look.series[index % 7];
  const line = ([x1, y1], [x2, y2]) =>
    ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: color, lineWidth: 2 } });
  const cap = ([x, y]) => (swap ? line([x, y - 4], [x, y + 4]) : line([x - 4, y], [x + 4, y]));
  const fill = index % 8 < 4 ? color : look.card;
  const sign = { ...signs[index % 4](...mid), style: { fill, stroke: color, lineWidth: 1.5 } };
  const words = { type: "text", silent: true, style: {
    text: format(figure.y.unit, series.points[params.dataIndex].y), fill: look.muted,
    font: `11px ${look.font}`, x: Math.max(high[0], mid[0] + 4) + 7, y: high[1], verticalAlign: "middle" } };
  const children = [line(low, high), cap(low), cap(high), sign];
  return { type: "group", children: swap && !look.narrow ? [...children, words] : children };
};

const intervalSeries = (figure, series, index, look) => {
  const data = series.points.map((p) => {
    const y = place(figure.y, p.y);
    return [p.x, y, place(figure.y, p.low) ?? y, place(figure.y, p.high) ?? y];
  });
  const encode = figure.horizontal ? { x: [1, 2, 3], y: 0 } : { x: 0, y: [1, 2, 3] };
  const renderItem = drawInterval(figure, series, index, look);
  return [{ type: "custom", renderItem, data, encode, clip: true }];
};

// A line, and behind it a band from low to high where the points have one.
const lineSeries = (figure, series, index, look) => {
  const color = look.series[index % 7];
  const data = series.points.map((p) => [place(figure.x, p.x), place(figure.y, p.y)]);
  const line = {
    type: "line", data, step: figure.kind === "ecdf" ? "end" : false, connectNulls: false,
    symbol: symbols[index % 8], symbolSize: 7, showSymbol: data.length <= 24,
    lineStyle: { width: 2, color, type: dashes[index % 4] }, emphasis: { focus: "series" },
  };
  const corners = series.points
    .map((p) => [place(figure.x, p.x), place(figure.y, p.low), place(figure.y, p.high)])
    .filter((corner) => corner.every((c) => c != null));
  if (corners.length < 2) return [line];
  const renderItem = (_, api) => {
    const upper = corners.map(([x, , high]) => api.coord([x, high]));
    const lower = corners.map(([x, low]) => api.coord([x, low])).reverse();
    const shape = { points: [...upper, ...lower] };
    return { type: "polygon", shape, silent: true, style: { fill: color, opacity: 0.16 } };
  };
  const anchor = [corners[0].slice(0, 2)];
  return [line, { type: "custom", renderItem, data: anchor, clip: true, silent: true, z: 1 }];
};

const stripSeries = (figure, series, index) => [{
  type: "scatter", symbol: symbols[index % 4], symbolSize: 3.5, itemStyle: { opacity: 0.55 },
  large: series.points.length > 8000,
  data: series.points.map((p) => [place(figure.x, p.x), place(figure.y, p.y)]),
}];

const barSeries = (figure, series) => {
  const at = (n) => place(figure.y, series.points.find((p) => p.x === n)?.y ?? null);
  const data = figure.x.categories.map((_, n) => at(n));
  return [{ type: "bar", stack: "all", barMaxWidth: 22, data, emphasis: { focus: "series" } }];
};

const drawers = { intervals: intervalSeries, curves: lineSeries, percentiles: lineSeries,
  ecdf: lineSeries, strip: stripSeries, bars: barSeries };

const heatmap = (figure, look) => {
  const cells = figure.series.flatMap((row, n) =>
    row.points.map((point) => ({ point, n, c: place(figure.y, point.y) })));
  const [min, max] = rangeOf(cells.map(({ c }) => c));
  const letters = (c) => ((c - min) / (max - min || 1) > 0.55 ? "#111" : "#fff");
  const words = (c) => format(figure.y.unit, scales[figure.y.scale].from(c));
  return {
    visualMap: {
      min, max, calculable: true, orient: "horizontal", left: "center", bottom: 0, formatter: words,
      itemHeight: look.narrow ? 120 : 220, itemWidth: 14, inRange: { color: cividis },
      textStyle: { color: look.muted },
    },
    series: [{
      id: "cells", type: "heatmap", itemStyle: { borderColor: look.card, borderWidth: 2 },
      data: cells.map(({ point, n, c }) =>
        ({ value: [point.x, n, c ?? "-"], point, n, label: { color: letters(c) } })),
      label: { show: true, fontSize: look.narrow ? 9 : 12,
        formatter: ({ data }) => format(figure.y.unit, data.point.y) },
    }],
  };
};

const node = (className, text, ...children) => {
  const made = Object.assign(document.createElement("div"), { className, textContent: text });
  made.append(...children);
  return made;
};

const hitsOf = (figure, given) => [given].flat().flatMap((hit) => {
  if (hit.seriesId === "cells") {
    return [{ name: figure.series[hit.data.n].name, point: hit.data.point }];
  }
  const series = figure.series[/^main(\d+)$/.exec(hit.seriesId)?.[1]];
  const bar = (p) => p.x === hit.dataIndex;
  const point = figure.kind === "bars" ? series?.points.find(bar) : series?.points[hit.dataIndex];
  return point?.y == null ? [] : [{ name: series.name, point, color: hit.color }];
});

const tooltip = (figure) => (given) => {
  const hits = hitsOf(figure, given);
  if (!hits.length) return "";
  const share = figure.kind === "ecdf";
  const bars = figure.kind === "bars";
  if (!bars) hits.sort((a, b) => (share ? a.point.x - b.point.x : b.point.y - a.point.y));
  const box = node("tip-box", "");
  if (!share) box.append(node("tip-head", wordsOn(figure.x, hits[0].point.x)));
  for (const { name, point, color } of hits) {
    const words = share
      ? `${format("share", Number(point.y.toPrecision(3)))} within ${wordsOn(figure.x, point.x)}`
      : describe(figure.y.unit, point);
    const key = node("tip-key", "");
    key.style.background = color ?? "transparent";
    box.append(node("tip-row", "", key, node("tip-name", name), node("tip-value", words)));
    if (point.label) box.append(node("tip-note", point.label));
  }
  const sum = hits.reduce((total, { point }) => total + point.y, 0);
  if (bars && hits.length > 1) box.append(node("tip-note", `in all ${format(figure.y.unit, sum)}`));
  return box;
};

const markSeries = (figure, look) => ({
  id: "marks", type: "line", data: [], silent: true,
  markLine: {
    silent: true, symbol: "none", lineStyle: { color: look.muted, type: [4, 4] },
    label: { formatter: "{b}", color: look.muted, fontSize: 11,
      position: figure.horizontal ? "end" : "insideEndTop" },
    data: figure.marks.map(({ label, value }) =>
      ({ name: label, [figure.horizontal ? "xAxis" : "yAxis"]: place(figure.y, value) })),
  },
});

const controls = (figure, axes, look) => {
  const held = axes.map((axis) => axis.type === "category");
  const dataZoom = { title: { zoom: "Zoom into an area", back: "Undo zoom" },
    ...(held[0] ? { xAxisIndex: false } : {}), ...(held[1] ? { yAxisIndex: false } : {}) };
  const saveAsImage = { title: "Save as image", name: figure.id, backgroundColor: look.card,
    excludeComponents: ["toolbox"] };
  const wheel = { type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl",
    moveOnMouseMove: "shift", moveOnMouseWheel: false };
  const free = ["xAxisIndex", "yAxisIndex"].filter((_, n) => !held[n]);
  const feature = { dataZoom, restore: { title: "Reset" }, saveAsImage };
  if (!free.length) delete feature.dataZoom;
  return {
    toolbox: { right: 0, top: 0, itemSize: 14, iconStyle: { borderColor: look.muted }, feature },
    dataZoom: free.map((index) => ({ ...wheel, [index]: 0 })),
  };
};

const axesOf = (figure, look) => {
  const points = figure.series.flatMap((series) => series.points);
  const axis = (model, values, upright) => (model.scale === "category"
    ? categoryAxis(figure, model, look, upright)
    : valueAxis(figure, model, extentOf(figure, model, values), look, upright));
  if (figure.kind === "heatmap") {
    const rows = { scale: "category", categories: figure.series.map((row) => row.name) };
    return [axis(figure.x, [], false), axis(rows, [], true)];
  }
  const total = (n) => points.reduce((sum, p) => sum + (p.x === n ? p.y ?? 0 : 0), 0);
  const measured = figure.kind === "bars" ? figure.x.categories.map((_, n) => total(n))
    : points.flatMap((p) => [p.y, p.low, p.high]);
  const bounds = figure.marks.map((mark) => mark.value);
  const x = axis(figure.x, points.map((p) => p.x), figure.horizontal);
  const y = axis(figure.y, [...measured, ...bounds], !figure.horizontal);
  return figure.horizontal ? [y, x] : [x, y];
};

// The whole option of a figure; `look` is colours, font and the room there is.
const optionFor = (figure, look) => {
  const heat = figure.kind === "heatmap";
  const axes = axesOf(figure, look);
  const aside = !look.narrow && figure.series.length > 5 && !heat;
  const icon = (n) => (figure.kind === "intervals" ? { icon: symbols[n % 4] } : {});
  const series = heat ? [] : figure.series.flatMap((one, n) =>
    drawers[figure.kind](figure, one, n, look).map((option, layer) =>
      ({ id: `${layer ? "band" : "main"}${n}`, name: one.name, color: look.series[n % 7], ...option })));
  if (figure.marks.length && !heat) series.push(markSeries(figure, look));
  return {
    animation: false,
    textStyle: { fontFamily: look.font, color: look.ink },
    grid: { left: 2, right: aside ? 172 : 16, bottom: heat ? 58 : 2,
      top: figure.marks.length && figure.horizontal ? 60 : 42,
      outerBoundsMode: "same", outerBoundsContain: "all" },
    xAxis: axes[0], yAxis: axes[1], ...controls(figure, axes, look),
    legend: {
      show: !heat && figure.series.length > 1, type: "scroll", itemWidth: aside ? 30 : 22, itemHeight: 10,
      data: figure.series.map(({ name }, n) => ({ name, ...icon(n) })),
      textStyle: { color: look.ink, fontSize: 12 }, inactiveColor: look.rule,
      pageIconColor: look.ink, pageIconInactiveColor: look.rule, pageTextStyle: { color: look.muted },
      ...(aside ? { orient: "vertical", right: 0, top: 40, width: 160, align: "left" }
        : { left: 0, right: 84, top: 0 }),
    },
    aria: { enabled: figure.kind === "bars", label: { enabled: false }, decal: { show: true } },
    tooltip: {
      trigger: ["curves", "percentiles", "ecdf", "bars"].includes(figure.kind) ? "axis" : "item",
      formatter: tooltip(figure), confine: true, transitionDuration: 0, className: "tip",
      axisPointer: { type: figure.kind === "bars" ? "shadow" : "line", lineStyle: { color: look.muted } },
    },
    series,
    ...(heat ? heatmap(figure, look) : {}),
  };
};

const heightOf = (figure, narrow) => {
  const rows = figure.x.categories?.length ?? 0;
  if (figure.kind === "heatmap") return figure.series.length * 36 + 150;
  if (figure.kind === "bars" && figure.horizontal) return rows * 34 + 100;
  if (figure.kind === "intervals" && figure.horizontal) {
    return rows * (figure.series.length * 16 + 10) + 110;
  }
  return narrow ? 340 : 430;
};
