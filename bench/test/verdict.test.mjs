import assert from 'node:assert/strict';
import { test } from 'node:test';

import { compareItems, compareText } from '../compare.mjs';
import { contestantsOf, tightBudget_MiB, variants } from '../contestants.mjs';
import { reasonFor } from '../exceptions.mjs';
import { revived, together } from '../retell.mjs';
import { compact, markdown, verdictText } from '../report.mjs';
import { chartsOf } from '../pictures.mjs';
import { exactly, Samples } from '../rounds.mjs';
import { countsOf, exceptionsOf, itemsOf, reuseState, stateOf } from '../verdict.mjs';

// A workload in which Holdfast's first token takes `ours_ms` and the peer's 100 ms.
function workload(name, ours_ms, missed, variant = 'plain') {
  const samples = new Samples(['holdfast', 'llama-server']);
  const metrics = (warm, again) => ({ requests: 5, oracle: 1000, missed: again, share: 1 - again / 1000, warm_p50_ms: warm, warm_p95_ms: warm,
    cold_p50_ms: 500, wall_s: 2, written_per_s: 40, peak_MiB: 100, first_ms: [warm] });
  for (let round = 0; round < 5; ++round) {
    samples.add('holdfast', metrics(ours_ms, missed));
    samples.add('llama-server', metrics(100, 200));
  }
  return { name, variant, slots: 4, model: 'pocket', samples };
}

function resultsOf(workloads) {
  const run = { model: 'm', threads: 2, slots: 4, context: 1, seed: 1, date: 'd', minutes: 1, command: 'make bench',
    rounds: { speed: exactly(5), often: exactly(9), slow: exactly(2), workloads: { plain: exactly(3), tight: exactly(2), mtp: exactly(2) } } };
  return { format: 1, machine: { cpu: 'c', cores: 2, memory_GiB: 1, system: 's', node: 'n' }, versions: {}, run, sameEngine: true,
    items: itemsOf({ workloads, sections: [] }), workloads, sections: [], times: [{ name: 'x', seconds: 3, error: 'it broke' }], commands: [] };
}

test('a difference within the noise is none', () => {
  assert.equal(stateOf(0.98, 0.03, 'lower'), 'equal');
  assert.equal(stateOf(0.9, 0.03, 'lower'), 'ahead');
  assert.equal(stateOf(0.9, 0.03, 'higher'), 'behind');
  assert.equal(stateOf(1.2, 0.03, 'higher'), 'ahead');
  for (const noise of [0.2, 1.5]) {
    const factor = Math.exp(noise) * 1.01;
    assert.deepEqual([stateOf(factor, noise, 'lower'), stateOf(1 / factor, noise, 'lower')], ['behind', 'ahead'], 'twice as slow is as far as half');
  }
  assert.throws(() => stateOf(0 / 0, 0.1, 'lower'));
});

test('tokens are counted to a thousandth of the oracle', () => {
  assert.equal(reuseState(10, 11, 1000), 'equal');
  assert.equal(reuseState(10, 12, 1000), 'ahead');
  assert.equal(reuseState(12, 10, 1000), 'behind');
});

test('the verdict counts what is claimed, and lists what is behind with its figure', () => {
  const items = itemsOf({ workloads: [workload('quick', 50, 0), workload('slow', 140, 300)], sections: [] });
  const [reuse, first, none] = countsOf(items);
  assert.deepEqual([reuse.ahead, reuse.behind, first.ahead, first.behind, none.equal], [1, 1, 1, 1, 4]);
  assert.deepEqual(exceptionsOf(items).map(({ measure }) => measure), ['read again', 'first token p50']);
  const text = verdictText(items);
  assert.match(text, /Of 8 comparisons .* ahead in 2 and behind in 2; in 4 no difference was seen/);
  assert.match(text, /No reason known\.\n\n[^]*slow: first token p50\*\*: 1\.40 \[1\.36, 1\.44\] \(140 against 100 ms\)/);
  assert.doesNotMatch(text, /quick/);
});

test('a failed scenario is told and does not hide the others', () => {
  const failed = { name: 'broken', variant: 'plain', slots: 4, model: 'pocket', error: 'it broke' };
  const results = resultsOf([workload('whole', 50, 0), failed]);
  const text = markdown(results, chartsOf(results));
  assert.match(text, /\| broken \| failed \|/);
  assert.match(text, /\| whole \| 5 \| 1000 \| 100\.00% \| 80\.00% \|/);
  assert.match(text, /Not measured[^]*\*\*x\*\*: it broke/);
});

