import assert from 'node:assert/strict';
import { test } from 'node:test';

import { mad, median, noiseOf, pairedRatio, percentile, summary } from '../stats.mjs';

test('percentiles lie between neighbours, and need no order', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.equal(percentile([10, 20, 30, 40, 50], 0.95), 48);
  assert.ok(Number.isNaN(median([])));
});

test('the median absolute deviation ignores one wild round', () => {
  assert.equal(mad([10, 11, 12, 13, 1000]), 1);
  assert.deepEqual(summary([2, 1, 4]), { median: 2, mad: 1, min: 1, max: 4, rounds: 3 });
});

test('a ratio is formed round by round, without rounds that have no number', () => {
  // A machine twice as slow in round 2 changes neither ratio.
  assert.equal(pairedRatio([10, 20], [20, 40]).mad, 0);
  assert.equal(pairedRatio([10, 20], [20, 40]).median, 0.5);
  assert.equal(pairedRatio([10, NaN], [20, 40]).rounds, 1);
});

test('few rounds state more noise, and deviation is never hidden', () => {
  assert.equal(noiseOf({ median: 1, mad: 0, rounds: 1 }), 0.2);
  assert.equal(noiseOf({ median: 1, mad: 0, rounds: 2 }), 0.1);
  assert.equal(noiseOf({ median: 1, mad: 0, rounds: 4 }), 0.05);
  assert.equal(noiseOf({ median: 1, mad: 0, rounds: 7 }), 0.03);
  assert.equal(noiseOf({ median: 1, mad: 0.2, rounds: 7 }), 0.4);
  assert.equal(noiseOf({ median: 10, mad: 0, rounds: 2 }), 1);
});
