// What the numbers say. An item is one comparison of Holdfast with a peer:
//
//   {id, topic, claim, scenario, variant, measure, peer, unit, better,
//    ours, theirs, ratio: {median, mad, min, max, rounds, sittings, deviation}, noise, state}
//   and of tokens that are counted: oracle, chance
//
// topic   'reuse' | 'first token' | 'no reuse': the three sentences that are claimed
// claim   true when the verdict counts it; others are shown only
// ratio   ours / theirs, round by round; null where tokens are counted
// noise   how far the ratio may lie from the truth, as a part of it (stats.mjs)
// state   'ahead' | 'equal' | 'behind': by more than the noise, or no difference that was seen
import { grouped, meanRatio, median, noiseOf, pairedRatio, summary, typicalDeviation } from './stats.mjs';

// The one tolerance that is claimed: where nothing can be reused, nothing is lost either. Less than
// this is no difference, however many rounds agree on it.
export const tolerance = 0.03;

// What rounds deviate by, where no comparison of the run has two of them.
const unknown_deviation = 0.1;
// The comparisons of a kind that it takes to tell how much rounds of it deviate.
const enough_of_a_kind = 4;

const finite = (list) => list.filter(Number.isFinite);

export function stateOf(ratio, noise, better) {
  const gain = better === 'higher' ? Math.log(ratio) : -Math.log(ratio);
  if (Number.isNaN(gain) || Number.isNaN(noise)) throw new Error(`no verdict on a ratio of ${ratio} with noise ${noise}`);
  if (Math.abs(gain) <= noise) return 'equal';
  return gain > 0 ? 'ahead' : 'behind';
}

// Tokens are counted, not timed: every one of them counts, but for the last tenth of a
// percent of the oracle; a tenth of it where time decides what is known when (`chance`).
export function reuseState(ours, theirs, oracle, chance = false) {
  const slack = oracle / (chance ? 10 : 1000);
  if (Math.abs(ours - theirs) <= slack) return 'equal';
  return ours < theirs ? 'ahead' : 'behind';
}

const idOf = ({ scenario, variant, measure, peer }) => [scenario, variant, measure, peer].filter(Boolean).join(' | ');

// From the metrics of a Samples; null where a side has none. `counted` says that the metric
// is no time: few rounds tell as much as many. The noise of times, and with it the state, is
// known when all items are (withNoise).
function timedItem(samples, peer, metric, { counted = false, ...about }) {
  const ours = samples.values(samples.names[0], metric);
  const theirs = samples.values(peer, metric);
  const ratio = pairedRatio(ours, theirs, samples.sitting);
  if (ratio.rounds === 0) return null;
  const noise = counted ? Math.max(tolerance, (2 * ratio.mad) / ratio.median) : null;
  return { id: idOf({ ...about, peer }), ...about, peer, ours: summary(finite(ours)), theirs: summary(finite(theirs)), ratio, noise };
}

// Measures of workloads deviate alike in all of them, and those of a section.
const kindOf = ({ variant, scenario, measure }) => (variant ? measure : scenario);

// Every item with its noise and its state.
function withNoise(items) {
  const timed = items.filter(({ ratio, noise }) => ratio && noise === null);
  const ofAll = typicalDeviation(timed.map(({ ratio }) => ratio)) ?? unknown_deviation;
  const typical = new Map([...grouped(timed, kindOf)].map(([kind, these]) =>
    [kind, typicalDeviation(these.map(({ ratio }) => ratio), enough_of_a_kind) ?? ofAll]));
  return items.map((item) => {
    if (!item.ratio) return item;
    const noise = item.noise ?? Math.max(tolerance, noiseOf(item.ratio, typical.get(kindOf(item))));
    return { ...item, noise, state: stateOf(item.ratio.median, noise, item.better) };
  });
}

// Tokens read although they were known. `oracle` is what could have been reused.
export function reuseItem(samples, peer, about, chance = false) {
  const [ours, theirs] = [samples.names[0], peer].map((name) => samples.values(name, 'missed'));
  const oracle = median(samples.values(samples.names[0], 'oracle'));
  if (oracle === 0) return null;
  return { id: idOf({ ...about, peer }), ...about, peer, oracle, chance, ours: summary(ours), theirs: summary(theirs), ratio: null, noise: 0,
    state: reuseState(median(ours), median(theirs), oracle, chance) };
}

// --- all items of a result ---------------------------------------------------------------

