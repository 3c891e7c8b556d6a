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

// Round by round, so that a slow minute of the machine touches both sides of a ratio.
// Rounds in which a side has no number are left out.
export function pairedRatio(ours, theirs) {
  return summary(ours.map((value, round) => value / theirs[round]).filter(Number.isFinite));
}

// How far a ratio may lie from the truth: twice its deviation, and never less than what
// so few rounds can tell, a part of the ratio. Two runs agree when theirs differ by less than both.
const least_noise = [[5, 0.03], [3, 0.05], [2, 0.1], [1, 0.2]]; // from so many rounds on

export function noiseOf({ median: middle, mad: deviation, rounds }) {
  const [, least] = least_noise.find(([from]) => rounds >= from) ?? [0, Infinity];
  return Math.max(least * middle, 2 * deviation);
}
