// The values of a figure as a table, built when it is looked at; and the list of all results, sorted and filtered.

const tableOf = (heads, rows) => {
  const line = (cells, name) => {
    const row = document.createElement("tr");
    row.append(...cells.map((cell, n) => {
      const made = document.createElement(name === "th" || n === 0 ? "th" : "td");
      if (made.tagName === "TH") made.scope = name === "th" ? "col" : "row";
      made.append(cell);
      return made;
    }));
    return row;
  };
  const [table, head, body] = ["table", "thead", "tbody"].map((name) => document.createElement(name));
  head.append(line(heads, "th"));
  body.append(...rows.map((cells) => line(cells, "td")));
  table.append(head, body);
  return table;
};

const scrolled = (table, label) => {
  const holder = setAll(element("div", "scroll", ""), { tabindex: 0, role: "group", "aria-label": label });
  holder.append(table);
  return holder;
};

// Every point, or where nobody would read them a line per series.
const LISTED = 500;
const valuesOf = (figure) => {
  const { series, y } = figure;
  if (series.reduce((sum, { points }) => sum + points.length, 0) <= LISTED) {
    const all = series.flatMap(({ points }, s) => points.map((_, p) => said(figure, s, p)));
    const heads = ["Series", ...(all[0]?.rows ?? []).map(([name]) => name), "Remark"];
    return tableOf(heads, all.map(({ whose, rows, note }) =>
      [whose, ...rows.map(([, value]) => value), note ?? ""]));
  }
  return tableOf(["Series", "Values", "Minimum", "Median", "p99", "Maximum"], series.map(({ name, points }) => {
    const values = points.map((it) => it[1]).filter((v) => v != null).sort((a, b) => a - b);
    const at = (share) => format(y.unit, values[Math.max(1, Math.ceil(share * values.length)) - 1]);
    return [name, format("count", values.length), ...[0, 0.5, 0.99, 1].map(at)];
  }));
};

// The list of all results is in the page: a head sorts its rows by the value of a cell (`data-v`, else the words),
// and a field leaves those that have every word asked for.
const list = (holder) => {
  const table = holder.querySelector("table");
  const rows = [...table.tBodies[0].rows].map((row) => ({
    row,
    text: [...row.cells].map((cell) => cell.textContent).join("  ").toLowerCase(),
    keys: [...row.cells].map(({ dataset: { v, u = "" }, textContent }) =>
      ({ u, key: v === undefined ? textContent : Number(v || parseFloat(textContent.replaceAll(",", ""))) })),
  }));
  let [by, way] = [null, 1];
  // What has no value stands last whichever way; values of different units aren't mixed.
  const compare = ({ keys: { [by]: a } }, { keys: { [by]: b } }) => {
    const none = ({ key }) => key === "" || Number.isNaN(key);
    if (none(a) || none(b)) return none(a) - none(b);
    if (a.u !== b.u) return a.u < b.u ? -1 : 1;
    return way * (typeof a.key === "string" ? a.key.localeCompare(b.key, "en", { numeric: true }) : a.key - b.key);
  };
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, n) => {
    const button = Object.assign(element("button", "", head.textContent), { type: "button" });
    button.addEventListener("click", () => {
      [by, way] = [n, by === n ? -way : 1];
      rows.sort(compare);
      table.tBodies[0].append(...rows.map(({ row }) => row));
      heads.forEach((it, at) => it.setAttribute("aria-sort", at !== by ? "none" : way > 0 ? "ascending" : "descending"));
    });
    head.replaceChildren(button);
  });
  const filter = Object.assign(document.createElement("input"), { type: "search", placeholder: "pipe, 64 B, one CPU" });
  const label = element("label", "", "Rows with ");
  const count = setAll(element("span", "hint", ""), { role: "status" });
  const show = () => {
    const asked = filter.value.toLowerCase().split(",").map((it) => it.trim());
    rows.forEach(({ row, text }) => { row.hidden = !asked.every((it) => text.includes(it)); });
    const box = holder.querySelector(".scroll");
    const further = box.scrollHeight > box.clientHeight + 1 ? ": the list goes on below, scroll in it" : "";
    count.textContent = `${rows.filter(({ row }) => !row.hidden).length} of ${rows.length} rows${further}`;
  };
  filter.addEventListener("input", show);
  label.append(filter);
  const tools = element("div", "tools", "");
  tools.append(label, count);
  holder.prepend(tools);
  show();
};