function workloadItems({ name, variant, samples, chance }) {
  const about = (more) => ({ scenario: name, variant, ...more });
  const first = { topic: 'first token', unit: 'ms', better: 'lower' };
  return samples.names.slice(1).flatMap((peer) => [
    reuseItem(samples, peer, about({ topic: 'reuse', claim: true, measure: 'read again', unit: 'tokens', better: 'lower' }), chance),
    timedItem(samples, peer, 'warm_p50_ms', about({ ...first, claim: true, measure: 'first token p50' })),
    timedItem(samples, peer, 'warm_p95_ms', about({ ...first, claim: false, measure: 'first token p95' })),
    timedItem(samples, peer, 'cold_p50_ms', about({ topic: 'no reuse', claim: true, measure: 'first token, cold', unit: 'ms', better: 'lower' })),
    timedItem(samples, peer, 'wall_s', about({ topic: 'first token', claim: false, measure: 'wall time', unit: 's', better: 'lower' })),
    timedItem(samples, peer, 'written_per_s', about({ topic: 'first token', claim: false, measure: 'answers', unit: 'tokens/s', better: 'higher' })),
    timedItem(samples, peer, 'peak_MiB', about({ topic: 'no reuse', claim: true, measure: 'peak memory', unit: 'MiB', better: 'lower', counted: true })),
  ]).filter(Boolean);
}

// Tables of a section say whether they are claimed: `topic` and `claim`.
function sectionItems(section) {
  return (section.tables ?? []).filter(({ topic }) => topic).flatMap(({ topic, claim, counted, unit, better, rows }) =>
    rows.flatMap(({ label, samples, metric }) => samples.names.slice(1).map((peer) =>
      timedItem(samples, peer, metric, { topic, claim, scenario: section.name, variant: '', measure: label, unit, better, counted }))))
    .filter(Boolean);
}

export function itemsOf({ workloads, sections }) {
  return withNoise([...workloads.filter(({ samples }) => samples).flatMap(workloadItems), ...sections.flatMap(sectionItems)]);
}

// --- counts ----------------------------------------------------------------------------------

export const topics = [
  ['reuse', 'reuse: tokens read again although they were known'],
  ['first token', 'time to the first token where something can be reused'],
  ['no reuse', 'where nothing can be reused: cold prompts, reading, writing, memory'],
];

// [{topic, title, ahead, equal, behind}] of what is claimed.
export function countsOf(items) {
  return topics.map(([topic, title]) => {
    const these = items.filter((item) => item.claim && item.topic === topic);
    const count = (state) => these.filter((item) => item.state === state).length;
    return { topic, title, ahead: count('ahead'), equal: count('equal'), behind: count('behind') };
  });
}

export const exceptionsOf = (items) => items.filter(({ claim, state }) => claim && state === 'behind');
export const unclaimedBehindOf = (items) => items.filter(({ claim, state }) => !claim && state === 'behind');

// The difference that half of the comparisons in which none was seen would have shown, as a part; NaN of none.
export const unseenOf = (items, topic) => median(items.filter((item) => item.claim && item.topic === topic && item.ratio && item.state === 'equal')
  .map(({ noise }) => Math.exp(noise) - 1));

// --- over all set-ups --------------------------------------------------------------------------
//
// One comparison is as good as its few rounds; those of a kind together tell more. Of several
// clocks for the same thing one counts.

const inWorkloads = ['first token p50', 'first token, cold', 'peak memory'].flatMap((measure) => Object.entries({
  plain: '', tight: ', a tenth of the memory', mtp: ', with drafts', real: ', real sizes' }).map(([variant, suffix]) =>
  [`${measure}${suffix}`, (item) => item.measure === measure && item.variant === variant]));

const kinds = [...inWorkloads,
  ['reading, tokens/s', ({ scenario, measure }) => scenario === 'prefill' && /, client's clock$/.test(measure)],
  ['writing, tokens/s', ({ scenario, measure }) => scenario === 'decode' && /whole request$/.test(measure)]];

// [{kind, better, peer, mean, noise, count, state}]: the geometric mean of the ratios of each kind.
export function overallOf(items) {
  const peers = [...new Set(items.map(({ peer }) => peer))];
  return kinds.flatMap(([kind, belongs]) => peers.flatMap((peer) => {
    const these = items.filter((item) => item.ratio && item.peer === peer && belongs(item));
    const over = meanRatio(these.map(({ ratio }) => ratio.median));
    return over ? [{ kind, peer, better: these[0].better, ...over, state: stateOf(over.mean, over.noise, these[0].better) }] : [];
  }));
}
