// Drawers of the kinds that a study declares: bars beside each other, boxes, message sequences.

// Where series `nth` of `all` stands within its category; as `Figure::slot` has it.
const slotOf = (nth, all) => 0.8 * ((nth + 0.5) / Math.max(1, all) - 0.5);

// The series that have a slot: signs stand at the bar of another.
const slotted = (figure) => figure.series.filter(({ drawn }) => drawn === "as_kind");

// Pixels of values at a category, `off` of a step away from its middle, on a page either way.
const across = (figure, api, at, values, off) => {
  const swap = figure.horizontal;
  const step = swap ? api.size([0, 1])[1] : api.size([1, 0])[0];
  const shift = off * Math.abs(step);
  const spots = values.map((v) => {
    const [x, y] = api.coord(swap ? [v, at] : [at, v]);
    return swap ? [x, y + shift] : [x + shift, y];
  });
  return { step: Math.abs(step), spots };
};

const stroke = (color, width) => ([x1, y1], [x2, y2]) =>
  ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: color, lineWidth: width } });

// A line across at a spot, `half` to each side.
const capAt = (figure, line, [x, y], half) =>
  (figure.horizontal ? line([x, y - half], [x, y + half]) : line([x - half, y], [x + half, y]));

const boxBetween = (figure, [x1, y1], [x2, y2], half, style) => {
  const shape = figure.horizontal
    ? { x: Math.min(x1, x2), y: y1 - half, width: Math.abs(x2 - x1), height: 2 * half }
    : { x: x1 - half, y: Math.min(y1, y2), width: 2 * half, height: Math.abs(y2 - y1) };
  return { type: "rect", shape, style };
};

const wordsBehind = (figure, look, point, [x, y]) => ({ type: "text", silent: true, style: {
  text: format(figure.y.unit, point.y), fill: look.muted, font: `11px ${look.font}`,
  x: x + 7, y, verticalAlign: "middle" } });

// Where words may begin behind `from`: beyond the signs that stand at this bar.
const clearOfSigns = (figure, api, point, off, from) => {
  const slot = 0.4 / slotted(figure).length;
  return figure.series.filter(({ drawn }) => drawn === "signs").flatMap(({ points }) => points)
    .filter((p) => p.y != null && Math.abs(p.x - point.x - off) < slot)
    .map((p) => across(figure, api, point.x, [place(figure.y, p.y)], off).spots[0])
    .sort((a, b) => a[0] - b[0])
    .reduce((at, sign) => (sign[0] > at[0] - 8 && sign[0] < at[0] + 58 ? sign : at), from);
};

const groupedSeries = (figure, series, index, look) => {
  const at = (v) => place(figure.y, v);
  if (series.drawn === "signs") {
    const nth = figure.series.filter(({ drawn }) => drawn === "signs").indexOf(series);
    const data = series.points.map((p) => [p.x, at(p.y)]);
    const renderItem = (params, api) => {
      const p = series.points[params.dataIndex];
      const near = Math.round(p.x);
      const [mid] = across(figure, api, near, [at(p.y)], p.x - near).spots;
      return { ...signs[(3 + nth) % 4](...mid), z2: 20,
        style: { fill: look.card, stroke: look.ink, lineWidth: 2 } };
    };
    return [{ type: "custom", renderItem, data, encode: figure.horizontal ? { x: 1, y: [] } : { x: [], y: 1 }, clip: true, z: 5 }];
  }
  const all = slotted(figure);
  const off = slotOf(all.indexOf(series), all.length);
  const color = look.series[index % 7];
  const renderItem = (params, api) => {
    const p = series.points[params.dataIndex];
    if (p.y == null) return drawReason(figure, params, api, p, off * Math.abs(api.size([0, 1])[1]), look);
    const ends = [0, p.y, p.low ?? p.y, p.high ?? p.y].map(at);
    const { step, spots: [zero, mid, low, high] } = across(figure, api, p.x, ends, off);
    const half = Math.min(13, 0.36 * step / all.length);
    const line = stroke(look.ink, 1.6);
    const bar = boxBetween(figure, zero, mid, half, { fill: color,
      ...(index % 8 > 3 ? { opacity: 0.45, stroke: color, lineWidth: 1.5 } : {}) });
    const whisker = p.low == null ? [] : [line(low, high), capAt(figure, line, low, 4), capAt(figure, line, high, 4)];
    const words = figure.horizontal && !look.narrow
      ? [wordsBehind(figure, look, p, clearOfSigns(figure, api, p, off, high))] : [];
    return { type: "group", children: [bar, ...whisker, ...words] };
  };
  const data = series.points.map((p) => [p.x, at(p.y)]);
  return [{ type: "custom", renderItem, data, encode: figure.horizontal ? { x: 1, y: 0 } : { x: 0, y: 1 }, clip: true }];
};

const boxSeries = (figure, series, index, look) => {
  const at = (v) => place(figure.y, v);
  const all = slotted(figure);
  const off = slotOf(all.indexOf(series), all.length);
  const color = look.series[index % 7];
  const renderItem = (params, api) => {
    const p = series.points[params.dataIndex];
    if (p.y == null) return drawReason(figure, params, api, p, off * Math.abs(api.size([0, 1])[1]), look);
    const five = [p.least ?? p.low ?? p.y, p.low ?? p.y, p.y, p.high ?? p.y, p.most ?? p.high ?? p.y];
    const { step, spots } = across(figure, api, p.x, five.map(at), off);
    const [least, low, mid, high, most] = spots;
    const half = Math.min(11, 0.34 * step / all.length);
    const line = stroke(color, 1.8);
    const back = boxBetween(figure, low, high, half, { fill: look.card });
    const box = boxBetween(figure, low, high, half, { fill: color, fillOpacity: 0.25, stroke: color, lineWidth: 1.8 });
    const middle = capAt(figure, stroke(look.ink, 2.6), mid, half);
    const words = figure.horizontal && !look.narrow ? [wordsBehind(figure, look, p, most)] : [];
    return { type: "group", children: [line(least, low), line(high, most), capAt(figure, line, least, half / 2),
      capAt(figure, line, most, half / 2), back, box, middle, ...words] };
  };
  const data = series.points.map((p) => [p.x, at(p.y), at(p.least), at(p.most)]);
  return [{ type: "custom", renderItem, data, clip: true,
    encode: figure.horizontal ? { x: [1, 2, 3], y: 0 } : { x: 0, y: [1, 2, 3] } }];
};

