// The page of a key: interactive plots of its executions, from data that are
// loaded as scripts on demand (see data.go for their form). Iterations are
// indexes from 0 in the data and numbers from 1 for people.
"use strict";
(() => {
const root = document.documentElement;
const $ = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
const make = (tag, text, className) => {
  const e = document.createElement(tag);
  if (text) e.textContent = text;
  if (className) e.className = className;
  return e;
};
const pair = Number(document.body.dataset.pair ?? -1);
const name = document.body.dataset.name;
if (pair < 0 || !$("execution").options.length) return;

let data = null;      // what krund.pair brought
let current = 0;      // index of the execution
let plots = [];       // main plot first, then the strip and those of other columns
let inset = null;     // plot of the first iterations
const others = new Map(); // execution -> columns
const happened = new Map(); // execution -> events and evidence
const rivals = new Map(); // index of another key, as text -> what krund.pair brought
const switched = new Map(); // kind of events, or column -> what the reader chose, while the page is open
let cursor = null;    // index of the iteration that is read
let last = null;      // the outlier or changepoint that was reached last

function load(file) {
  const script = make("script");
  script.src = (document.body.dataset.files || "../data/") + file; // a hub has its data elsewhere
  script.onerror = () => { $("value").textContent = "The report's file data/" + file + " is missing."; };
  document.head.append(script);
}

window.krund = {
  pair(index, value) {
    if (index === pair) { data = value; draw(wanted()); return; }
    rivals.set(String(index), value);
    if (data) draw(current);
  },
  columns(index, execution, columns) {
    if (index !== pair) return;
    others.set(execution, columns);
    if (execution === current) drawOthers();
  },
  events(index, execution, value) {
    if (index !== pair) return;
    happened.set(execution, value);
    if (execution === current) drawEvents();
  },
};

const number = (v) => v === null || v === undefined ? "no value"
    : v === 0 ? "0"
    : Math.abs(v) >= 1e-4 && Math.abs(v) < 1e9 ? String(Number(v.toPrecision(7)))
    : v.toPrecision(7);
const prefixes = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""],
    [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
// scaleOf is the unit of an axis up to a value: {unit, factor}. Other columns than the analyzed one
// have no unit from the analysis (see display.Unit for the rules).
function scaleOf(most, unit) {
  if (unit === "ns") { const s = scaleOf(most / 1e9, "s"); return {unit: s.unit, factor: s.factor / 1e9}; }
  const small = ["s", "J", "W", "Hz"].includes(unit);
  const [of, letter] = prefixes.find((p) => most >= p[0] && (small || p[0] >= 1)
      && !(unit === "s" && p[0] > 1)) ?? [1, ""];
  return {unit: letter + unit, factor: 1 / of};
}
const named = (name, unit) => unit ? `${name} (${unit})` : name;
const ticks = (values, factor) => values.map((v) => v === 0 ? "0"
    : String(Number((v * factor).toPrecision(6))));
const bound = (v, low, high) => Math.min(Math.max(v, low), high);
const run = () => data.executions[current];
const count = () => run().values.length;
const end = () => Math.max(count(), 2);
const against = () => $("against")?.selectedOptions[0];
// rival is the execution of the other key that is drawn beside this one: that at the same place, or
// the last.
const rival = () => rivals.get(against()?.value)?.executions.findLast((_, i) => i <= current);

// clipped lets paint draw within the plot's area only.
function clipped(u, paint) {
  const c = u.ctx;
  c.save();
  c.beginPath();
  c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  c.clip();
  paint(c);
  c.restore();
}

function dashes(u, lines, style, dash, width) {
  clipped(u, (c) => {
    c.strokeStyle = style;
    c.setLineDash(dash.map((d) => d * devicePixelRatio));
    c.lineWidth = width * devicePixelRatio;
    c.beginPath();
    for (const [x0, y0, x1, y1] of lines) { c.moveTo(x0, y0); c.lineTo(x1, y1); }
    c.stroke();
  });
}

const upright = (u, list) => list.map((i) => {
  const x = u.valToPos(i + 1, "x", true);
  return [x, u.bbox.top, x, u.bbox.top + u.bbox.height];
});

function circles(u, outliers, common, values) {
  clipped(u, (c) => {
    c.lineWidth = devicePixelRatio;
    for (const i of outliers) {
      if (i + 1 < u.scales.x.min || i + 1 > u.scales.x.max || values[i] === null || values[i] === undefined)
          continue;
      c.strokeStyle = colour(common.has(i) ? "--common" : "--hot");
      c.beginPath();
      c.arc(u.valToPos(i + 1, "x", true), u.valToPos(values[i], "y", true), 4 * devicePixelRatio, 0, 7);
      c.stroke();
    }
  });
}

// marks draws what the analysis found: means, changepoints and outliers.
function marks(u) {
  const e = run(), x = (v) => u.valToPos(v + 1, "x", true), y = (v) => u.valToPos(v, "y", true);
  dashes(u, upright(u, e.changes), colour("--hot"), [6, 5], 1);
  const mean = (equivalent) => e.means.filter((m) => m[3] === equivalent)
      .map((m) => [x(m[0]), y(m[2]), x(m[1]), y(m[2])]);
  dashes(u, mean(0), colour("--ne"), [9, 5], 2);
  dashes(u, mean(1), colour("--eq"), [9, 5], 2);
  circles(u, e.outliers, new Set(e.common), e.values);
  dashes(u, upright(u, e.events.filter((v) => v.kind === "kernel").map((v) => v.at)), colour("--kernel"),
      [1, 3], 1);
}

// beside draws the values of the other key.
function beside(u) {
  const r = rival();
  if (!r) return;
  clipped(u, (c) => {
    c.strokeStyle = colour("--other");
    c.lineWidth = devicePixelRatio;
    c.beginPath();
    let pen = false;
    for (let i = Math.max(Math.floor(u.scales.x.min) - 2, 0);
        i < Math.min(r.values.length, u.scales.x.max + 1); i++) {
      const v = r.values[i];
      if (v === null) { pen = false; continue; }
      c[pen ? "lineTo" : "moveTo"](u.valToPos(i + 1, "x", true), u.valToPos(v, "y", true));
      pen = true;
    }
    c.stroke();
  });
}

// tellRival names the other key, and what of it is drawn.
function tellRival() {
  const r = rival(), n = r?.values.length ?? 0;
  $("rival").hidden = !r;
  if (r) $("rival").textContent =
      `${against().textContent}, execution ${r.label || r.number}: `
      + `${Math.min(n, count()).toLocaleString("en")} of ${n.toLocaleString("en")} iterations are drawn`;
}

const shapes = krundMarks.signs;

// signs draws the events at the foot of the main plot.
function signs(u) {
  const e = run(), c = u.ctx, px = devicePixelRatio, y = u.bbox.top + u.bbox.height - 9 * px;
  const size = krundLanes.unit * px;
  c.save();
  c.font = `${12 * px}px system-ui, sans-serif`;
  c.textBaseline = "middle";
  for (const v of [...e.events].sort((a, b) => Boolean(a.label) - Boolean(b.label))) {
    if (v.kind !== "throttle" && v.at + 1.5 < u.scales.x.min
        || v.kind !== "throttle" && v.at + 0.5 > u.scales.x.max) continue;
    const x = bound(u.valToPos(v.at + 1, "x", true), u.bbox.left, u.bbox.left + u.bbox.width);
    c.fillStyle = c.strokeStyle = colour("--" + v.kind);
    if (v.kind === "throttle") clipped(u, () => { // at some time during the run
      c.lineWidth = px;
      c.beginPath();
      c.moveTo(u.valToPos(1, "x", true), y);
      c.lineTo(u.valToPos(count(), "x", true), y);
      c.stroke();
    });
    c.beginPath();
    for (const [dx, dy] of shapes[v.kind] ?? shapes.temperature) c.lineTo(x + dx * size, y + dy * size);
    c.closePath();
    c.fill();
    if (!v.label) continue;
    c.textAlign = v.at < 0 ? "left" : "right";
    c.fillStyle = colour("--fg");
    c.strokeStyle = colour("--bg"); // a halo, so that lines do not cross it
    c.lineWidth = 4 * px;
    c.strokeText(v.label, x + (v.at < 0 ? 9 : -9) * px, y);
    c.fillText(v.label, x + (v.at < 0 ? 9 : -9) * px, y);
  }
  c.restore();
}

// near lists the events at an iteration, or a few pixels beside it.
function near(i) {
  const u = plots[0], width =
      6 * (u.scales.x.max - u.scales.x.min) / Math.max(u.bbox.width / devicePixelRatio, 1);
  return run().events.filter((v) => Math.abs(bound(v.at, 0, count() - 1) - i) <= Math.max(width, 0.5));
}

function read(i) {
  const e = run();
  if (i === null || i === undefined || i < 0 || i >= count()) return;
  if (i !== cursor) last = null;
  cursor = i;
  const value = (v) => v === null || v === undefined ? "no value"
      : `${number(v * e.factor)} ${e.unit}`.trim();
  let text = `iteration ${i + 1}: ${data.column} ${value(e.values[i])}`;
  if (e.outliers.includes(i)) {
    text += e.common.includes(i) ? ", outlier in other executions, too" : ", outlier";
  }
  const segment = e.means.findLast((m) => m[0] <= i);
  if (rival()) text += `; ${against().textContent} ${value(rival().values[i])}`;
  if (segment) {
    text += `; segment mean ${value(segment[2])}${segment[3] ? "" : ", not equivalent to the last"}`;
  }
  const lanes = (happened.get(current)?.lanes ?? []).filter((l) => isOn(l.kind)).flatMap((l) => within(l, i));
  const extra = columns().filter((c) => isOn(c.name))
      .map((c) => `${c.name} ${number(c.values[i])}${c.unit ? " " + c.unit : ""}`);
  $("value").textContent = [text, ...lanes, ...extra].join("; ");
  for (const v of near(i)) $("value").append(make("span", v.text, "event " + v.kind));
}

// within describes the events of a lane in iteration i.
function within(lane, i) {
  const list = krundLanes.at(lane, i);
  if (!list.length) return [];
  const events = list.reduce((n, m) => n + m[2], 0), ns = list.reduce((n, m) => n + m[3], 0);
  const longest = list.reduce((a, b) => b[3] > a[3] ? b : a), name = happened.get(current).names[longest[4]];
  const time = ns ? (({unit, factor}) =>
      ` ${number(Number((ns / 1e9 * factor).toPrecision(3)))} ${unit}`)(scaleOf(ns / 1e9, "s")) : "";
  return [`${lane.kind} ${events === 1 ? "" : events + " times"}${time}${name ? ` (${name})` : ""}`
      .replace("  ", " ") + (lane.per > 1 ? `, within ${lane.per} iterations` : "")];
}

const union = (a, b = a) => [Math.min(a[0], b[0]), Math.max(a[1], b[1])];

// both is wide with the values of the other key.
function both(u, low, high, values) {
  for (let i = Math.max(Math.floor(u.scales.x.min) - 1, 0);
      i < Math.min(values.length, u.scales.x.max); i++) {
    if (values[i] === null) continue;
    low = Math.min(low ?? values[i], values[i]);
    high = Math.max(high ?? values[i], values[i]);
  }
  return wide(u, low, high);
}

function wide(u, low, high) {
  if (low === null || high === null) return [0, 1];
  const around = (high - low) * 0.04 || Math.abs(high) * 0.01 || 1e-12;
  return [low - around, high + around];
}

const whole = [1, 2, 5].flatMap((k) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6].map((p) => k * p))
    .sort((a, b) => a - b);

// options of a plot: its size, the name of its axis, the factor of its numbers, its range, and what
// is drawn over its values.
function options(place, height, label, factor, range, hooks, title) {
  const axis = {stroke: colour("--fg"), font: "12px system-ui, sans-serif",
      grid: {stroke: colour("--line"), width: 0.5}, ticks: {stroke: colour("--line"), size: 5}};
  const x = {...axis, incrs: whole, space: 60, size: title ? 46 : 26,
      values: (u, list) => list.map((v) => v.toLocaleString("en").replaceAll(",", "\u2009"))};
  if (title) Object.assign(x, {label: title, labelSize: 20, labelFont: "13px system-ui, sans-serif"});
  return {
    width: Math.max(place.clientWidth, 280), height, padding: [null, 16, null, null],
    cursor: {sync: {key: "krund", setSeries: false}, drag: {x: true, y: false, setScale: true}},
    legend: {show: false},
    scales: {x: {time: false, range: (u, low, high) => low === high ? [low - 1, high + 1] : [low, high]},
        y: {range}},
    axes: [x, {...axis, size: 74, space: 28, label, labelSize: label ? 22 : 0,
        labelFont: "13px system-ui, sans-serif", values: (u, list) => ticks(list, factor)}],
    series: [{}, {stroke: colour("--series"), width: 1,
        points: {show: (u) => u.scales.x.max - u.scales.x.min < 60, size: 4, fill: colour("--series")}}],
    hooks: {draw: hooks, setScale: [together],
        setCursor: [(u) => { if (u === plots[0] && u.cursor.left >= 0) read(u.cursor.idx); }]},
  };
}

const numbers = (values) => values.map((_, i) => i + 1);

let busy = false;
// together gives all plots the iterations that one of them was zoomed to.
function together(u, scale) {
  if (scale !== "x" || busy || u === inset) return;
  busy = true;
  const {min, max} = u.scales.x;
  for (const p of plots) if (p !== u) p.setScale("x", {min, max});
  $("plot").dataset.range = `${min} ${max}`;
  if (inset) inset.root.parentNode.hidden = min > 1 || max < end();
  busy = false;
}

// drawInset puts the first iterations over the main plot, where they hide least.
function drawInset(main) {
  const [n, left, top] = run().inset;
  if (inset) inset.root.parentNode.remove();
  inset = null;
  const u = plots[0], width = u.bbox.width / devicePixelRatio, height = u.bbox.height / devicePixelRatio;
  if (!n || !$("first").checked || $("narrow").checked || width < 480) return;
  const box = make("div", "", "inset");
  Object.assign(box.style, {left: `${u.bbox.left / devicePixelRatio + left * width}px`,
      top: `${u.bbox.top / devicePixelRatio + top * height}px`, width: `${0.28 * width}px`,
      height: `${0.46 * height}px`});
  box.title = `The first ${n} iterations; click to zoom there`;
  main.append(box);
  const values = run().values.slice(0, n);
  const o = options(box, 0.46 * height - 2, null, run().factor, wide,
      [(p) => circles(p, run().outliers.filter((i) => i < n), new Set(run().common), values)]);
  Object.assign(o, {width: 0.28 * width - 2, cursor: {show: false}});
  o.axes[0].space = 40;
  o.axes[0].size = 20;
  o.axes[1].size = (u, list) => 14 + 6.2 * Math.max(...(list ?? [""]).map((v) => v.length));
  for (const a of o.axes) a.font = "10px system-ui, sans-serif";
  o.hooks = {draw: o.hooks.draw};
  inset = new uPlot(o, [numbers(values), values], box);
  box.append(make("span", `first ${n}`));
  box.addEventListener("click", () => plots[0].setScale("x", {min: 1, max: n}));
}

function draw(index) {
  for (const p of plots) p.destroy();
  if (inset) inset.destroy();
  plots = [];
  inset = null;
  $("plot").replaceChildren();
  $("more").replaceChildren();
  $("events").replaceChildren();
  $("value").textContent = "";
  cursor = last = null;
  current = index;
  $("execution").value = String(index);
  $("earlier").disabled = index === 0;
  $("later").disabled = index === data.executions.length - 1;
  const e = run();
  if (!count()) { $("plot").textContent = "This execution measured no iteration."; return; }
  const foot = (range) => { if (e.events.length) range[0] -= (range[1] - range[0]) * 0.07; return range; };
  // with room for the inset
  const full = (u) => $("first").checked && u.scales.x.min <= 1 && u.scales.x.max >= count() && [...e.full];
  const other = rival()?.values;
  const range = (u, low, high) => foot($("narrow").checked ? union(e.zoom, rival()?.zoom)
      : other ? both(u, low, high, other) : full(u) || wide(u, low, high));
  const strip = make("div"), main = make("div", "", "main");
  $("plot").append(strip, main);
  plots.push(new uPlot(options(main, 420, named(data.column, e.unit), e.factor, range,
      [beside, marks, signs], "in-process iteration"), [numbers(e.values), e.values], main));
  plots.push(new uPlot(options(strip, 130, named("narrowed", e.unit), e.factor,
      () => [...e.zoom], [marks]), [numbers(e.values), e.values], strip));
  for (const p of plots) clickable(p);
  $("plot").dataset.range = `1 ${count()}`;
  drawInset(main);
  tellRival();
  listEvents();
  listKinds();
  explain(null);
  for (const kind of Object.keys(shapes)) {
    document.querySelector(".s-" + kind).hidden = !e.events.some((v) => v.kind === kind);
  }
  if (!e.more) return;
  if (happened.has(index)) { drawOthers(); drawEvents(); } else load(`${name}-${index}.js`);
}

// quiet are columns that are not shown at first: numbers of what has a lane, and what seldom
// matters.
const quiet = ["gc_count", "gc_freed", "jit_count", "deopt_count", "code_size", "alloc_bytes",
    "alloc_blocks", "major_faults", "voluntary_switches", "involuntary_switches",
    "thread_voluntary_switches", "thread_involuntary_switches", "timer_interrupts", "device_interrupts",
    "migrations", "smi"];
const columns = () => (others.get(current) ?? []).filter((c) => c.core < 0);
const empty = (c) => c !== undefined && !c.values.some((v) => v);
const isOn = (name) => switched.get(name) ?? !(quiet.includes(name)
    || empty(columns().find((c) => c.name === name)));

// listKinds offers the kinds of events and the columns of this execution.
function listKinds() {
  const lanes = happened.get(current)?.lanes ?? [], of = columns();
  $("kinds").replaceChildren($("kinds").firstElementChild);
  $("kinds").hidden = !lanes.length && !of.length;
  const offer = (name, sign, style, count) => {
    const label = make("label"), box = make("input");
    Object.assign(box, {type: "checkbox", checked: isOn(name), name});
    box.addEventListener("change", () => { switched.set(name, box.checked); drawRows(); });
    const shape = make("i", sign);
    shape.style.color = style;
    label.append(box, " ", shape, " ", name, " ", make("small", count));
    $("kinds").append(label);
  };
  for (const l of lanes) {
    const kind = krundLanes.kinds[l.kind] ?? krundLanes.kinds.load;
    offer(l.kind, kind.glyph, `var(--k-${kind.ink})`, l.events.toLocaleString("en"));
  }
  for (const c of of) offer(c.name, "∿", "var(--series)", empty(c) ? "(always 0)" : "");
  const bounds = lanes.filter((l) => l.per).map((l) =>
      `a sign of ${l.kind} stands for the events of ${l.per === 1 ? "an iteration" : l.per + " iterations"}`);
  const lost = happened.get(current)?.lost;
  if (lost) bounds.push(`${lost.toLocaleString("en")} events were lost`);
  $("bounded").textContent = bounds.join("; ");
  $("bounded").hidden = !bounds.length;
}

function drawEvents() {
  listKinds();
  drawRows();
  explain(null);
  const [execution, iteration] = location.hash.slice(1).split("@").map(Number);
  if (execution === run().number && iteration) { // when it is drawn
    setTimeout(() => reach(findings().find((f) => f.at === iteration - 1)));
  }
}

// drawRows draws the lanes of events and the rows of columns that are switched on.
function drawRows() {
  const old = $("plot").querySelector(".rows");
  if (old) {
    for (const p of plots.filter((p) => old.contains(p.root))) p.destroy();
    plots = plots.filter((p) => !old.contains(p.root));
    old.remove();
  }
  const rows = make("div", "", "rows"), lanes = (happened.get(current)?.lanes ?? [])
      .filter((l) => isOn(l.kind));
  $("plot").append(rows);
  if (lanes.length) laneRow(rows, lanes);
  for (const c of columns().filter((c) => isOn(c.name))) columnRow(rows, c);
}

// follow adds a plot that shows the same iterations as the others.
function follow(u) {
  plots.push(u);
  const {min, max} = plots[0].scales.x;
  if (min !== undefined && min !== null) u.setScale("x", {min, max});
}

function laneRow(rows, lanes) {
  const place = make("div", "", "lanes"), n = lanes.length, nothing = run().values.map(() => null);
  rows.append(place);
  const middle = (u, k) => u.valToPos(n - 1 - k, "y", true);
  const o = options(place, n * krundLanes.row + 8, " ", 1, () => [-0.5, n - 0.5],
      [(u) => clipped(u, (c) => lanes.forEach((l, k) =>
    krundLanes.paint(c, l, colour("--k-" + (krundLanes.kinds[l.kind]?.ink ?? "plain")), middle(u, k), (v) =>
        u.valToPos(v, "x", true), u.scales.x.min, u.scales.x.max)))]);
  o.padding = [4, 16, 4, null];
  o.axes[0].show = false;
  Object.assign(o.axes[1], {splits: () => lanes.map((_, k) => n - 1 - k), values: () =>
      lanes.map((l) => l.kind), space: 10});
  follow(new uPlot(o, [numbers(nothing), nothing], place));
}

function columnRow(rows, c) {
  const place = make("div", "", "chart");
  rows.append(place);
  const most = c.values.reduce((m, v) => Math.max(m, Math.abs(v ?? 0)), 0), scale = scaleOf(most, c.unit);
  const title = (u) => {
    const x = u.ctx, px = devicePixelRatio;
    x.save();
    Object.assign(x, {font: `${12 * px}px system-ui, sans-serif`, textAlign: "left", textBaseline: "top",
        fillStyle: colour("--fg"), strokeStyle: colour("--bg"), lineWidth: 4 * px});
    x.strokeText(named(c.name, scale.unit), u.bbox.left + 6 * px, u.bbox.top + 3 * px);
    x.fillText(named(c.name, scale.unit), u.bbox.left + 6 * px, u.bbox.top + 3 * px);
    x.restore();
  };
  const o = options(place, 72, " ", scale.factor,
      () => [Math.min(0, ...c.values.filter((v) => v !== null)), (most || 1) * 1.04], [moved, title]);
  o.padding = [4, 16, 4, null];
  o.axes[0].show = false;
  follow(new uPlot(o, [numbers(c.values), c.values], place));
}

const moved = (u) => dashes(u,
    upright(u, run().moves.length > mostMoves ? [] : run().moves.map((m) => m[0])),
    colour("--hot"), [2, 3], 1);

// findings are the outliers and changepoints of the execution, by iteration.
function findings() {
  const e = run(), list = [...e.outliers.map((at) => ({at, change: false})),
      ...e.changes.map((c) => ({at: c + 1, change: true}))];
  return list.sort((a, b) => a.at - b.at || a.change - b.change);
}

// explain shows the evidence at a finding; null: how to get there.
function explain(finding) {
  const box = $("evidence"), all = happened.get(current);
  if (!box) return;
  box.replaceChildren();
  if (!all) return;
  const item = (tag, text, className) => box.appendChild(make(tag, text, className));
  if (all.steady) item("p", `Execution ${run().number}: ${all.steady}.`);
  if (!finding) {
    if (findings().length) {
      item("p", "A click on an outlier or changepoint of the plot shows what happened there.", "hint");
    }
    return;
  }
  const found = all.findings.find((f) => f.at === finding.at && f.change === finding.change);
  if (!found) { item("p", "Nothing is known about this iteration."); return; }
  item("p").append(make("b", found.text + "."));
  for (const also of found.also) item("p", `Also: ${also}.`);
  if (found.events.length) {
    item("p", finding.change ? "Events within two iterations:" : "Events in this iteration:");
  }
  const list = item("ul");
  for (const [kind, text] of found.events) {
    const line = make("li"), of = krundLanes.kinds[kind] ?? krundLanes.kinds.load;
    const shape = make("i", of.glyph + " ");
    shape.style.color = `var(--k-${of.ink})`;
    line.append(shape, make("b", kind), " ", text);
    list.append(line);
  }
  if (found.more) list.append(make("li", `and ${found.more.toLocaleString("en")} more`));
  if (!found.events.length && !found.more) item("p", "No event of the VM or the kernel was recorded there.");
}

// goTo moves to the next finding (by 1) or the previous one (by -1) and shows its evidence.
function goTo(by) {
  if (!plots.length) return;
  const list = findings(), at = (f) => f.at * 2 + f.change;
  const from = last ? at(last) : 2 * (cursor ?? plots[0].scales.x.min - 2);
  reach(by > 0 ? list.find((f) => at(f) > from) : list.findLast((f) => at(f) < from));
}

function reach(finding) {
  if (!finding) return;
  show(finding.at);
  last = finding;
  explain(finding);
  history.replaceState(null, "", `#${run().number}@${finding.at + 1}`);
  $("evidence")?.scrollIntoView({block: "nearest"});
}

// hit returns the finding at a place of a plot; undefined: there is none.
function hit(u, left, top) {
  const near = (f) => {
    if (f.change) return Math.abs(u.valToPos(f.at, "x") - left);
    return Math.hypot(u.valToPos(f.at + 1, "x") - left, u.valToPos(run().values[f.at], "y") - top) / 1.5;
  };
  return findings().map((f) => [near(f), f]).sort((a, b) => a[0] - b[0]).find(([d]) => d <= 8)?.[1];
}

function clickable(u) {
  let pressed = 0;
  u.over.addEventListener("mousedown", (event) => { pressed = event.clientX; });
  u.over.addEventListener("click", (event) => {
    if (Math.abs(event.clientX - pressed) > 4) return; // the end of a zoom
    const box = u.over.getBoundingClientRect();
    reach(hit(u, event.clientX - box.left, event.clientY - box.top));
  });
}

// listEvents names the events in words; a click goes to the iteration.
function listEvents() {
  for (const v of run().events) {
    const item = make("li", "", v.kind);
    const at = make(["kernel", "watcher"].includes(v.kind) ? "button" : "span",
        v.kind === "temperature" ? "" : v.where);
    if (at.tagName === "BUTTON") {
      at.type = "button";
      at.addEventListener("click", () => show(bound(Math.floor(v.at), 0, count() - 1)));
    }
    item.append(at, v.kind === "throttle" ? ": " : " ", v.text);
    $("events").append(item);
  }
}

const few = 8; // per-core plots that are drawn at once
const mostMoves = 40; // of more no line is drawn: they would hide the values

function drawOthers() {
  $("more").replaceChildren();
  const groups = new Map();
  for (const c of others.get(current).filter((c) => c.core >= 0)) {
    groups.set(c.name, [...(groups.get(c.name) ?? []), c]);
  }
  const first = (title) => title !== "cycles";
  for (const [title, list] of [...groups].sort((a, b) => first(a[0]) - first(b[0]))) {
    const part = make("details"), heading = make("h3", `${title} per core`), summary = make("summary");
    summary.append(heading);
    part.append(summary);
    $("more").append(part);
    part.addEventListener("toggle", () => {
      if (part.open && !part.dataset.drawn) { part.dataset.drawn = "1"; group(part, list); }
    });
    part.open = !first(title);
  }
}

function group(part, list) {
  const box = make("div");
  part.append(box);
  const total = (c) => c.values.reduce((sum, v) => sum + (v ?? 0), 0);
  const top = list.reduce((most, c) => c.values.reduce((m, v) => Math.max(m, v ?? 0), most), 0) || 1;
  const range = () => [0, top * 1.04]; // cores share an axis
  const order = list.length > few ? [...list].sort((a, b) => total(b) - total(a)) : list;
  const rest = order.slice(few);
  for (const c of order.slice(0, few).sort((a, b) => a.core - b.core)) one(box, c, range);
  if (!rest.length) return;
  const button = make("button", `Show the other ${rest.length} cores`);
  button.type = "button";
  button.addEventListener("click", () => {
    button.remove();
    for (const c of rest.sort((a, b) => a.core - b.core)) one(box, c, range);
  });
  part.append(button);
}

function one(box, c, range) {
  const place = make("div", "", "chart");
  box.append(place);
  const scale = scaleOf(c.values.reduce((m, v) => Math.max(m, Math.abs(v ?? 0)), 0), c.unit);
  follow(new uPlot(options(place, 105, named(`core ${c.core}`, scale.unit), scale.factor, range, [moved]),
      [numbers(c.values), c.values], place));
}

function zoom(factor, shift) {
  if (!plots.length) return;
  const u = plots[0], {min, max} = u.scales.x;
  const seen = cursor !== null && cursor + 1 >= min && cursor + 1 <= max;
  const middle = (seen && factor < 1 ? cursor + 1 : (min + max) / 2) + shift * (max - min);
  const half = Math.min(Math.max((max - min) / 2 * factor, 2), (end() - 1) / 2);
  const at = bound(middle, 1 + half, Math.max(end() - half, 1 + half));
  u.setScale("x", {min: at - half, max: at + half});
}

// show moves the cursor to an iteration, and the range if it is outside.
function show(i) {
  const u = plots[0], {min, max} = u.scales.x;
  if (i + 1 < min || i + 1 > max) zoom(1, (i + 1 - (min + max) / 2) / (max - min));
  const v = run().values[i];
  u.setCursor({left: u.valToPos(i + 1, "x"), top: v === null ? 0 : u.valToPos(v, "y")});
  read(i);
}

function step(by) {
  if (plots.length) show(bound((cursor ?? Math.round(plots[0].scales.x.min) - 1 - by) + by, 0, count() - 1));
}

// wanted is the execution that the address names: k0003.html#4, or #4@117 with the evidence at its
// iteration 117.
function wanted() {
  const at = data.executions.findIndex((e) => e.number === Number(location.hash.slice(1).split("@")[0]));
  return at < 0 ? current : at;
}

function choose(index) {
  if (!data) return;
  draw(bound(index, 0, data.executions.length - 1));
  history.replaceState(null, "", "#" + run().number);
}
function reset() { if (plots.length) plots[0].setScale("x", {min: 1, max: end()}); }

$("execution").addEventListener("change", () => choose(Number($("execution").value)));
$("against")?.addEventListener("change", () => {
  const {value, dataset} = against();
  if (value && !rivals.has(value)) load(dataset.name + ".js");
  else if (data) draw(current);
});
$("earlier").addEventListener("click", () => choose(current - 1));
$("later").addEventListener("click", () => choose(current + 1));
$("in").addEventListener("click", () => zoom(0.5, 0));
$("out").addEventListener("click", () => zoom(2, 0));
$("left").addEventListener("click", () => zoom(1, -0.25));
$("right").addEventListener("click", () => zoom(1, 0.25));
$("reset").addEventListener("click", reset);
$("before").addEventListener("click", () => { if (data) goTo(-1); });
$("after").addEventListener("click", () => { if (data) goTo(1); });
for (const id of ["narrow", "first"]) $(id).addEventListener("change", () => { if (data) draw(current); });
const keys = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  "+": () => zoom(0.5, 0), "=": () => zoom(0.5, 0), "-": () => zoom(2, 0),
  0: reset, n: () => goTo(1), N: () => goTo(1), p: () => goTo(-1), P: () => goTo(-1),
  Enter: () => reach(findings().find((f) => f.at === cursor)),
  "[": () => choose(current - 1), "]": () => choose(current + 1),
  PageUp: () => zoom(1, -0.5), PageDown: () => zoom(1, 0.5),
};
$("plot").addEventListener("keydown", (event) => {
  const action = keys[event.key];
  if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
  action();
  event.preventDefault();
});
addEventListener("hashchange", () => { if (data) draw(wanted()); });
addEventListener("resize", () => {
  for (const p of plots) p.setSize({width: Math.max($("plot").clientWidth, 280), height: p.height});
  if (plots.length) drawInset(plots[0].root.parentNode);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (data) draw(current); });
load(name + ".js");
})();
