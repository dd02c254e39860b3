// Turns the figure model into options for Apache ECharts. `x` is what was varied, `y` what was
// measured; `horizontal` swaps them on the page only. A series is told by its sign or its dashes
// as well as by its colour. Tooltips are built from nodes: no name is ever parsed as HTML.

const dashes = ["solid", "dashed", "dotted", [8, 3, 2, 3]];
const symbols = ["circle", "rect", "triangle", "diamond"];

// Four signs, first filled and then hollow.
const signStyle = (index, look) => {
  const color = look.series[index % 7];
  return { color: index % 8 < 4 ? color : look.card, borderColor: color, borderWidth: 1.8 };
};

const signs = [
  (x, y) => ({ type: "circle", shape: { cx: x, cy: y, r: 4.5 } }),
  (x, y) => ({ type: "rect", shape: { x: x - 4, y: y - 4, width: 8, height: 8 } }),
  (x, y) => ({ type: "polygon", shape: { points: [[x, y - 5], [x + 5, y + 4], [x - 5, y + 4]] } }),
  (x, y) => ({ type: "polygon", shape: { points: [[x, y - 6], [x + 6, y], [x, y + 6], [x - 6, y]] } }),
];

// A ring around the points where something happens.
const ringSeries = (figure, series, look) => {
  const data = series.points.filter((p) => p.marked && p.y != null)
    .map((p) => [place(figure.x, p.x), place(figure.y, p.y)]);
  return data.length ? [{ type: "scatter", data, silent: true, symbol: "circle", z: 6,
    symbolSize: figure.kind === "course" ? 11 : 17,
    itemStyle: { color: "transparent", borderColor: look.ink, borderWidth: 1.8 } }] : [];
};

// Where there is no value, the reason stands in its row.
const drawReason = (figure, params, api, point, shift, look) => {
  if (!point.label || !figure.horizontal) return undefined;
  const y = api.coord([0, api.value(0)])[1] + shift;
  const style = { text: point.label, fill: look.muted, font: `italic 11px ${look.font}`,
    x: params.coordSys.x + 8, y, verticalAlign: "middle" };
  return { type: "text", silent: true, style };
};

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
  const point = series.points[params.dataIndex];
  if (!mid.every(isFinite)) return drawReason(figure, params, api, point, shift, look);
  const color = look.series[index % 7];
  const line = ([x1, y1], [x2, y2]) =>
    ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: color, lineWidth: 2 } });
  const cap = ([x, y]) => (swap ? line([x, y - 4], [x, y + 4]) : line([x - 4, y], [x + 4, y]));
  const fill = signStyle(index, look).color;
  const sign = { ...signs[index % 4](...mid), style: { fill, stroke: color, lineWidth: 1.5 } };
  const words = { type: "text", silent: true, style: {
    text: format(figure.y.unit, point.y), fill: look.muted, font: `11px ${look.font}`,
    x: Math.max(high[0], mid[0] + 4) + 7, y: high[1], align: "left", verticalAlign: "middle" } };
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
  const quiet = series.drawn === "line";
  const color = quiet ? look.muted : look.series[index % 7];
  const data = series.points.map((p) => [place(figure.x, p.x), place(figure.y, p.y)]);
  if (quiet) {
    return [{ type: "line", data, color, showSymbol: false, symbol: "none", z: 1,
      step: figure.kind === "scatter" ? "end" : false,
      lineStyle: { width: 1.6, color, type: [4, 4] } }];
  }
  const line = {
    type: "line", data, step: figure.kind === "ecdf" ? "end" : false, connectNulls: false,
    symbol: symbols[index % 4], symbolSize: 7, showSymbol: data.length <= 24,
    itemStyle: signStyle(index, look),
    lineStyle: { width: 2, color, type: dashes[index % 4] }, emphasis: { focus: "series" },
  };
  const corners = series.points
    .map((p) => [place(figure.x, p.x), place(figure.y, p.low), place(figure.y, p.high)])
    .filter((corner) => corner.every((c) => c != null));
  const rings = ringSeries(figure, series, look);
  if (corners.length < 2) return [line, ...rings];
  const renderItem = (_, api) => {
    const upper = corners.map(([x, , high]) => api.coord([x, high]));
    const lower = corners.map(([x, low]) => api.coord([x, low])).reverse();
    const shape = { points: [...upper, ...lower] };
    return { type: "polygon", shape, silent: true, style: { fill: color, opacity: 0.16 } };
  };
  const anchor = [corners[0].slice(0, 2)];
  return [line, { type: "custom", renderItem, data: anchor, clip: true, silent: true, z: 1 }, ...rings];
};

