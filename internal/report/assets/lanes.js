// Signs of the VM's and the kernel's events below a run (panels.go draws the same ones
// in static plots, and writes marks.js): bars that last as long as their events, other
// shapes at the beginning of theirs, and columns of density where they are crowded.
"use strict";
window.krundLanes = (() => {
const kinds = krundMarks.lanes;
const unit = 1.2;    // CSS pixels of a unit of the signs
const row = 20;      // CSS pixels of a lane
const crowded = 7;   // of a sign, below which signs would hide each other; bars may be closer
const crowdedBars = 3;
const column = 3;

// paint draws a lane with its middle at y, between two positions on the axis; x maps a position to
// a pixel.
function paint(c, lane, style, y, x, low, high) {
  const px = devicePixelRatio, {half, corners} = kinds[lane.kind] ?? kinds.load, size = unit * px;
  const seen = lane.marks.filter((m) => m[1] + 1 >= low && m[0] + 1 <= high);
  const left = x(low), right = x(high);
  c.fillStyle = style;
  c.beginPath();
  if (seen.length * (half ? crowdedBars : crowded) * px > right - left) {
    const counts = new Map();
    for (const m of seen) {
      const at = Math.floor((Math.min(Math.max(x(m[0] + 1), left), right) - left) / (column * px));
      counts.set(at, (counts.get(at) ?? 0) + m[2]);
    }
    const most = Math.max(...counts.values());
    for (const [at, n] of counts) {
      const tall = Math.max((row / 2 - 1) * Math.sqrt(n / most), 1) * px;
      c.rect(left + at * column * px, y - tall, column * px, 2 * tall);
    }
  } else {
    for (const m of seen) {
      const from = Math.min(Math.max(x(m[0] + 1), left), right), to = Math.min(x(m[1] + 1), right);
      if (half) c.rect(from, y - half * size, Math.max(to - from, 1.5 * px), 2 * half * size);
      else {
        corners.forEach(([dx, dy], i) => c[i ? "lineTo" : "moveTo"](from + dx * size, y + dy * size));
        c.closePath();
      }
    }
  }
  c.fill();
}

// at lists the marks that overlap iteration i.
const at = (lane, i) => lane.marks.filter((m) => m[0] < i + 0.5 && m[1] >= i - 0.5
    && !(m[1] > m[0] && m[1] === i - 0.5));

return {kinds, unit, row, paint, at};
})();
