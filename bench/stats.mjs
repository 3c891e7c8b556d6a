// Numbers about numbers. Every list is an array of finite numbers.

export function percentile(list, p) {
  if (list.length === 0) return NaN;
  const sorted = [...list].sort((a, b) => a - b);
  const at = (sorted.length - 1) * p;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export const median = (list) => percentile(list, 0.5);

// Median absolute deviation: half of all rounds lie within this distance of the median.
export function mad(list) {
  const middle = median(list);
  return median(list.map((value) => Math.abs(value - middle)));
}

export const sum = (list) => list.reduce((total, value) => total + value, 0);
export const mean = (list) => sum(list) / list.length;

// Map of key -> those of the list that have it, in the order of the list.
export function grouped(list, keyOf) {
  const groups = new Map();
  for (const one of list) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  return groups;
}

export function summary(list) {
  return { median: median(list), mad: mad(list), min: Math.min(...list), max: Math.max(...list),
    rounds: list.length };
}

// How far single values lie from their middle, as a part of it (the standard deviation of their
// logarithms); null for fewer than two.
export function logDeviation(list) {
  if (list.length < 2) return null;
  const logs = list.map(Math.log);
  const middle = mean(logs);
  return Math.sqrt(sum(logs.map((value) => (value - middle) ** 2)) / (logs.length - 1));
}

// Round by round, so that a slow minute of the machine touches both sides of a ratio. Rounds in
// which a side has no number, or nothing, are left out. `sitting` says how many
// rounds the same processes serve; processes keep the luck they began with, so only sittings are independent of each other.
export function pairedRatio(ours, theirs, sitting = 1) {
  const ratios = ours.map((value, round) => (value > 0 && theirs[round] > 0 ? value / theirs[round] : NaN));
  const sittings = grouped(ratios.map((ratio, round) => ({ ratio, sitting: Math.floor(round / sitting) }))
    .filter(({ ratio }) => Number.isFinite(ratio)), (one) => one.sitting);
  const means = [...sittings.values()].map((list) => Math.exp(mean(list.map(({ ratio }) => Math.log(ratio)))));
  return { ...summary(ratios.filter(Number.isFinite)), sittings: means.length, deviation: logDeviation(means) };
}

// --- noise -----------------------------------------------------------------------------------
//
// Noise is a part of a ratio: with 0.1 it may lie between ratio / e^0.1 and ratio * e^0.1.
//
// A few sittings cannot tell their own deviation: three that happen to agree are no proof of a
// steady machine. So what all comparisons of a kind show together counts like five more.

const degrees_lent = 4;

// The median of a sum of squares, divided by their number, `degrees` (Wilson and Hilferty).
const medianOfSquares = (degrees) => (1 - 2 / (9 * degrees)) ** 3;

// What sittings deviate by, from the ratios of several comparisons; null if too few have two.
export function typicalDeviation(ratios, least = 1) {
  const several = ratios.filter(({ sittings }) => sittings >= 2);
  if (several.length < least) return null;
  return median(several.map(({ deviation, sittings }) => deviation / Math.sqrt(medianOfSquares(sittings - 1))));
}

// Student's t: [degrees of freedom, the number of deviations within which 99 of 100 values lie].
const within_99 = [[2, 9.92], [3, 5.84], [4, 4.60], [5, 4.03], [6, 3.71], [7, 3.50], [8, 3.36], [9, 3.25], [10, 3.17], [12, 3.05], [15, 2.95],
  [20, 2.85], [30, 2.75]];
const studentsT = (degrees) => within_99.findLast(([from]) => degrees >= from)[1];

// How far a ratio may lie from the truth, but for one of a hundred. A median of three and more
// is a quarter wider than a mean.
export function noiseOf({ deviation, sittings }, typical) {
  const degrees = degrees_lent + sittings - 1;
  const square = (degrees_lent * typical ** 2 + (sittings - 1) * (deviation ?? 0) ** 2) / degrees;
  return studentsT(degrees) * (sittings >= 3 ? 1.25 : 1) * Math.sqrt(square / sittings);
}

// The mean of ratios, and its noise from how they differ; null of fewer than three.
export function meanRatio(ratios) {
  if (ratios.length < 3) return null;
  return { mean: Math.exp(mean(ratios.map(Math.log))), noise: (studentsT(ratios.length - 1) * logDeviation(ratios)) / Math.sqrt(ratios.length),
    count: ratios.length };
}

export const lowest = (ratio, noise) => ratio / Math.exp(noise);
export const highest = (ratio, noise) => ratio * Math.exp(noise);
