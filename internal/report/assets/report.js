// The report's behaviour. Pages work without it: it sorts and filters tables,
// and draws interactive plots from data that it loads as scripts on demand.
"use strict";
(() => {
const root = document.documentElement;
root.classList.add("js");
const $ = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

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
    const order = typeof a.v === "number" && typeof b.v === "number" ? a.v - b.v : String(a.v).localeCompare(String(b.v));
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

if ($("filter")) {
  const show = () => {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = $("class").value;
    let shown = 0;
    const rows = [...$("table").tBodies[0].rows];
    for (const row of rows) {
      const name = [0, 1, 2].map((i) => row.cells[i]?.textContent ?? "").join(" ").toLowerCase();
      row.hidden = !(words.every((w) => name.includes(w)) && (wanted === "" || row.dataset.class === wanted));
      if (!row.hidden) shown++;
    }
    $("shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} keys`;
  };
  $("filter").addEventListener("input", show);
  $("class").addEventListener("change", show);
}

// ---- plots

const pair = Number(document.body.dataset.pair ?? -1);
const name = document.body.dataset.name;
if (pair < 0 || !$("execution").options.length) return;

let data = null;      // what krund.pair brought
let current = 0;      // index of the execution
let plots = [];       // main plot first, then those of other columns
const others = new Map(); // execution -> columns
let cursor = null;

function load(file) {
  const script = document.createElement("script");
  script.src = "../data/" + file;
  script.onerror = () => { $("value").textContent = "The report's file data/" + file + " is missing."; };
  document.head.append(script);
}

window.krund = {
  pair(index, value) { if (index === pair) { data = value; draw(0); } },
  columns(index, execution, columns) {
    if (index !== pair) return;
    others.set(execution, columns);
    if (execution === current) drawOthers();
  },
};

const number = (v) => v === null || v === undefined ? "no value" : v === 0 ? "0" : Math.abs(v) >= 1e-4 && Math.abs(v) < 1e6 ? String(Number(v.toPrecision(7))) : v.toPrecision(7);
const bound = (v, low, high) => Math.min(Math.max(v, low), high);
const run = () => data.executions[current];
const last = () => Math.max(run().values.length - 1, 1);

function dashes(u, lines, style, dash, width) {
  const c = u.ctx;
  c.save();
  c.beginPath();
  c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  c.clip();
  c.strokeStyle = style;
  c.setLineDash(dash);
  c.lineWidth = width * devicePixelRatio;
  c.beginPath();
  for (const [x0, y0, x1, y1] of lines) { c.moveTo(x0, y0); c.lineTo(x1, y1); }
  c.stroke();
  c.restore();
}

// marks draws what the analysis found: means, changepoints and outliers.
function marks(u) {
  const e = run(), x = (v) => u.valToPos(v, "x", true), y = (v) => u.valToPos(v, "y", true);
  const top = u.bbox.top, bottom = top + u.bbox.height;
  dashes(u, e.changes.map((c) => [x(c), top, x(c), bottom]), colour("--hot"), [6, 5], 1);
  const mean = (wanted) => e.means.filter((m) => m[3] === wanted).map((m) => [x(m[0]), y(m[2]), x(m[1]), y(m[2])]);
  dashes(u, mean(0), colour("--ne"), [9, 5], 2);
  dashes(u, mean(1), colour("--eq"), [9, 5], 2);
  const common = new Set(e.common), c = u.ctx;
  c.save();
  c.beginPath();
  c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  c.clip();
  c.lineWidth = devicePixelRatio;
  for (const i of e.outliers) {
    if (i < u.scales.x.min || i > u.scales.x.max) continue;
    c.strokeStyle = colour(common.has(i) ? "--common" : "--hot");
    c.beginPath();
    c.arc(x(i), y(e.values[i]), 4 * devicePixelRatio, 0, 7);
    c.stroke();
  }
  c.restore();
}

// moved draws where the benchmark went to another core.
function moved(u) {
  const e = run();
  dashes(u, e.moves.map((m) => [u.valToPos(m[0], "x", true), u.bbox.top, u.valToPos(m[0], "x", true), u.bbox.top + u.bbox.height]), colour("--hot"), [2, 3], 1);
}

function read(i) {
  const e = run();
  if (i === null || i === undefined || i < 0 || i >= e.values.length) return;
  cursor = i;
  let text = `iteration ${i}: ${data.unit} ${number(e.values[i])}`;
  if (e.outliers.includes(i)) text += ", outlier";
  const segment = e.means.findLast((m) => m[0] <= i);
  if (segment) text += `; segment mean ${number(segment[2])}${segment[3] ? "" : ", not equivalent to the last"}`;
  const extra = (others.get(current) ?? []).filter((c) => c.core < 0).map((c) => `${c.name} ${number(c.values[i])}`);
  $("value").textContent = [text, ...extra].join("; ");
}

function narrow() {
  const e = run(), tail = e.values.slice(Math.floor(e.values.length / 2)).filter((v) => v !== null).sort((a, b) => a - b);
  if (!tail.length) return null;
  const cut = Math.floor(tail.length * 0.02), low = tail[cut], high = tail[tail.length - 1 - cut];
  const around = (high - low) * 0.25 || Math.abs(high) * 0.01 || 1e-12;
  return [low - around, high + around];
}

function wide(u, low, high) {
  if (low === null || high === null) return [0, 1];
  const around = (high - low) * 0.04 || Math.abs(high) * 0.01 || 1e-12;
  return [low - around, high + around];
}

// options of a plot: main ones name the iterations, and its hook draws marks.
function options(height, label, range, hook, zooms) {
  const axis = {stroke: colour("--fg"), grid: {stroke: colour("--line"), width: 0.5}, ticks: {stroke: colour("--line")}};
  return {
    width: Math.max($("plot").clientWidth, 320), height,
    cursor: {sync: {key: "krund", setSeries: false}, drag: {x: true, y: false, setScale: zooms}},
    legend: {show: false},
    scales: {x: {time: false, range: (u, low, high) => low === high ? [low - 1, high + 1] : [low, high]}, y: {range}},
    axes: [{...axis}, {...axis, size: 84, label, labelSize: 18, values: (u, ticks) => ticks.map((t) => number(t))}],
    series: [{}, {stroke: colour("--series"), width: 1, points: {show: (u) => u.scales.x.max - u.scales.x.min < 60, size: 4}}],
    hooks: {draw: [hook], setCursor: [(u) => { if (u === plots[0] && u.cursor.left >= 0) read(u.cursor.idx); }], setScale: [together]},
  };
}

let busy = false;
// together gives all plots the iterations that one of them was zoomed to.
function together(u, scale) {
  if (scale !== "x" || busy) return;
  busy = true;
  const {min, max} = u.scales.x;
  for (const p of plots) if (p !== u) p.setScale("x", {min, max});
  $("plot").dataset.range = `${min} ${max}`;
  busy = false;
}

function draw(index) {
  for (const p of plots) p.destroy();
  plots = [];
  $("plot").replaceChildren();
  $("more").replaceChildren();
  $("value").textContent = "";
  cursor = null;
  current = index;
  $("execution").value = String(index);
  $("earlier").disabled = index === 0;
  $("later").disabled = index === data.executions.length - 1;
  const e = run();
  if (!e.values.length) { $("plot").textContent = "This execution measured no iteration."; return; }
  const range = (u, low, high) => ($("hide").checked && narrow()) || wide(u, low, high);
  const indexes = e.values.map((_, i) => i), strip = document.createElement("div"), main = document.createElement("div");
  $("plot").append(strip, main);
  plots.push(new uPlot(options(400, data.unit, range, marks, true), [indexes, e.values], main));
  plots.push(new uPlot(options(120, "narrowed", (u, low, high) => narrow() || wide(u, low, high), marks, true), [indexes, e.values], strip));
  $("plot").dataset.range = `0 ${e.values.length - 1}`;
  if (!e.more) return;
  if (others.has(index)) drawOthers(); else load(`${name}-${index}.js`);
}

const few = 8; // per-core plots that are drawn at once

function drawOthers() {
  const columns = others.get(current);
  const groups = new Map();
  for (const c of columns) groups.set(c.name, [...(groups.get(c.name) ?? []), c]);
  for (const [title, list] of groups) {
    const heading = document.createElement("h3");
    heading.textContent = list[0].core < 0 ? title : `${title} per core`;
    const box = document.createElement("div");
    $("more").append(heading, box);
    const total = (c) => c.values.reduce((sum, v) => sum + (v ?? 0), 0);
    const order = list.length > few ? [...list].sort((a, b) => total(b) - total(a)) : list;
    order.slice(0, few).forEach((c) => one(box, c));
    if (order.length > few) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `Show the other ${order.length - few} cores`;
      button.addEventListener("click", () => { button.remove(); order.slice(few).forEach((c) => one(box, c)); });
      heading.append(" ", button);
    }
  }
}

function one(box, c) {
  const place = document.createElement("div");
  place.className = "chart";
  box.append(place);
  const label = (c.core < 0 ? c.name : `core ${c.core}`) + (c.unit ? ` (${c.unit})` : "");
  const u = new uPlot(options(c.core < 0 ? 170 : 110, label, wide, moved, true), [c.values.map((_, i) => i), c.values], place);
  plots.push(u);
  const {min, max} = plots[0].scales.x;
  if (min !== undefined && min !== null) u.setScale("x", {min, max});
}

function zoom(factor, shift) {
  if (!plots.length) return;
  const u = plots[0], {min, max} = u.scales.x;
  const middle = (cursor !== null && factor < 1 && cursor >= min && cursor <= max ? cursor : (min + max) / 2) + shift * (max - min);
  const half = Math.min(Math.max((max - min) / 2 * factor, 2), last() / 2);
  const at = bound(middle, half, Math.max(last() - half, half));
  u.setScale("x", {min: at - half, max: at + half});
}

function step(by) {
  if (!plots.length) return;
  const u = plots[0], {min, max} = u.scales.x;
  const i = bound((cursor ?? Math.round(min) - by) + by, 0, run().values.length - 1);
  if (i < min || i > max) zoom(1, i < min ? -0.5 : 0.5);
  const v = run().values[i];
  u.setCursor({left: u.valToPos(i, "x"), top: v === null ? 0 : u.valToPos(v, "y")});
  read(i);
}

function go(by) { if (data) draw(bound(current + by, 0, data.executions.length - 1)); }
function reset() { if (plots.length) plots[0].setScale("x", {min: 0, max: run().values.length - 1}); }

$("execution").addEventListener("change", () => { if (data) draw(Number($("execution").value)); });
$("earlier").addEventListener("click", () => go(-1));
$("later").addEventListener("click", () => go(1));
$("in").addEventListener("click", () => zoom(0.5, 0));
$("out").addEventListener("click", () => zoom(2, 0));
$("left").addEventListener("click", () => zoom(1, -0.25));
$("right").addEventListener("click", () => zoom(1, 0.25));
$("reset").addEventListener("click", reset);
$("hide").addEventListener("change", () => { if (data) draw(current); });
const keys = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1), "+": () => zoom(0.5, 0), "=": () => zoom(0.5, 0), "-": () => zoom(2, 0),
  0: reset, "[": () => go(-1), "]": () => go(1), PageUp: () => zoom(1, -0.5), PageDown: () => zoom(1, 0.5),
};
$("plot").addEventListener("keydown", (event) => {
  const action = keys[event.key];
  if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
  action();
  event.preventDefault();
});
addEventListener("resize", () => { for (const p of plots) p.setSize({width: Math.max($("plot").clientWidth, 320), height: p.height}); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (data) draw(current); });
load(name + ".js");
})();
