import assert from 'node:assert/strict';
import { test } from 'node:test';

import { barChart, linearTicks, lineChart, logTicks, pairChart, ratioChart, spreadOut } from '../charts.mjs';

// Every tag is closed, in order.
function assertWellFormed(svg) {
  const open = [];
  for (const [, end, name, alone] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (alone) continue;
    if (end) assert.equal(open.pop(), name);
    else open.push(name);
  }
  assert.deepEqual(open, []);
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
}

test('ticks are round and inside', () => {
  assert.deepEqual(logTicks(0.015, 3), [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]);
  assert.deepEqual(logTicks(0.79, 1.6), [0.8, 0.9, 1, 1.2, 1.5]);
  assert.deepEqual(linearTicks(100), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(linearTicks(7), [0, 2, 4, 6]);
  assert.deepEqual(logTicks(0.001, 100), [0.001, 0.01, 0.1, 1, 10, 100]);
});

test('labels that would touch are moved apart', () => {
  assert.deepEqual(spreadOut([50, 10, 12], 15), [50, 10, 25]);
});

test('a ratio chart has a line at 1, a dot and a range for each row', () => {
  const ratio = { median: 0.5, min: 0.4, max: 0.7 };
  const svg = ratioChart({ title: 'A & B', subtitle: 'less is better', better: 'lower',
    rows: [{ heading: 'plain' }, { label: '<one>', ratio, state: 'ahead' }, { label: 'two', ratio: { median: 2, min: 2, max: 2 }, state: 'behind' }] });
  assertWellFormed(svg);
  assert.equal(svg.match(/<circle/g).length, 2);
  assert.match(svg, /A &amp; B/);
  assert.match(svg, /&lt;one&gt;/);
  const [first, second] = [...svg.matchAll(/<circle cx="([\d.]+)"/g)].map(([, x]) => Number(x));
  const one = Number(/<line x1="([\d.]+)"[^>]*stroke-width="1.5"/.exec(svg)[1]);
  assert.ok(first < one && one < second);
  assert.ok(Math.abs(one - first - (second - one)) < 0.3); // a half is as far from 1 as a double
});

test('bars end where their value is, and a missing one is left out', () => {
  const svg = barChart({ title: 't', subtitle: 's', series: ['a', 'b'], unit: '%', high: 100, rows: [{ label: 'x', values: [100, 50] },
    { label: 'y', values: [NaN, 25] }] });
  assertWellFormed(svg);
  const widths = [...svg.matchAll(/<rect [^>]*width="([\d.]+)" height="8"/g)].map(([, width]) => Number(width));
  assert.deepEqual(widths.map((width) => Math.round((100 * width) / widths[0])), [100, 50, 25]);
});

test('lines have a point for each step that has a number', () => {
  const svg = lineChart({ title: 't', subtitle: 's', steps: ['1', '2', '3'], unit: ' s', log: true,
    lines: [{ name: 'a', values: [1, 2, 3] }, { name: 'b', values: [1, NaN, 10], dashed: true }] });
  assertWellFormed(svg);
  assert.equal(svg.match(/<circle/g).length, 5);
});

test('a pair has a dot for each side, where its value is', () => {
  const row = { label: '<x>', ours: 100, theirs: 25, note: '4', state: 'ahead' };
  const svg = pairChart({ title: 't', subtitle: 's', names: ['a', 'b'], unit: '%', high: 100, rows: [row, { ...row, ours: 0, theirs: 50 }] });
  assertWellFormed(svg);
  const [quarter, whole, half, none] = [...svg.matchAll(/<circle cx="([\d.]+)"/g)].map(([, x]) => Number(x));
  const tick = Number(/<text x="([\d.]+)"[^>]*>100%</.exec(svg)[1]);
  assert.equal(whole, tick);
  assert.ok(Math.abs(quarter - none - (whole - none) / 4) < 0.2 && Math.abs(half - none - (whole - none) / 2) < 0.2);
});
