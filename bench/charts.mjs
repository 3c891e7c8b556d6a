// Charts as SVG, written by hand: no packages, no scripts, no fonts of our own.
//
// A page shows an SVG as an image, on a light or a dark ground that the image does not
// know. So there is no ground, and every colour is a middle tone that reads on both.
//
//   ratioChart     one dot for each ratio, with its range, on a logarithmic axis; a line at 1
//   barChart       bars of several servers side by side, from 0 to a known end
//   lineChart      one line for each server over a few steps
//   pairChart      two dots for each row, ours and theirs, on one axis

const ink = '#757d86';
const faint = '#8b949e';
const colours = ['#2f81f7', '#d9822b', '#8957e5', '#3fa45b'];
const stateColours = { ahead: '#2ea043', equal: '#8b949e', behind: '#e5534b' };
const font = 'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"';

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const n = (value) => String(Math.round(10 * value) / 10);

function text(x, y, content, { size = 12, anchor = 'start', fill = ink, weight = 'normal' } = {}) {
  return `<text x="${n(x)}" y="${n(y)}" font-size="${size}" text-anchor="${anchor}" fill="${fill}" font-weight="${weight}">${escaped(content)}</text>`;
}

function line(x1, y1, x2, y2, { stroke = faint, width = 1, opacity = 1, dash = '' } = {}) {
  return `<line x1="${n(x1)}" y1="${n(y1)}" x2="${n(x2)}" y2="${n(y2)}" stroke="${stroke}" stroke-width="${width}" ` +
    `stroke-opacity="${opacity}"${dash && ` stroke-dasharray="${dash}"`}/>`;
}

const rect = (x, y, width, height, fill) =>
  `<rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, width))}" height="${n(height)}" rx="2" fill="${fill}"/>`;

function page(width, height, title, parts) {
  return [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${n(height)}" width="${width}" height="${n(height)}" ` +
    `role="img" aria-label="${escaped(title)}" ${font}>`, `<title>${escaped(title)}</title>`, ...parts, '</svg>', ''].join('\n');
}

const heading = (title, subtitle) => [text(16, 24, title, { size: 15, weight: 'bold' }), text(16, 43, subtitle, { size: 12, fill: faint })];

function legend(entries, x, y) {
  const parts = [];
  for (const [name, colour] of entries) {
    parts.push(rect(x, y - 9, 10, 10, colour), text(x + 15, y, name));
    x += 30 + 6.6 * name.length;
  }
  return parts;
}

// --- axes ----------------------------------------------------------------------------------

// From coarse to fine: the steps within each power of ten.
const log_steps = [[1], [1, 2, 5], [1, 1.2, 1.5, 2, 3, 5, 7, 8, 9]];

// Round values inside [low, high] on a logarithmic axis: the finest that are not too many.
export function logTicks(low, high, most = 8) {
  const inside = log_steps.map((steps) => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
      for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(2)));
    }
    return ticks.filter((tick) => tick >= low && tick <= high);
  });
  return inside.findLast((ticks) => ticks.length <= most) ?? inside[0];
}

// Room for the longest label on the left.
const labelRoom = (labels) => Math.min(440, Math.max(160, 30 + 6.6 * Math.max(0, ...labels.map((label) => label.length))));

export function linearTicks(high) {
  const rough = high / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= rough);
  return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

const shortNumber = (value) => (value >= 10_000 ? `${n(value / 1000)}k` : String(Number(value.toPrecision(3))));

// --- ratios ------------------------------------------------------------------------------------

