// Drawers with more to them than a line through points: heat map, scatter with names, course.

const cividis = ["#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a69d75", "#d3c164", "#fee838"];

// ---- heat map ----------------------------------------------------------------------------

// A place where there is nothing: grey and hatched, so that it is no colour of the scale.
const hatched = (look) => (params, api) => {
  const [x, y] = api.coord([api.value(0), api.value(1)]);
  const [w, h] = api.size([1, 1]).map((side) => side - 2);
  const [left, top] = [x - w / 2, y - h / 2];
  const strokes = [];
  for (let at = 8 - h; at < w; at += 9) {
    const [from, to] = [Math.max(0, at), Math.min(w, at + h)];
    strokes.push({ type: "line", silent: true, style: { stroke: look.muted, lineWidth: 1, opacity: 0.45 },
      shape: { x1: left + from, y1: top + from - at, x2: left + to, y2: top + to - at } });
  }
  const back = { type: "rect", shape: { x: left, y: top, width: w, height: h },
    style: { fill: look.rule, opacity: 0.45 } };
  const dash = { type: "text", silent: true, style: { text: " n/a ", x, y, align: "center",
    verticalAlign: "middle", fill: look.muted, backgroundColor: look.card, borderRadius: 3,
    font: `11px ${look.font}` } };
  return { type: "group", children: [back, ...strokes, dash] };
};

const heatmap = (figure, look) => {
  const cells = figure.series.flatMap((row, n) =>
    row.points.map((point) => ({ point, n, name: row.name, c: place(figure.y, point.y) })));
  const [present, absent] = [cells.filter(({ c }) => c != null), cells.filter(({ c }) => c == null)];
  const [min, max] = rangeOf(present.map(({ c }) => c));
  const letters = (c) => ((c - min) / (max - min || 1) > 0.55 ? "#111" : "#fff");
  const words = (c) => format(figure.y.unit, scales[figure.y.scale].from(c));
  const said = ({ data }) => {
    const words = data.point.label ?? format(figure.y.unit, data.point.y);
    return look.narrow ? words.replace(" | ", "\n") : words;
  };
  return {
    visualMap: {
      min, max: Math.max(max, min + 1e-6), calculable: true, orient: "horizontal", left: "center",
      bottom: 0, formatter: words, seriesIndex: 0, text: [figure.y.label, ""], textGap: 8,
      itemHeight: look.narrow ? 120 : 220, itemWidth: 14, inRange: { color: cividis },
      textStyle: { color: look.muted },
    },
    series: [{
      id: "cells", type: "heatmap", itemStyle: { borderColor: look.card, borderWidth: 2 },
      data: present.map(({ point, n, name, c }) =>
        ({ value: [point.x, n, c], point, row: name, label: { color: letters(c) } })),
      label: { show: true, fontSize: look.narrow ? 9 : 12, formatter: said },
    }, {
      id: "absent", type: "custom", renderItem: hatched(look),
      data: absent.map(({ point, n, name }) => ({ value: [point.x, n], point, row: name })),
    }],
  };
};

const cellTip = (figure, { data }) => {
  const { point, row } = data;
  const box = node("tip-box", "", node("tip-head", `${row}, ${wordsOn(figure.x, point.x)}`));
  if (point.y != null) {
    const ratio = node("tip-value", format(figure.y.unit, point.y));
    box.append(node("tip-row", "", node("tip-name", figure.y.label), ratio));
  }
  if (point.label) box.append(node("tip-note", point.label));
  return box;
};

// ---- scatter -----------------------------------------------------------------------------

const textWidth = (() => {
  const pen = document.createElement("canvas").getContext("2d");
  return (text, font) => { pen.font = font; return pen.measureText(text).width; };
})();

// Names beside their signs: right, left, above, below, then farther off with a line, the first
// place that is free of signs and of other names.
const placeNames = (dots, font, room) => {
  const taken = dots.map(({ x, y }) => [x - 7, y - 7, x + 7, y + 7]);
  const free = ([a, b, c, d]) => a >= room.x && c <= room.x + room.width && b >= room.y - 6 &&
    d <= room.y + room.height && taken.every(([e, f, g, h]) => c < e || g < a || d < f || h < b);
  return dots.map(({ x, y, text }) => {
    const w = textWidth(text, font);
    const around = (off) => [[x + 9 + off, y - off], [x - 9 - off - w, y - off], [x + 9 + off, y + off],
      [x - 9 - off - w, y + off], [x - w / 2, y - 15 - off], [x - w / 2, y + 15 + off]];
    const boxes = [0, 12, 24, 40, 58, 80].flatMap(around).map(([at, mid]) => [at, mid - 7, at + w, mid + 7]);
    const box = boxes.find(free) ?? boxes[0];
    taken.push(box);
    return { text, x: box[0], y: box[1] + 7, w, far: boxes.indexOf(box) > 5 };
  });
};

