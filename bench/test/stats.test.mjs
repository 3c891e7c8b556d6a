import assert from 'node:assert/strict';
import { test } from 'node:test';

import { highest, lowest, mad, meanRatio, median, noiseOf, pairedRatio, percentile, sum, summary, typicalDeviation } from '../stats.mjs';

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

test('a side that has nothing gives no ratio, and rounds of the same processes are one sitting', () => {
  assert.equal(pairedRatio([0, 10], [20, 40]).rounds, 1);
  assert.equal(pairedRatio([10, null], [20, 40]).rounds, 1);
  const lasting = pairedRatio([93, 93, 93, 98, 98], [100, 100, 100, 100, 100], 3);
  assert.deepEqual([lasting.rounds, lasting.sittings, lasting.median], [5, 2, 0.93]);
  assert.equal(lasting.deviation.toFixed(3), '0.037');
  assert.equal(pairedRatio([1, 2, 3], [1, 1, 1], Infinity).sittings, 1);
});

test('few rounds state more noise, and what they show themselves counts the more of them there are', () => {
  const noise = (sittings, deviation) => noiseOf({ deviation, sittings }, 0.1);
  assert.equal(noise(1, null).toFixed(3), '0.460');
  assert.ok(noise(2, 0.1) < noise(1, null) && noise(9, 0.1) < noise(3, 0.1));
  assert.ok(noise(3, 0) > 0.1, 'three rounds that happen to agree prove little');
  assert.ok(noise(25, 0) < 0.05, 'five and twenty prove more');
  assert.ok(noise(9, 0.5) > 0.3, 'a deviation of its own is not hidden by the others');
});

// Deterministic stand-in for a normal deviate: the sum of twelve.
function deviates(seed) {
  let state = seed;
  const uniform = () => { state = (state * 1103515245 + 12345) % 2147483648; return state / 2147483648; };
  return () => sum(Array.from({ length: 12 }, uniform)) - 6;
}

test('of a thousand equal servers, some steadier than others, about ten are called different', () => {
  const next = deviates(1);
  const ratios = Array.from({ length: 1000 }, (_, i) => {
    const deviation = 0.12 * Math.exp(0.6 * next());
    return pairedRatio(Array.from({ length: 1 + (i % 5) }, () => Math.exp(deviation * next())), Array(5).fill(1));
  });
  const typical = typicalDeviation(ratios);
  assert.ok(Math.abs(typical - 0.12) < 0.015, `${typical}`);
  const alarms = ratios.filter((ratio) => Math.abs(Math.log(ratio.median)) > noiseOf(ratio, typical)).length;
  assert.ok(alarms >= 3 && alarms <= 20, `${alarms}`);
});

test('many comparisons together tell what each of them cannot', () => {
  const next = deviates(2);
  const { mean: middle, noise, count } = meanRatio(Array.from({ length: 50 }, () => 0.9 * Math.exp(0.1 * next())));
  assert.equal(count, 50);
  assert.ok(lowest(middle, noise) < 0.9 && highest(middle, noise) > 0.9 && noise < 0.05);
  assert.equal(meanRatio([1, 1]), null);
});