const stripSeries = (figure, series, index) => [{
  type: "scatter", symbol: symbols[index % 4], symbolSize: 3.5, itemStyle: { opacity: 0.7 },
  large: series.points.length > 8000,
  data: series.points.map((p) => [place(figure.x, p.x), place(figure.y, p.y)]),
}];

const barSeries = (figure, series, index, look) => {
  if (series.drawn === "signs") {
    const data = series.points.map((p) =>
      (figure.horizontal ? [place(figure.y, p.y), p.x] : [p.x, place(figure.y, p.y)]));
    return [{ type: "scatter", data, symbol: "diamond", symbolSize: 13, z: 5,
      itemStyle: { color: look.card, borderColor: look.ink, borderWidth: 2 } }];
  }
  const at = (n) => place(figure.y, series.points.find((p) => p.x === n)?.y ?? null);
  const data = figure.x.categories.map((_, n) => at(n));
  return [{ type: "bar", stack: "all", barMaxWidth: 22, data, emphasis: { focus: "series" } }];
};

const drawers = { intervals: intervalSeries, curves: lineSeries, percentiles: lineSeries,
  ecdf: lineSeries, strip: stripSeries, bars: barSeries, scatter: scatterSeries, course: courseSeries,
  grouped_bars: groupedSeries, boxes: boxSeries };

const node = (className, text, ...children) => {
  const made = Object.assign(document.createElement("div"), { className, textContent: text });
  made.append(...children);
  return made;
};

// What the pointer is at: per series its name, its point and its colour.
const hitsOf = (figure, look, given) => {
  const hits = [given].flat();
  const at = (n, point) =>
    (point?.y == null ? [] : [{ name: figure.series[n].name, point, color: look.series[n % 7],
      drawn: figure.series[n].drawn === "signs" }]);
  if (figure.kind === "ecdf") {
    const x = scales[figure.x.scale].from(hits[0].axisValue);
    return figure.series.flatMap(({ points }, n) =>
      at(n, { x, y: points.findLast((p) => p.x <= x)?.y ?? 0 }));
  }
  return hits.flatMap((hit) => {
    const n = /^main(\d+)$/.exec(hit.seriesId)?.[1];
    const points = figure.series[n]?.points;
    const bar = (p) => p.x === hit.dataIndex;
    if (figure.kind !== "bars") return at(n, points?.[hit.dataIndex]);
    return at(n, figure.series[n]?.drawn === "signs" ? points[hit.dataIndex] : points?.find(bar));
  });
};

const tooltip = (figure, look) => (given) => {
  if (figure.kind === "heatmap") return cellTip(figure, given);
  const hits = hitsOf(figure, look, given);
  if (!hits.length) return "";
  if (figure.kind === "boxes") return boxTip(figure, hits);
  const bars = figure.kind === "bars";
  const share = figure.kind === "ecdf";
  if (figure.kind === "scatter") return scatterTip(figure, hits);
  if (figure.kind === "course") return courseTip(figure, hits[0].point);
  if (!bars) hits.sort((a, b) => b.point.y - a.point.y);
  const head = (share ? "within " : "") + wordsOn(figure.x, hits[0].point.x);
  const box = node("tip-box", "", node("tip-head", head));
  for (const { name, point, color } of hits) {
    const key = node("tip-key", "");
    key.style.background = color;
    const words = share ? `${(point.y * 100).toPrecision(3)} %` : describe(figure.y.unit, point);
    box.append(node("tip-row", "", key, node("tip-name", name), node("tip-value", words)));
    if (point.label) box.append(node("tip-note", point.label));
  }
  const sum = hits.reduce((total, { point }) => total + point.y, 0);
  if (bars && hits.length > 1 && !hits.some(({ drawn }) => drawn)) box.append(node("tip-note", `in all ${format(figure.y.unit, sum)}`));
  return box;
};

