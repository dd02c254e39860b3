// The life of a report page. Figures stand in it drawn; here a reader points at them, zooms in, hides
// series and takes them along. Nothing is fetched and nothing is stored. What is built here is built
// from nodes: no name is ever parsed as HTML. The attributes of a picture are described in svg.rs.
// ---- what is in a picture ------------------------------------------------------------------

const setAll = (node, attributes) => {
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  return node;
};
const svgNode = (name, attributes) =>
  setAll(document.createElementNS("http://www.w3.org/2000/svg", name), attributes);

const numbersIn = (path) => path.match(/-?[\d.]+/g).map(Number);

const anchorOf = (node) => {
  const at = (name) => Number(node.getAttribute(name));
  if (node.dataset.x) return Number(node.dataset.x);
  if (node.tagName === "circle") return at("cx");
  if (node.tagName !== "polygon") return at("x") + at("width") / 2;
  const xs = [...node.points].map(({ x }) => x);
  return (Math.min(...xs) + Math.max(...xs)) / 2;
};

// What a zoom stretches: its axis, the ticks before it, and what in it keeps its form.
const frameOf = (group, index, svg) => {
  const [scale, unit, ...numbers] = group.dataset.axis.split(" ");
  const [low, high, from, to] = numbers.map(Number);
  const ticks = svg.querySelectorAll(".ticks")[index];
  const rigid = [...group.querySelectorAll("text, circle, .rigid")].map((node) => [node, anchorOf(node)]);
  const [, top, , tall] = numbersIn(ticks.querySelector("path")?.getAttribute("d") ?? "0 0 0 0");
  const clip = svgNode("rect", { y: -1e4, height: 2e4 });
  const path = svgNode("clipPath", { id: `clip-${frameOf.made = (frameOf.made ?? 0) + 1}` });
  path.append(clip);
  svg.prepend(path);
  return { group, scale, unit, low, high, from, to, top, tall, ticks, drawn: [...ticks.childNodes], rigid, clip, id: path.id };
};

// The places along a path of one `M` and small steps for each of its runs.
const placesOf = (path) => path.getAttribute("d").split("M").slice(1).flatMap((run) => {
  const numbers = numbersIn(run);
  let [x, y] = [0, 0];
  return Array.from({ length: numbers.length / 2 }, (_, n) => [x += numbers[2 * n], y += numbers[2 * n + 1]]);
});

// Every point of a picture with its place; `s` and `p` are the numbers of series and point.
const spotsOf = (svg, frames, figure) =>
  [...svg.querySelectorAll("[data-p], [data-line] > path")].flatMap((node) => {
    const s = Number(node.closest("[data-s]").dataset.s);
    const frame = frames.find(({ group }) => group.contains(node));
    if (node.dataset.p) {
      const [p, x, y] = node.dataset.p.split(" ").map(Number);
      return [{ s, p, x, y, frame, node }];
    }
    const drawn = figure.series[s].points.flatMap(([, y], p) =>
      (y == null || (figure.y.scale === "log" && y <= 0) ? [] : [p]));
    return placesOf(node).map(([x, y], n) => ({ s, p: drawn[n], x, y, frame }));
  });

// ---- one figure ----------------------------------------------------------------------------

const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
tip.setAttribute("role", "status");
document.body.append(tip);

const element = (name, className, text) =>
  Object.assign(document.createElement(name), { className, textContent: text });

// What is said of a point: whose it is, and rows of a name and a value.
const said = ({ kind, x, y, series }, s, p) => {
  const [at, value, low, high, label, , least, most] = series[s].points[p];
  const of = (v) => format(y.unit, v);
  const rows = {
    boxes: [[x.label, wordsOn(x, at)], ["largest", of(most)], ["third quartile", of(high)],
      ["median", of(value)], ["first quartile", of(low)], ["smallest", of(least)]],
    time_series: [[x.label, String(Math.round(at))], ["p99 of the slice", of(high)],
      ["median", of(value)], ["smallest", of(low)]],
  }[kind] ?? [[x.label, wordsOn(x, at)], [y.label, interval(y.unit, value, low, high)]];
  const whose = kind === "scatter" && label ? `${label} (${series[s].name})` : series[s].name;
  return { whose, rows, note: kind === "scatter" ? null : label };
};