const boxTip = (figure, hits) => {
  const box = node("tip-box", "", node("tip-head", wordsOn(figure.x, hits[0].point.x)));
  for (const { name, point } of hits) {
    const row = (what, v) => node("tip-row", "", node("tip-name", what), node("tip-value", format(figure.y.unit, v)));
    box.append(node("tip-name", name), row("largest", point.most), row("third quartile", point.high),
      row("median", point.y), row("first quartile", point.low), row("smallest", point.least));
    if (point.label) box.append(node("tip-note", point.label));
  }
  return box;
};

// ---- message sequences -------------------------------------------------------------------

// Steps run down from 0; the heads stand above, the life lines end below.
const protocolAxes = (figure) => [
  { type: "value", min: 0, max: 1, show: false },
  { type: "value", min: -1, max: figure.protocol.steps.length, inverse: true, show: false },
];

// Where the life lines stand, as a part of the width: room to the left for what is timed.
const lifeLine = (figure, look, nth) => {
  const [left, right] = look.narrow ? [0.3, 0.86] : [0.34, 0.82];
  return left + (right - left) * nth / Math.max(1, figure.protocol.parties.length - 1);
};

const protocolSeries = (figure, look) => {
  const { parties, steps, timed, timed_label: timedLabel } = figure.protocol;
  const size = look.narrow ? 11 : 12.5;
  const renderItem = (params, api) => {
    const spot = (party, row) => api.coord([lifeLine(figure, look, party), row]);
    const words = (text, [x, y], align, fill, weight, width) => ({ type: "text", silent: true, style: {
      text, x, y, align, verticalAlign: "middle", fill, font: `${weight} ${size}px ${look.font}`,
      ...(width ? { width, overflow: "break", lineHeight: size * 1.3 } : {}) } });
    const children = parties.flatMap((name, n) => {
      const [x, top] = spot(n, -0.55);
      const [, end] = spot(n, steps.length - 0.25);
      const half = Math.max(48, textWidth(name, `600 ${size}px ${look.font}`) / 2 + 12);
      return [
        { type: "line", shape: { x1: x, y1: top, x2: x, y2: end }, style: { stroke: look.muted, lineWidth: 1, lineDash: [3, 4] } },
        { type: "rect", shape: { x: x - half, y: top - 13, width: 2 * half, height: 26, r: 5 },
          style: { fill: look.card, stroke: look.muted, lineWidth: 1.2 } },
        words(name, [x, top], "center", look.ink, 600),
      ];
    });
    if (timed) {
      const [x, top] = spot(0, timed[0] - 0.1);
      const [, end] = spot(0, timed[1] + 0.45);
      const color = look.series[1];
      const line = stroke(color, 2);
      const [left, room] = [x - 16, x - 16 - params.coordSys.x];
      children.push(line([left, top], [left, end]), line([left, top], [x - 6, top]), line([left, end], [x - 6, end]),
        { type: "rect", shape: { x: x - 4, y: top, width: 8, height: end - top, r: 2 }, style: { fill: color, opacity: 0.85 } },
        words(timedLabel, [left - 9, (top + end) / 2], "right", color, 600, room - 12));
    }
    for (const [row, step] of steps.entries()) {
      if (step.what === "message") {
        const [[x1, y1], [x2, y2]] = [spot(step.from, row), spot(step.to, row + 0.35)];
        const way = Math.sign(x2 - x1);
        const [from, to] = [x1 + 6 * way, x2 - 3 * way];
        const color = look.series[0];
        const angle = Math.atan2(y2 - y1, to - from);
        const barb = (turn) => [to - 11 * Math.cos(angle + turn), y2 - 11 * Math.sin(angle + turn)];
        children.push(stroke(color, 2)([from, y1], [to, y2]),
          { type: "polygon", shape: { points: [[to, y2], barb(0.38), barb(-0.38)] }, style: { fill: color } },
          words(step.label, [(x1 + x2) / 2, (y1 + y2) / 2 - 13], "center", look.ink, 400));
      } else if (step.what === "act") {
        const [x, y] = spot(step.by, row + 0.15);
        const half = textWidth(step.label, `${size}px ${look.font}`) / 2 + 9;
        children.push({ type: "rect", shape: { x: x - half, y: y - 11, width: 2 * half, height: 22, r: 11 },
          style: { fill: look.card, stroke: look.series[0], lineWidth: 1.6 } },
        words(step.label, [x, y], "center", look.ink, 400));
      } else {
        const middle = [(spot(0, row)[0] + spot(parties.length - 1, row)[0]) / 2, spot(0, row + 0.18)[1]];
        const width = Math.abs(spot(parties.length - 1, row)[0] - spot(0, row)[0]) - 24;
        children.push(words(`⋯ ${step.label}`, middle, "center", look.muted, "italic", width));
      }
    }
    return { type: "group", children };
  };
  return [{ id: "protocol", type: "custom", renderItem, data: [[0.5, 0]], silent: true, clip: false }];
};