// rows: [{label, ratio: {median, min, max}, state}], a group's heading where {heading}.
export function ratioChart({ title, subtitle, rows, better }) {
  const [width, right, top, step] = [900, 70, 78, 20];
  const left = labelRoom(rows.map(({ label }) => label ?? ''));
  const numbers = rows.filter(({ ratio }) => ratio).flatMap(({ ratio }) => [ratio.min, ratio.max, ratio.median]);
  const low = Math.min(0.8, ...numbers) / 1.08;
  const high = Math.max(1.25, ...numbers) * 1.08;
  const at = (value) => left + ((width - left - right) * Math.log(value / low)) / Math.log(high / low);
  const bottom = top + step * rows.length;
  const parts = heading(title, subtitle);
  for (const tick of logTicks(low, high)) {
    parts.push(line(at(tick), top - 6, at(tick), bottom, { opacity: 0.25 }), text(at(tick), bottom + 16, tick, { anchor: 'middle', fill: faint }));
  }
  parts.push(line(at(1), top - 10, at(1), bottom + 4, { stroke: ink, width: 1.5 }));
  const [faster, slower] = better === 'lower' ? ['end', 'start'] : ['start', 'end'];
  parts.push(text(at(1) + (faster === 'end' ? -8 : 8), top - 14, 'Holdfast ahead', { anchor: faster, fill: stateColours.ahead, size: 11 }));
  parts.push(text(at(1) + (slower === 'end' ? -8 : 8), top - 14, 'behind', { anchor: slower, fill: stateColours.behind, size: 11 }));
  rows.forEach((row, i) => {
    const y = top + step * (i + 0.5);
    if (row.heading) return parts.push(text(16, y + 4, row.heading, { weight: 'bold' }));
    const colour = stateColours[row.state];
    parts.push(text(left - 12, y + 4, row.label, { anchor: 'end' }),
      line(at(row.ratio.min), y, at(row.ratio.max), y, { stroke: colour, width: 2, opacity: 0.6 }),
      `<circle cx="${n(at(row.ratio.median))}" cy="${n(y)}" r="4.5" fill="${colour}"/>`,
      text(width - right + 14, y + 4, row.ratio.median.toFixed(2), { fill: colour }));
    return undefined;
  });
  return page(width, bottom + 30, title, parts);
}

// --- bars -----------------------------------------------------------------------------------------

// rows: [{label, values: [number, ...]}] in the order of `series`.
export function barChart({ title, subtitle, series, rows, high, unit, digits = 0 }) {
  const [width, right, top, bar] = [900, 70, 92, 9];
  const left = labelRoom(rows.map(({ label }) => label));
  const end = high ?? Math.max(...rows.flatMap(({ values }) => values.filter(Number.isFinite)));
  const step = bar * series.length + 9;
  const at = (value) => left + ((width - left - right) * value) / end;
  const bottom = top + step * rows.length;
  const parts = [...heading(title, subtitle), ...legend(series.map((name, i) => [name, colours[i]]), left, 66)];
  for (const tick of linearTicks(end)) {
    parts.push(line(at(tick), top - 6, at(tick), bottom, { opacity: 0.25 }),
      text(at(tick), bottom + 16, `${shortNumber(tick)}${unit}`, { anchor: 'middle', fill: faint }));
  }
  rows.forEach(({ label, values }, row) => {
    const y = top + step * row;
    parts.push(text(left - 12, y + (bar * series.length) / 2 + 4, label, { anchor: 'end' }));
    values.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      parts.push(rect(left, y + bar * i, at(value) - left, bar - 1, colours[i]),
        text(at(value) + 5, y + bar * i + 8, `${value.toFixed(digits)}${unit}`, { size: 9, fill: colours[i] }));
    });
  });
  return page(width, bottom + 30, title, parts);
}

// --- lines ------------------------------------------------------------------------------------------

