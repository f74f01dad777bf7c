/** Return the order of two values, the missing ones last. */
function ordered(one, other, down) {
  if (one === null || other === null) return (one === null) - (other === null);
  return (down ? -1 : 1) * (one < other ? -1 : one > other ? 1 : 0);
}

/** Return a table that is sorted by a click on a column's head; `choose` gets the row clicked on, if it is `choosable`. */
function table(caption, rows, { short, choose, choosable = () => true, of = "" }) {
  const names = Object.keys(rows[0]).filter((name) => rows.some((row) => row[name] !== null));
  const numeric = (name) => rows.every((row) => row[name] === null || typeof row[name] === "number");
  const body = el("tbody");
  const fill = (sorted) => body.replaceChildren(...sorted.map((row) => {
    const cells = names.map((name) => {
      const value = written(name, row[name]);
      if (numeric(name)) return el("td", { class: "number" }, value);
      return el("td", { class: "name", title: value }, short[value] ?? value);
    });
    const line = el("tr", { "data-text": names.map((name) => row[name]).join(" ").toLowerCase() }, ...cells);
    if (choose && choosable(row)) {
      cells[0].replaceChildren(el("button", { type: "button", class: "link", onclick: () => choose(row) }, cells[0].textContent));
    }
    return line;
  }));
  const head = names.map((name) => {
    const cell = el("th", numeric(name) ? { scope: "col", class: "number" } : { scope: "col" });
    cell.append(el("button", { type: "button", onclick: () => {
      const down = cell.getAttribute("aria-sort") !== "descending";
      for (const other of head) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      fill([...rows].sort((one, other) => ordered(one[name], other[name], down)));
    } }, heading(name)));
    return cell;
  });
  fill(rows);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": of ? `${caption} of ${of}` : caption },
    el("table", {}, el("thead", {}, el("tr", {}, ...head)), body));
}

/** Return a table below a summary that folds it. */
function folded(caption, rows, open, how) {
  return el("details", open ? { open: "" } : {}, el("summary", {}, `${caption} (${rows.length})`), table(caption, rows, how));
}
