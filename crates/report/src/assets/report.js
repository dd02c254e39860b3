// The life of the page: mounts each figure beside its data, follows the theme and the width,
// and prints in light colours. Nothing is fetched and nothing is stored.

const root = document.documentElement;
const mounted = [];

// Colours live in the stylesheet; a probe resolves them for the theme that is on.
const currentLook = () => {
  const probe = document.body.appendChild(document.createElement("span"));
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const names = ["ink", "muted", "rule", "card"];
  const look = Object.fromEntries(names.map((name) => [name, read(name)]));
  look.series = [1, 2, 3, 4, 5, 6, 7].map((n) => read(`series-${n}`));
  look.font = getComputedStyle(document.body).fontFamily;
  probe.remove();
  return look;
};

// Points come as [x, y, low, high, label, marked, least, most] with trailing nulls left out.
const readFigure = (holder) => {
  const figure = JSON.parse(holder.querySelector("script").textContent);
  for (const series of figure.series) {
    series.points = series.points.map(([x, y = null, low = null, high = null, label = null, marked = 0, least = null, most = null]) =>
      ({ x, y, low, high, label, marked, least, most })).filter((p) => p.x != null);
  }
  figure.marks = figure.marks.filter((mark) => mark.value != null);
  return figure;
};

// Of a course one series is shown at a time.
const viewOf = ({ figure, shown }) =>
  (figure.kind === "course" ? { ...figure, series: figure.series.slice(shown, shown + 1) } : figure);

const chooser = (one) => {
  const choose = document.createElement("select");
  one.figure.series.forEach(({ name }, n) => choose.append(new Option(name, n)));
  choose.addEventListener("change", () => { one.shown = Number(choose.value); draw(one); });
  const label = Object.assign(document.createElement("label"), { className: "choose", textContent: "Show " });
  label.append(choose);
  one.plot.before(label);
};

const draw = (one) => {
  const width = one.plot.clientWidth;
  const narrow = width < 560;
  const height = heightOf(one.figure, narrow);
  one.plot.style.height = `${height}px`;
  one.chart.resize();
  const selected = one.chart.getOption()?.legend?.[0]?.selected;
  const option = optionFor(viewOf(one), { ...currentLook(), width, height, narrow });
  if (selected) option.legend.selected = selected;
  one.chart.setOption(option, { notMerge: true });
  one.width = width;
};

// After a zoom the ticks are chosen again for the range that is left.
const retick = ({ chart, figure, plot }) => {
  const change = {};
  for (const [name, room] of [["xAxis", plot.clientWidth / 84], ["yAxis", plot.clientHeight / 50]]) {
    const axis = (name === "xAxis") === figure.horizontal ? figure.y : figure.x;
    if (axis.scale === "category" || ["heatmap", "protocol"].includes(figure.kind)) continue;
    const extent = chart.getModel().getComponent(name).axis.scale.getExtent();
    change[name] = ticksFor(axis, extent, room);
  }
  chart.setOption(change);
};

const mount = (holder) => {
  const figure = readFigure(holder);
  const plot = holder.querySelector(".plot");
  plot.style.height = `${heightOf(figure, plot.clientWidth < 560)}px`;
  const renderer = figure.points > 5000 ? "canvas" : "svg";
  const one = { figure, plot, width: 0, shown: 0, chart: echarts.init(plot, null, { renderer }) };
  mounted.push(one);
  if (figure.kind === "course" && figure.series.length > 1) chooser(one);
  draw(one);
  one.chart.on("datazoom", () => retick(one));
  one.chart.on("restore", () => retick(one));
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (plot.clientWidth !== one.width && plot.clientWidth > 0) draw(one);
  })).observe(plot);
};

const redraw = () => mounted.forEach(draw);
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

const toggle = document.getElementById("theme");
const nameToggle = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
toggle.hidden = false;
toggle.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  nameToggle();
  redraw();
});
prefersDark.addEventListener("change", () => { nameToggle(); redraw(); });

// On paper the figures are light and as wide as the sheet, which only the stylesheet knows.
let before;
addEventListener("beforeprint", () => {
  before = root.dataset.theme;
  root.dataset.theme = "light";
  root.dataset.paper = "";
  redraw();
});
addEventListener("afterprint", () => {
  delete root.dataset.paper;
  if (before) root.dataset.theme = before;
  else delete root.dataset.theme;
  redraw();
});

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

nameToggle();
document.querySelectorAll("figure.figure").forEach(mount);
