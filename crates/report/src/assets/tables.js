// Tables that are built when they are looked at: the values of a figure, and the list of all results.

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
  const fill = (all) => body.replaceChildren(...all.map((cells) => line(cells, "td")));
  head.append(line(heads, "th"));
  table.append(head, body);
  fill(rows);
  return { table, fill };
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
      [whose, ...rows.map(([, value]) => value), note ?? ""])).table;
  }
  return tableOf(["Series", "Values", "Minimum", "Median", "p99", "Maximum"], series.map(({ name, points }) => {
    const values = points.map((it) => it[1]).filter((v) => v != null).sort((a, b) => a - b);
    const at = (share) => format(y.unit, values[Math.max(1, Math.ceil(share * values.length)) - 1]);
    return [name, format("count", values.length), ...[0, 0.5, 0.99, 1].map(at)];
  })).table;
};

// A cell is null, words, a number, or `[value, low, high, unit]` with the unit of the column if none is said.
const list = (holder) => {
  const { caption, columns, rows } = JSON.parse(holder.querySelector("script").textContent);
  const cellOf = (cell, n) => {
    if (cell === null || typeof cell === "string") return { words: cell ?? "–", key: cell || null, unit: "" };
    const [value, low, high, unit = columns[n][1]] = [cell].flat();
    return { words: interval(unit, value, low, high), key: value, unit };
  };
  const all = rows.map((row) => row.map(cellOf))
    .map((cells) => ({ cells, text: cells.map(({ words }) => words).join("  ").toLowerCase() }));
  let [by, way] = [null, 1];
  // What has no value stands last whichever way; values of different units aren't mixed.
  const compare = (a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
    if (a.unit !== b.unit) return a.unit < b.unit ? -1 : 1;
    return way * (typeof a.key === "string" ? a.key.localeCompare(b.key, "en", { numeric: true }) : a.key - b.key);
  };
  const filter = Object.assign(document.createElement("input"), { type: "search", placeholder: "pipe, 64 B, one CPU" });
  const label = element("label", "", "Rows with ");
  const count = setAll(element("span", "hint", ""), { role: "status" });
  const heads = columns.map(([name], n) => {
    const head = Object.assign(element("button", "", name), { type: "button" });
    head.addEventListener("click", () => {
      [by, way] = [n, by === n ? -way : 1];
      show();
    });
    return head;
  });
  const { table, fill } = tableOf(heads, []);
  const show = () => {
    const asked = filter.value.toLowerCase().split(",").map((it) => it.trim());
    const left = all.filter(({ text }) => asked.every((it) => text.includes(it)));
    if (by !== null) left.sort((a, b) => compare(a.cells[by], b.cells[by]));
    fill(left.map(({ cells }) => cells.map(({ words }) => words)));
    count.textContent = `${left.length} of ${all.length}`;
    heads.forEach((head, n) => head.parentNode
      .setAttribute("aria-sort", n !== by ? "none" : way > 0 ? "ascending" : "descending"));
    [...table.rows].forEach(({ cells }) => [...cells].forEach((cell, n) => {
      cell.className = columns[n][1] === null ? "left" : "right";
    }));
  };
  filter.addEventListener("input", show);
  label.append(filter);
  const tools = element("div", "tools", "");
  tools.append(label, count);
  holder.querySelector(".fallback").replaceWith(tools, scrolled(table, caption));
  show();
};