const markSeries = (figure, look) => ({
  id: "marks", type: "line", data: [], silent: true,
  markLine: {
    silent: true, symbol: "none", lineStyle: { color: look.muted, type: [4, 4] },
    label: { formatter: "{b}", color: look.muted, fontSize: 11,
      position: figure.horizontal ? "start" : "insideEndBottom" },
    data: figure.marks.map(({ label, value }) =>
      ({ name: label, [figure.horizontal ? "xAxis" : "yAxis"]: place(figure.y, value) }))
      // Neighbouring names stand on two lines.
      .map((mark, n) => (figure.horizontal ? { ...mark, label: { distance: 5 + 15 * (n % 2) } } : mark)),
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
    toolbox: { right: 4, top: -8, itemSize: 14, iconStyle: { borderColor: look.muted }, feature },
    dataZoom: free.map((index) => ({ ...wheel, [index]: 0 })),
  };
};

// In the legend a sign from elsewhere looks as it is drawn.
const iconBeside = (figure, n, look) => {
  const beside = figure.series.filter(({ drawn }) => drawn === "signs");
  const nth = beside.indexOf(figure.series[n]);
  if (nth < 0) return { icon: "roundRect" };
  return { icon: symbols[(3 + nth) % 4], itemStyle: { color: look.card, borderColor: look.ink, borderWidth: 2 } };
};

// The whole option of a figure; `look` is colours, font and the room there is.
const optionFor = (figure, look) => {
  const heat = figure.kind === "heatmap";
  const axes = axesOf(figure, look);
  const dots = ["intervals", "strip", "scatter"].includes(figure.kind);
  const sequence = figure.kind === "protocol";
  const listed = !heat && !sequence && figure.kind !== "course" && figure.series.length > 1;
  const aside = !look.narrow && figure.series.length > 5 && !heat;
  // Names stand beside the plot, not over it.
  const named = Math.min(260, Math.max(160, 46 + 6.6 * Math.max(0, ...figure.series.map(({ name }) => name.length))));
  const icon = (n) => ({ ...(dots && figure.series[n].drawn !== "line" ? { icon: symbols[n % 4] } : {}),
    ...(figure.kind === "bars" && figure.series[n].drawn === "signs" ? { icon: "diamond" } : {}),
    ...(figure.kind === "grouped_bars" ? iconBeside(figure, n, look) : {}) });
  const series = heat ? [] : figure.series.flatMap((one, n) =>
    drawers[figure.kind](figure, one, n, look).map((option, layer) =>
      ({ id: layer ? `band${n}-${layer}` : `main${n}`, name: one.name, color: look.series[n % 7], ...option })));
  if (figure.marks.length && !heat) series.push(markSeries(figure, look));
  if (figure.kind === "scatter") series.push(namesOver(figure, look));
  if (sequence) series.push(...protocolSeries(figure, look));
  return {
    animation: false,
    textStyle: { fontFamily: look.font, color: look.ink },
    grid: { left: 2, right: aside ? named + 12 : 16, bottom: heat ? 58 : 2,
      top: sequence ? 8 : (figure.marks.length && figure.horizontal ? (figure.marks.length > 1 ? 75 : 60) : 42) + (look.narrow && listed ? 22 : 0),
      outerBoundsMode: "same", outerBoundsContain: "all" },
    xAxis: axes[0], yAxis: axes[1], ...(sequence ? {} : controls(figure, axes, look)),
    legend: {
      show: listed, type: "scroll", itemWidth: dots || figure.kind === "grouped_bars" ? 11 : aside ? 30 : 22,
      itemHeight: 10,
      data: figure.series.map(({ name }, n) => ({ name, ...icon(n) })),
      textStyle: { color: look.ink, fontSize: 12 }, inactiveColor: look.rule,
      pageIconColor: look.ink, pageIconInactiveColor: look.rule, pageTextStyle: { color: look.muted },
      ...(aside ? { orient: "vertical", right: 0, top: 40, width: named, align: "left" }
        : { left: 0, top: look.narrow ? 28 : 4, right: look.narrow ? 0 : 110 }),
    },
    aria: { enabled: figure.kind === "bars", label: { enabled: false }, decal: { show: true } },
    tooltip: {
      trigger: ["curves", "percentiles", "ecdf", "bars", "course"].includes(figure.kind) ? "axis" : "item",
      formatter: tooltip(figure, look), confine: true, transitionDuration: 0,
      backgroundColor: look.card, borderColor: look.rule, borderWidth: 1, padding: [8, 11],
      axisPointer: { type: figure.kind === "bars" ? "shadow" : "line", lineStyle: { color: look.muted } },
    },
    series,
    ...(heat ? heatmap(figure, look) : {}),
  };
};

const heightOf = (figure, narrow) => {
  const rows = figure.x.categories?.length ?? 0;
  if (figure.kind === "protocol") return (figure.protocol.steps.length + 1) * (narrow ? 54 : 48) + 20;
  if (["grouped_bars", "boxes"].includes(figure.kind) && figure.horizontal) {
    return rows * (slotted(figure).length * 24 + 12) + (narrow ? 140 : 112);
  }
  if (figure.kind === "heatmap") return figure.series.length * 36 + (narrow ? 190 : 150);
  if (figure.kind === "bars" && figure.horizontal) return rows * 34 + (narrow ? 122 : 100);
  if (figure.kind === "intervals" && figure.horizontal) {
    return rows * (figure.series.length * 16 + 10) + (narrow ? 132 : 110);
  }
  if (figure.kind === "scatter") return narrow ? 420 : 500;
  return narrow ? 370 : 430;
};
