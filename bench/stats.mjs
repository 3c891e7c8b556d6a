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

// Round by round, so that a slow minute of the machine touches both sides of a ratio.
// Rounds in which a side has no number are left out.
export function pairedRatio(ours, theirs) {
  const ratios = ours.map((value, round) => value / theirs[round]).filter(Number.isFinite);
  return { ...summary(ratios), deviation: logDeviation(ratios) };
}

// --- noise -----------------------------------------------------------------------------------
//
// A few rounds cannot tell their own deviation: three that happen to agree are no proof of a
// steady machine. So what all comparisons of a run show together counts like five rounds more.

const rounds_lent = 4; // degrees of freedom

// Of a sum of so many squares, divided by their number: the median (Wilson and Hilferty).
const medianOfSquares = (degrees) => (1 - 2 / (9 * degrees)) ** 3;

// What rounds of this run deviate by, from the ratios of all its comparisons; null if none has two.
export function typicalDeviation(ratios) {
  const several = ratios.filter(({ rounds }) => rounds >= 2);
  if (several.length === 0) return null;
  return median(several.map(({ deviation, rounds }) => deviation / Math.sqrt(medianOfSquares(rounds - 1))));
}

// Student's t: within so many deviations lie 99 of 100, by degrees of freedom.
const within_99 = [[2, 9.92], [3, 5.84], [4, 4.60], [5, 4.03], [6, 3.71], [7, 3.50], [8, 3.36], [9, 3.25], [10, 3.17], [12, 3.05], [15, 2.95], [20, 2.85], [30, 2.75]];
const studentsT = (degrees) => within_99.findLast(([from]) => degrees >= from)[1];

// How far a ratio may lie from the truth, but for one of a hundred. A median of three and more
// is a quarter wider than a mean. `least` is a part of the ratio that is never called a difference.
export function noiseOf({ median: middle, deviation, rounds }, typical, least) {
  if (rounds === 0) return Infinity;
  const degrees = rounds_lent + rounds - 1;
  const square = (rounds_lent * typical ** 2 + (rounds - 1) * (deviation ?? 0) ** 2) / degrees;
  const part = studentsT(degrees) * (rounds >= 3 ? 1.25 : 1) * Math.sqrt(square / rounds);
  return middle * Math.max(least, part);
}

// The mean of ratios, and how far it may lie from the truth, from how they differ; as above.
export function meanRatio(ratios) {
  if (ratios.length < 3) return null;
  const middle = Math.exp(mean(ratios.map(Math.log)));
  return { mean: middle, noise: (middle * studentsT(ratios.length - 1) * logDeviation(ratios)) / Math.sqrt(ratios.length), count: ratios.length };
}