const csvCell = (value) => {
  const text = String(value ?? "");
  const formula = typeof value === "string" && /^[=+\-@\t\r]/.test(text);
  return formula || /[",\r\n]/.test(text) ? `"${formula ? "'" : ""}${text.replaceAll('"', '""')}"` : text;
};

const csvOf = ({ x, y, series }) => {
  const named = (axis) => {
    const unit = { number: "", count: "", ns: "ns", bytes: "B", bytes_per_second: "B/s", per_second: "1/s", joules: "J" };
    const words = axis.scale === "category" ? "" : unit[axis.unit] ?? axis.unit;
    return words ? `${axis.label} (${words})` : axis.label;
  };
  const head = ["series", named(x), named(y), "low", "high", "remark", "smallest", "largest"];
  const rows = series.flatMap(({ name, points }) => points.map(([at, value, low, high, label, , least, most]) =>
    [name, x.scale === "category" ? wordsOn(x, at) : at, value, low, high, label, least, most]));
  return [head, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
};

// A picture by itself, in the light colours of the page.
const standalone = (svg) => {
  const copy = svg.cloneNode(true);
  copy.querySelectorAll(".spot, .band").forEach((node) => node.remove());
  const { width, height } = svg.viewBox.baseVal;
  setAll(copy, { width, height, "font-family": getComputedStyle(svg).fontFamily });
  const own = svgNode("style", {});
  own.textContent = "text { fill: var(--muted) } .ink { fill: var(--ink) } "
    + ".halo { stroke: var(--card); stroke-width: 2.5; stroke-linejoin: round; paint-order: stroke }";
  copy.prepend(own, svgNode("rect", { width, height, fill: "var(--card)" }));
  const styles = document.querySelector("style").textContent;
  const light = Object.fromEntries([...styles.matchAll(/--([\w-]+): light-dark\((#\w+)/g)].map((it) => it.slice(1)));
  return new XMLSerializer().serializeToString(copy).replace(/var\(--([\w-]+)\)/g, (all, name) => light[name] ?? all);
};

const save = (name, type, text) => {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
};

// The points of a time series come in runs: [x of the first, step, y, low, high, y, low, high, …].
const spread = ([first, step, ...values]) => Array.from({ length: values.length / 3 }, (_, n) =>
  [Number((first + n * step).toFixed(3)), ...values.slice(3 * n, 3 * n + 3)]);

const read = (holder) => {
  const source = holder.querySelector("script");
  const figure = source && JSON.parse(source.textContent);
  if (figure?.kind === "time_series") figure.series.forEach((one) => { one.points = one.points.flatMap(spread); });
  if (figure?.grid) {
    const placed = (it, n) => (Array.isArray(it) ? it : [figure.grid[n], it]);
    figure.series.forEach((one) => { one.points = one.points.map(placed); });
  }
  return figure;
};

const mount = (holder) => {
  const figure = read(holder);
  const pictures = [...holder.querySelectorAll(".plot > svg")].map((svg) => {
    const frames = [...svg.querySelectorAll("[data-axis]")].map((group, n) => frameOf(group, n, svg));
    return { svg, frames, spots: spotsOf(svg, frames, figure) };
  });
  const hidden = new Set();
  let view = [0, 1];

  const shownAt = ({ x, frame }) => {
    if (!frame) return x;
    const length = frame.to - frame.from;
    return frame.from + length * ((x - frame.from) / length - view[0]) / (view[1] - view[0]);
  };
  const within = (spot) => !hidden.has(spot.s) && (!spot.frame ||
    (shownAt(spot) >= spot.frame.from - 1 && shownAt(spot) <= spot.frame.to + 1));

  // -- zoom --
  const stretch = (frame) => {
    const { group, from, to, rigid, clip, id, ticks, drawn } = frame;
    const whole = view[0] === 0 && view[1] === 1;
    const [times, length] = [1 / (view[1] - view[0]), to - from];
    const shift = from - times * from - view[0] * times * length;
    const set = (node, name, value) => (whole ? node.removeAttribute(name) : node.setAttribute(name, value));
    set(group, "transform", `matrix(${times} 0 0 1 ${shift} 0)`);
    set(group, "clip-path", `url(#${id})`);
    setAll(clip, { x: from + view[0] * length - 2 / times, width: (length + 4) / times });
    for (const [node, x] of rigid) set(node, "transform", `matrix(${1 / times} 0 0 1 ${x - x / times} 0)`);
    if (whole) return void ticks.replaceChildren(...drawn);
    const { to: place, from: value, ticks: choose } = scales[frame.scale];
    const span = frame.high - frame.low;
    const [low, high] = view.map((part) => value(frame.low + part * span));
    const [line, text] = ["path", "text"].map((name) => drawn.find((node) => node.tagName === name)?.cloneNode());
    if (!line) return;
    const at = choose(low, high, Math.min(9, Math.max(2, Math.floor(length / 62))), frame.unit)
      .map((v) => [shownAt({ x: from + length * (place(v) - frame.low) / span, frame }), tickWords(frame.unit, v)]);
    line.setAttribute("d", at.map(([x]) => `M${x} ${frame.top}v${frame.tall}`).join(""));
    ticks.replaceChildren(line, ...(text ? at : []).map(([x, said]) => {
      const words = text.cloneNode();
      words.setAttribute("x", x);
      words.textContent = said;
      return words;
    }));
  };
  const zoom = (from, to) => {
    view = to - from < 1e-4 ? view : [Math.max(0, from), Math.min(1, to)];
    pictures.forEach(({ frames }) => frames.forEach(stretch));
    reset.hidden = view[0] === 0 && view[1] === 1;
    hide();
  };
  const zoomBy = (times, part) => {
    const [from, to] = view;
    const at = from + part * (to - from);
    zoom(Math.max(0, at - (at - from) * times), Math.min(1, at + (to - at) * times));
  };

  // -- pointing --
  // What is grey until pointed at.
  const light = (n) => holder.querySelectorAll("[data-s], [data-k]").forEach((node) =>
    node.classList.toggle("lit", n !== null && Number(node.dataset.s ?? node.dataset.k) === n));
  const hide = () => {
    tip.hidden = true;
    holder.querySelectorAll(".spot").forEach((node) => node.remove());
    light(null);
  };
  const show = (picture, spot) => {
    hide();
    const { whose, rows, note } = said(figure, spot.s, spot.p);
    tip.replaceChildren(element("div", "whose", whose), ...rows.map(([name, value]) => {
      const row = element("div", "row", "");
      row.append(element("span", "", name), element("b", "", value));
      return row;
    }), ...(note ? [element("div", "note", note)] : []));
    const mark = svgNode("circle", { class: "spot", cx: shownAt(spot), cy: spot.y, r: 5.5 });
    picture.svg.append(mark);
    light(spot.s);
    tip.hidden = false;
    const [at, box] = [mark.getBoundingClientRect(), tip.getBoundingClientRect()];
    const left = Math.max(4, Math.min(at.right + 8, document.documentElement.clientWidth - box.width - 4));
    const above = at.top - box.height - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : at.bottom + 8}px`;
    picture.current = spot;
  };
  const placeOf = ({ svg }, event) => {
    const [box, { width, height }] = [svg.getBoundingClientRect(), svg.viewBox.baseVal];
    return [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
  };
  const nearest = (picture, x, y, all = picture.spots) => {
    const far = (spot) => Math.hypot(shownAt(spot) - x, spot.y - y);
    return all.filter(within).reduce((best, spot) => (best && far(best) <= far(spot) ? best : spot), null);
  };
  const point = (picture, event) => {
    const [x, y] = placeOf(picture, event);
    const node = event.target.closest("g[data-p]");
    const spot = picture.spots.find((it) => node && it.node === node) ?? nearest(picture, x, y);
    if (spot && (node || Math.hypot(shownAt(spot) - x, spot.y - y) < 28)) show(picture, spot);
    else hide();
  };
  // Left and right go along a series, up and down to the nearest point of another.
  const step = (picture, key) => {
    const [all, now] = [picture.spots.filter(within), picture.current];
    if (!all.length) return;
    if (!now || !within(now)) return void show(picture, all[0]);
    const way = ["ArrowRight", "ArrowDown"].includes(key) ? 1 : -1;
    const own = all.filter(({ s }) => s === now.s);
    const names = [...new Set(all.map(({ s }) => s))];
    const s = names[(names.indexOf(now.s) + way + names.length) % names.length];
    const next = key === "ArrowLeft" || key === "ArrowRight" ? own[own.indexOf(now) + way]
      : nearest(picture, shownAt(now), now.y, all.filter((spot) => spot.s === s));
    if (next) show(picture, next);
  };

  // -- dragging over a stretch --
  const drags = (picture) => {
    const { svg, frames } = picture;
    const [frame, last] = [frames[0], frames.at(-1)];
    let start = null;
    const band = svgNode("rect", { class: "band", y: frame.top, height: last.top + last.tall - frame.top });
    const inside = (x) => Math.min(frame.to, Math.max(frame.from, x));
    const ends = (event) => [start, inside(placeOf(picture, event)[0])].sort((a, b) => a - b);
    svg.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch" || event.target.closest(".key")) return;
      start = inside(placeOf(picture, event)[0]);
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      if (start === null) return;
      const [from, to] = ends(event);
      if (to - from < 4) return;
      hide();
      svg.append(band);
      ["x", "width"].forEach((name, n) => band.setAttribute(name, n ? to - from : from));
    });
    svg.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const parts = ends(event).map((x) => view[0] + (x - frame.from) / (frame.to - frame.from) * (view[1] - view[0]));
      if (band.isConnected) zoom(...parts);
      band.remove();
      start = null;
    });
    svg.addEventListener("pointercancel", () => { band.remove(); start = null; });
    svg.addEventListener("dblclick", () => zoom(0, 1));
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const part = (inside(placeOf(picture, event)[0]) - frame.from) / (frame.to - frame.from);
      zoomBy(event.deltaY < 0 ? 0.8 : 1.25, part);
    }, { passive: false });
  };

  // -- the legend --
  const groups = (name, n) => holder.querySelectorAll(`[data-${name}="${n}"]`);
  const toggle = (n) => {
    const off = !hidden.delete(n) && hidden.add(n);
    groups("s", n).forEach((node) => (off ? node.setAttribute("display", "none") : node.removeAttribute("display")));
    groups("k", n).forEach((node) => node.setAttribute("aria-pressed", String(!off)));
    hide();
  };
  const highlight = (n) => {
    holder.querySelectorAll("[data-s]").forEach((node) =>
      node.classList.toggle("faded", n !== null && Number(node.dataset.s) !== n));
    light(n);
  };

  for (const picture of pictures) {
    const { svg, frames, spots } = picture;
    svg.setAttribute("role", "group");
    if (spots.length) {
      svg.setAttribute("tabindex", "0");
      svg.addEventListener("pointermove", (event) => { if (!event.buttons) point(picture, event); });
      svg.addEventListener("pointerdown", (event) => { if (event.pointerType === "touch") point(picture, event); });
      svg.addEventListener("pointerleave", hide);
      svg.addEventListener("focus", () => { if (svg.matches(":focus-visible") && picture.spots[0]) step(picture, ""); });
      svg.addEventListener("blur", hide);
      svg.addEventListener("keydown", (event) => {
        if (event.target !== svg) return;
        if (event.key.startsWith("Arrow")) step(picture, event.key);
        else if (event.key === "Escape") hide();
        else if (frames.length && ["+", "-"].includes(event.key)) zoomBy(event.key === "+" ? 0.7 : 1.4, 0.5);
        else if (frames.length && event.key === "0") zoom(0, 1);
        else return;
        event.preventDefault();
      });
    }
    if (frames.length) drags(picture);
    for (const key of svg.querySelectorAll("[data-k]")) {
      const n = Number(key.dataset.k);
      setAll(key, { role: "button", tabindex: 0, "aria-pressed": true });
      key.addEventListener("click", () => toggle(n));
      key.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle(n);
      });
      ["pointerenter", "focus"].forEach((name) => key.addEventListener(name, () => highlight(n)));
      ["pointerleave", "blur"].forEach((name) => key.addEventListener(name, () => highlight(null)));
    }
  }

  // -- below the figure --
  const tools = element("div", "tools", "");
  const button = (words, act) => {
    const made = Object.assign(element("button", "", words), { type: "button" });
    made.addEventListener("click", act);
    tools.append(made);
    return made;
  };
  const name = holder.dataset.file;
  button("SVG", () => save(`${name}.svg`, "image/svg+xml", standalone(pictures[0].svg)));
  if (figure) button("CSV", () => save(`${name}.csv`, "text/csv", csvOf(figure)));
  const reset = Object.assign(button("Reset zoom", () => zoom(0, 1)), { hidden: true });
  if (pictures.some(({ frames }) => frames.length)) tools.append(element("span", "hint", "Drag across the plot to zoom in"));
  (holder.querySelector("details.more") ?? holder.querySelector(".plot")).after(tools);
  if (!figure) return;
  const values = document.createElement("details");
  values.append(element("summary", "", "The values as a table"));
  values.addEventListener("toggle", () => values.append(scrolled(valuesOf(figure), "The values")), { once: true });
  tools.after(values);
};

document.querySelectorAll("figure.figure").forEach(mount);
document.querySelectorAll(".listing").forEach(list);
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

// ---- the page ------------------------------------------------------------------------------

const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
const theme = document.getElementById("theme");
const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
prefersDark.addEventListener("change", nameTheme);
theme.hidden = false;
nameTheme();

// The section in view is marked in the list of sections.
const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    links.forEach((link) => link.removeAttribute("aria-current"));
    links.get(target.id)?.setAttribute("aria-current", "true");
  }
}, { rootMargin: "-10% 0px -80% 0px" });
document.querySelectorAll("main > section").forEach((section) => seen.observe(section));