test('two runs agree within what both state', () => {
  const items = (ms, missed) => itemsOf({ workloads: [workload('one', ms, missed)], sections: [] });
  const same = compareItems(items(50, 0), items(52, 0));
  assert.ok(same.rows.every(({ agrees }) => agrees));
  const other = compareItems(items(50, 0), items(120, 7));
  const differing = other.rows.filter(({ agrees }) => !agrees).map(({ id }) => id);
  assert.deepEqual(differing.filter((id) => /p50|again/.test(id)).length, 2);
  assert.ok(other.rows.some(({ turned }) => turned));
  assert.match(compareText(other), /TURNED/);
});

test('what chance decides may differ by a tenth of what could be reused', () => {
  const items = (missed, chance) => itemsOf({ workloads: [{ ...workload('one', 50, missed), chance }], sections: [] });
  const agree = (chance) => compareItems(items(0, chance), items(60, chance)).rows.find(({ id }) => /again/.test(id)).agrees;
  assert.deepEqual([agree(true), agree(false)], [true, false]);
});

test('a run can be told again from its raw numbers', () => {
  const results = resultsOf([workload('one', 50, 0), workload('two', 120, 7)]);
  const again = revived(JSON.parse(JSON.stringify(results)));
  assert.deepEqual(again.items, results.items);
  assert.equal(markdown(again, chartsOf(again)), markdown(results, chartsOf(results)));
});

test('rounds of two runs count together, and a sitting never spans both', () => {
  const once = (name) => ({ ...resultsOf([workload(name, 120, 7)]), sections: [lastingServers(4)] });
  const both = together([once('one'), once('one')]);
  assert.equal(both.run.runs, 2);
  const p50 = both.items.find(({ measure }) => measure === 'first token p50');
  assert.deepEqual([p50.ratio.rounds, p50.ratio.median], [10, 1.2]);
  const rate = both.items.find(({ measure }) => measure === 'rate');
  assert.deepEqual([rate.ratio.rounds, rate.ratio.sittings], [12, 4]);
  assert.match(markdown(both, chartsOf(both)), /2 runs together/);
  const apart = together([once('one'), once('other')]);
  assert.equal(apart.items.find(({ measure }) => measure === 'first token p50').ratio.rounds, 5, 'what only one run has stays as it is');
});

test('the kept numbers can be read back and compared', () => {
  const results = resultsOf([workload('one', 50, 0)]);
  const back = JSON.parse(compact(results));
  assert.equal(back.format, 1);
  assert.ok(compareItems(back.items, results.items).rows.every(({ agrees }) => agrees));
});

test('a tight budget is a tenth, the same for both, and never nothing', () => {
  assert.equal(tightBudget_MiB(250), 25);
  assert.equal(tightBudget_MiB(3), 1);
  for (const kind of ['holdfast', 'llama-server']) {
    const { extra } = variants.tight.set({ kind, name: kind }, 7);
    assert.equal(extra[extra.indexOf('--cache-ram') + 1], '7');
  }
});

// Two rows: one in which servers differ by a tenth for as long as they run, one that shows how much they do.
function lastingServers(sitting) {
  const samples = new Samples(['holdfast', 'llama-server']);
  samples.sitting = sitting;
  for (let round = 0; round < 6; ++round) {
    samples.add('holdfast', { rate: 90 + round % 2, other: round < 3 ? 90 : 110 });
    samples.add('llama-server', { rate: 100, other: 100 });
  }
  const row = (metric) => ({ label: metric, samples, metric });
  return { name: 'reading', tables: [{ topic: 'no reuse', claim: true, unit: 'tokens/s', better: 'higher', rows: [row('rate'), row('other')] }] };
}

test('what lasting servers differ by for as long as they run is not told from noise', () => {
  const stateWith = (sitting) => itemsOf({ workloads: [], sections: [lastingServers(sitting)] })[0].state;
  assert.equal(stateWith(Infinity), 'equal');
  assert.equal(stateWith(3), 'equal');
  const steady = lastingServers(1);
  steady.tables[0].rows.pop();
  assert.equal(itemsOf({ workloads: [], sections: [steady] })[0].state, 'behind');
});

test('against itself nobody else is named, and no reason given', () => {
  const { llama, llamaCachesOff, holdfastPlain } = contestantsOf({ holdfast: 'h', engine: 'e' }, true);
  assert.deepEqual([llama.kind, llamaCachesOff.program, llama.extra], ['holdfast', 'h', holdfastPlain.extra]);
  assert.equal(new Set([llama.name, llamaCachesOff.name, holdfastPlain.name]).size, 3);
  assert.equal(reasonFor({ id: 'five-turn chat | plain | peak memory | itself', peer: 'itself' }), null);
  assert.match(reasonFor({ id: 'five-turn chat | plain | peak memory | llama-server', peer: 'llama-server' }), /states/);
  assert.match(reasonFor({ id: 'five-turn chat, state-9b | real | read again | llama-server', peer: 'llama-server' }), /letters/);
});
