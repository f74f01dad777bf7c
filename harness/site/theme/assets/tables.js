// Tables below ".sortable": sorted by a click on a column's head, filtered by a text.
"use strict";

/** Return what a cell is sorted by: its data-value, a number if it is one, else its text. */
function sortValue(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim().toLowerCase();
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Return the order of two values; what is no number, such as a value that is missing, comes last. */
function inOrder(one, other) {
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Make a button of each head of a table; it sorts the rows, down and up in turn. */
function sortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [sortValue(row.cells[place]), row]);
      rows.sort(([one], [other]) => (down && typeof one === typeof other ? -1 : 1) * inOrder(one, other));
      body.append(...rows.map(([, row]) => row));
    });
    head.append(button);
  });
}

/** Put a field above a table that hides the rows without each of its words, and counts the others. */
function filterable(box, table) {
  const rows = [...table.tBodies[0].rows];
  const what = box.dataset.what;
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = `Filter ${what}`;
  field.setAttribute("aria-label", `Filter ${what}`);
  const count = document.createElement("output");
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} ${what}`;
  };
  field.addEventListener("input", show);
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(field, count);
  box.prepend(tools);
  show();
}

document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".sortable")) {
    const table = box.querySelector("table");
    sortable(table);
    filterable(box, table);
  }
});
