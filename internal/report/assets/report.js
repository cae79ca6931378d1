// The report's tables: sorted by a click on a head, filtered by name and class.
// Pages work without it.
"use strict";
(() => {
const root = document.documentElement;
root.classList.add("js");
const $ = (id) => document.getElementById(id);

// ---- tables

function value(row, column) {
  const cell = row.cells[column];
  const text = cell.dataset.v ?? cell.textContent.trim();
  if (text === "") return null;
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

function sortBy(table, column, header) {
  const down = header.getAttribute("aria-sort") === "ascending";
  for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, i) => ({row, i, v: value(row, column)}));
  rows.sort((a, b) => {
    if (a.v === null || b.v === null) return (a.v === null) - (b.v === null) || a.i - b.i; // empty ones last
    const order = typeof a.v === "number" && typeof b.v === "number" ? a.v - b.v
        : String(a.v).localeCompare(String(b.v));
    return (down ? -order : order) || a.i - b.i;
  });
  body.append(...rows.map((r) => r.row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((th, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = th.textContent;
    button.addEventListener("click", () => sortBy(table, column, th));
    th.replaceChildren(button);
  });
}

// Paper has nothing to unfold.
addEventListener("beforeprint", () => {
  for (const d of document.querySelectorAll("details")) d.open = true;
});

if ($("filter")) {
  const show = () => {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = $("class").value;
    let shown = 0;
    const rows = [...$("table").tBodies[0].rows];
    for (const row of rows) {
      const name = [0, 1, 2].map((i) => row.cells[i]?.title || row.cells[i]?.textContent || "").join(" ")
          .toLowerCase();
      row.hidden = !(words.every((w) => name.includes(w)) && (wanted === "" || row.dataset.class === wanted));
      if (!row.hidden) shown++;
    }
    $("shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} keys`;
  };
  $("filter").addEventListener("input", show);
  $("class").addEventListener("change", show);
}
})();