// steps: the labels below; lines: [{name, values, dashed}]; `log` for a logarithmic height.
export function lineChart({ title, subtitle, steps, lines, unit, log = false }) {
  const [width, left, right, top, tall] = [900, 80, 190, 74, 240];
  const values = lines.flatMap((one) => one.values).filter((value) => Number.isFinite(value) && value > 0);
  const [low, high] = log ? [Math.min(...values) / 1.3, Math.max(...values) * 1.3] : [0, Math.max(...values) * 1.08];
  const up = (value) => top + tall * (1 - (log ? Math.log(value / low) / Math.log(high / low) : value / high));
  const along = (i) => left + ((width - left - right) * (i + 0.5)) / steps.length;
  const parts = heading(title, subtitle);
  for (const tick of log ? logTicks(low, high) : linearTicks(high)) {
    parts.push(line(left, up(tick), width - right, up(tick), { opacity: 0.25 }),
      text(left - 8, up(tick) + 4, `${shortNumber(tick)}${unit}`, { anchor: 'end', fill: faint }));
  }
  steps.forEach((label, i) => parts.push(text(along(i), top + tall + 20, label, { anchor: 'middle' })));
  const ends = spreadOut(lines.map((one) => up(one.values.findLast((value) => value > 0))), 15);
  lines.forEach(({ name, values: list, dashed, colour }, k) => {
    const stroke = colours[colour ?? k];
    const points = list.map((value, i) => [along(i), up(value), value]).filter(([, , value]) => value > 0);
    parts.push(`<polyline points="${points.map(([x, y]) => `${n(x)},${n(y)}`).join(' ')}" fill="none" stroke="${stroke}" stroke-width="2"` +
      `${dashed ? ' stroke-dasharray="5 4"' : ''}/>`);
    for (const [x, y] of points) parts.push(`<circle cx="${n(x)}" cy="${n(y)}" r="3.5" fill="${stroke}"/>`);
    parts.push(text(points.at(-1)[0] + 12, ends[k] + 4, name, { fill: stroke, size: 11 }));
  });
  return page(width, top + tall + 34, title, parts);
}

// Moves heights apart until labels of `size` do not touch.
export function spreadOut(heights, size) {
  const order = heights.map((height, i) => ({ height, i })).sort((a, b) => a.height - b.height);
  for (let k = 1; k < order.length; ++k) order[k].height = Math.max(order[k].height, order[k - 1].height + size);
  const result = [];
  for (const { height, i } of order) result[i] = height;
  return result;
}

// --- pairs ------------------------------------------------------------------------------------------

// What lies where on a pairChart, as functions of a value and of a row's number.
function pairAxis({ left, right, top, step }, rows, { log, high }) {
  const values = rows.flatMap(({ ours, theirs }) => [ours, theirs]);
  const [low, end] = log ? [Math.min(...values) / 1.4, Math.max(...values) * 1.2] : [0, high];
  const share = (value) => (log ? Math.log(value / low) / Math.log(end / low) : value / end);
  return { at: (value) => left + (right - left) * share(value), height: (row) => top + step * (row + 0.5),
    ticks: log ? logTicks(low, end) : linearTicks(end), bottom: top + step * rows.length };
}

// rows: [{label, ours, theirs, note, state}]; the note stands at the right, in the colour of the state.
export function pairChart({ title, subtitle, names, rows, unit, log = false, high }) {
  const [width, right, top, step] = [900, 780, 96, 23];
  const left = labelRoom(rows.map(({ label }) => label));
  const { at, height, ticks, bottom } = pairAxis({ left, right, top, step }, rows, { log, high });
  const parts = [...heading(title, subtitle), ...legend(names.map((name, i) => [name, colours[i]]), left, 68)];
  for (const tick of ticks) {
    parts.push(line(at(tick), top - 6, at(tick), bottom, { opacity: 0.25 }),
      text(at(tick), bottom + 17, `${shortNumber(tick)}${unit}`, { anchor: 'middle', fill: faint }));
  }
  rows.forEach(({ label, ours, theirs, note, state }, row) => {
    const y = height(row);
    parts.push(text(left - 12, y + 4, label, { anchor: 'end' }), line(at(ours), y, at(theirs), y, { width: 2, opacity: 0.5 }));
    [theirs, ours].forEach((value, i) => parts.push(`<circle cx="${n(at(value))}" cy="${n(y)}" r="${i === 0 ? 6.5 : 4.5}" fill="${colours[1 - i]}"/>`));
    parts.push(text(right + 20, y + 4, note, { fill: stateColours[state], weight: 'bold' }));
  });
  return page(width, bottom + 32, title, parts);
}