const namesOver = (figure, look) => {
  const all = figure.series.filter(({ drawn }) => drawn !== "line").flatMap(({ points }) => points)
    .filter((p) => p.y != null && p.label);
  const font = `${look.narrow ? 10 : 11.5}px ${look.font}`;
  const at = (p) => [place(figure.x, p.x), place(figure.y, p.y)];
  const renderItem = (params, api) => {
    const dots = all.map((p) => { const [x, y] = api.coord(at(p)); return { x, y, text: p.label }; });
    const children = placeNames(dots, font, params.coordSys).flatMap(({ text, x, y, w, far }, n) => {
      const end = dots[n].x < x ? x - 2 : dots[n].x > x + w ? x + w + 2 : dots[n].x;
      const lead = { type: "line", style: { stroke: look.muted, lineWidth: 1, opacity: 0.7 },
        shape: { x1: dots[n].x, y1: dots[n].y, x2: end, y2: y } };
      const name = { type: "text", style: { text, x, y, verticalAlign: "middle", fill: look.ink, font,
        backgroundColor: look.card, padding: [0, 1] } };
      return far ? [lead, name] : [name];
    });
    return { type: "group", silent: true, children };
  };
  return { id: "names", type: "custom", renderItem, data: all.slice(0, 1).map(at), silent: true, z: 7,
    tooltip: { show: false } };
};

const scatterSeries = (figure, series, index, look) => {
  if (series.drawn === "line") return lineSeries(figure, series, index, look);
  const data = series.points.map((p) => [place(figure.x, p.x), place(figure.y, p.y)]);
  const bars = series.points.filter((p) => p.low != null && p.high != null);
  const renderItem = (params, api) => {
    const [p, style] = [bars[params.dataIndex], { stroke: look.series[index % 7], lineWidth: 1.8 }];
    const [a, b] = [p.low, p.high].map((v) => api.coord([place(figure.x, p.x), place(figure.y, v)]));
    return { type: "line", style, shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] } };
  };
  return [
    { type: "scatter", data, symbol: symbols[index % 4], symbolSize: index % 4 === 3 ? 15 : 12,
      itemStyle: signStyle(index, look), z: 4 },
    { type: "custom", renderItem, silent: true, clip: true, z: 2,
      data: bars.map((p) => [place(figure.x, p.x), place(figure.y, p.y)]) },
  ];
};

const scatterTip = (figure, hits) => {
  const box = node("tip-box", "");
  for (const { name, point } of hits) {
    const row = (axis, words) =>
      node("tip-row", "", node("tip-name", axis.label), node("tip-value", words));
    box.append(node("tip-head", point.label ?? name),
      row(figure.x, format(figure.x.unit, point.x)), row(figure.y, describe(figure.y.unit, point)),
      node("tip-note", name));
  }
  return box;
};

// ---- course ------------------------------------------------------------------------------

// The launches of a course: stretches of points between gaps.
const stretches = (points) => points.reduce((all, p) => {
  if (p.y == null) all.push([]);
  else all.at(-1).push(p);
  return all;
}, [[]]).filter((stretch) => stretch.length);

const courseSeries = (figure, series, index, look) => {
  const at = (p, v) => [place(figure.x, p.x), place(figure.y, v)];
  const launches = stretches(series.points);
  const band = (params, api) => {
    const launch = launches[params.dataIndex];
    const upper = launch.map((p) => api.coord(at(p, p.high ?? p.y)));
    const lower = launch.map((p) => api.coord(at(p, p.low ?? p.y))).reverse();
    return { type: "polygon", shape: { points: [...upper, ...lower] }, silent: true,
      style: { fill: look.series[0], opacity: 0.22 } };
  };
  const ground = (params, api) => {
    const { from, to } = series.spans[params.dataIndex];
    const { y, height } = params.coordSys;
    const [left, right] = [from, to].map((x) => api.coord([x, api.value(1)])[0]);
    const rect = (top, tall, opacity) => ({ type: "rect", style: { fill: look.series[1], opacity },
      shape: { x: left, y: top, width: right - left, height: tall } });
    return { type: "group", silent: true, children: [rect(y, height, 0.1), rect(y, 4, 0.9)] };
  };
  const first = launches[0]?.[0];
  return [
    { type: "line", data: series.points.map((p) => at(p, p.y)), showSymbol: false, connectNulls: false,
      lineStyle: { width: 1.6, color: look.series[0] }, itemStyle: { color: look.series[0] }, z: 3 },
    { type: "custom", renderItem: band, data: launches.map(([p]) => at(p, p.y)), clip: true, silent: true, z: 1 },
    { type: "custom", renderItem: ground, silent: true, clip: true, z: 0,
      data: first ? series.spans.map(({ from }) => [from, place(figure.y, first.y)]) : [] },
    ...ringSeries(figure, series, look),
  ];
};

const courseTip = (figure, { x, y, low, high, label }) => {
  const words = (v) => format(figure.y.unit, v);
  const row = (name, v) => node("tip-row", "", node("tip-name", name), node("tip-value", words(v)));
  const box = node("tip-box", "", node("tip-head", `${figure.x.label} ${Math.round(x)}`),
    row("p99 of the slice", high), row("median", y), row("smallest", low));
  if (label) box.append(node("tip-note", label));
  return box;
};
