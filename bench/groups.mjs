// Groups of scenarios, each with the servers it needs. A group is a function of a Run.
import { join } from 'node:path';

import { drafting, notDrafting, tightBudget_MiB, variants, withFlags } from './contestants.mjs';
import { connections } from './scenarios/connections.mjs';
import { decode } from './scenarios/decode.mjs';
import { disk } from './scenarios/disk.mjs';
import { engines } from './scenarios/engines.mjs';
import { interference } from './scenarios/interference.mjs';
import { memory, memoryReadings } from './scenarios/memory.mjs';
import { parity } from './scenarios/parity.mjs';
import { prefill } from './scenarios/prefill.mjs';
import { restart, restartSection } from './scenarios/restart.mjs';
import { sizes, sizesSection } from './scenarios/sizes.mjs';
import { speculation, speculationSection } from './scenarios/speculation.mjs';
import { throughput } from './scenarios/throughput.mjs';
import { runWorkload } from './scenarios/workload.mjs';
import { atMost, exactly } from './rounds.mjs';
import { median } from './stats.mjs';
import { withTemporaryFolder } from './temporary.mjs';
import { realWorkloads, sizedWorkloads, workloads } from './workloads.mjs';

// --- servers that stay ----------------------------------------------------------------------

async function parityGroup(run) {
  const { holdfastPlain, llamaCachesOff } = run.contestants;
  await run.part('parity', () => run.running([holdfastPlain, llamaCachesOff], { flash: 'off' }, async (bench, servers) => {
    run.requireSameEngine(servers);
    run.sections.push(await parity(bench, servers));
  }));
}

async function speedGroup(run) {
  const { holdfastPlain, llamaCachesOff, llama } = run.contestants;
  const section = (name, work) => run.part(name, async () => run.sections.push(await work()));
  await run.part('speed', () => run.running([holdfastPlain, llamaCachesOff, llama], {}, async (bench, servers) => {
    run.requireSameEngine(servers);
    const atStart = memoryReadings(servers);
    await section('decode', () => decode(bench, servers));
    await section('prefill', () => prefill(bench, servers));
    await section('memory', () => memory(atStart, memoryReadings(servers)));
  }));
  for (const long_prompt_tokens of run.quick ? [8000] : [8000, 32_000]) {
    const long = long_prompt_tokens > 8000;
    const rounds = long ? atMost(1, run.rounds.slow) : run.rounds.speed;
    await section(`interference ${long_prompt_tokens / 1000}K`, () =>
      run.running([holdfastPlain, llama], { slots: 2, context: 40_960 + long_prompt_tokens }, (bench, servers) =>
        interference(bench, servers, { long_prompt_tokens }), rounds));
  }
}

async function throughputGroup(run) {
  const { holdfastPlain, llama } = run.contestants;
  await run.part('throughput', () => run.running([holdfastPlain, llama], {}, async (bench, servers) => {
    run.sections.push(await throughput(bench, servers));
  }, run.rounds.slow));
}

// Models of realistic size have random weights here, and a head that is never right.
async function speculationGroup(run) {
  const rates = '0.8,0.7,0.6';
  const { holdfast, llamaCachesOff } = run.contestants;
  const models = [{ label: 'pocket model', answer_tokens: 256, changes: {}, extra: [] },
    { label: 'qwen35-0.8b', answer_tokens: 48, extra: ['--spec-synth-rates', rates], shape: 'qwen35-0.8b', changes: { context: 4096 } }];
  const rows = { itself: [], peer: [], whole: [] };
  for (const { label, answer_tokens, changes, extra, shape } of models) {
    await run.part(`speculation, ${label}`, async () => {
      const model = shape ? { model: run.model(shape, { mtp: true }) } : {};
      const contestants = [drafting(holdfast, [...extra, '--draft-adaptive']), notDrafting(holdfast), drafting(llamaCachesOff, extra)];
      await run.running(contestants, { ...changes, ...model }, async (bench, servers) => {
        const found = await speculation(bench, servers, { label, answer_tokens, streams: [1, 4], seldom: atMost(3, run.rounds.slow) });
        for (const kind of Object.keys(rows)) rows[kind].push(...found[kind]);
      }, run.rounds.often);
    });
  }
  run.sections.push(speculationSection(rows, rates));
}

async function diskGroup(run) {
  const { diskOn, diskOff } = run.contestants;
  await run.part('disk', () => withTemporaryFolder((folder) =>
    run.running([diskOn(join(folder, 'states')), diskOff], {}, async (bench, servers) => run.sections.push(await disk(bench, servers)))));
}

async function connectionsGroup(run) {
  await run.part('connections', () => run.running([run.contestants.holdfastForCrowds], { context: 4096 }, async (bench, [server]) => {
    run.sections.push(await connections(bench, server));
  }));
}

async function enginesGroup(run) {
  if (!run.built.engines?.length) return;
  const forms = run.built.engines.map(({ name, program }) => ({ name, program, kind: 'holdfast' }));
  await run.part('engines', () => run.running(forms, {}, async (bench, servers) => run.sections.push(await engines(bench, servers))));
}

// --- servers that come and go ----------------------------------------------------------------

// What the workload fills in Holdfast without a limit.
async function filled_MiB(run, workload, how) {
  const known = run.workloads.find(({ name, variant, samples }) => name === workload.name && variant === 'plain' && samples);
  const { samples } = known ?? await runWorkload([run.contestants.holdfastPlain], workload, { ...how, rounds: exactly(1) });
  return median(samples.values(samples.names[0], 'fill_MiB'));
}

async function measureWorkload(run, workload, variant) {
  const { slots = 4, context, model, name } = workload;
  const how = { logs: run.logs, turn: run.workloads.length % 2, rounds: atMost(workload.rounds ?? Infinity, run.rounds.workloads[variant]),
    settings: { ...run.settings, slots, ...(context ? { context } : {}), ...(model ? { model: run.model(model) } : {}) } };
  const budget_MiB = variant === 'tight' ? tightBudget_MiB(await filled_MiB(run, workload, how)) : null;
  const contestants = [run.contestants.holdfast, run.contestants.llama].map((one) =>
    withFlags(variants[variant].set(one, budget_MiB), workload.flags?.[one.kind] ?? []));
  run.say(`${name}, ${variant}${budget_MiB ? `, ${budget_MiB} MiB` : ''}`);
  const { samples, commands } = await runWorkload(contestants, workload, how);
  commands.forEach((command) => run.noteCommand(command));
  return { samples, budget_MiB };
}

async function runAllOf(run, list, names) {
  const chosen = list.filter(({ name, long }) => run.only.test(name) && !(run.quick && long));
  for (const variant of names) {
    for (const workload of chosen) {
      const { name, slots = 4, model = 'pocket', chance = false } = workload;
      const entry = { name, variant, slots, model, chance };
      run.workloads.push(entry);
      const found = await run.part(`${name}, ${variant}`, () => measureWorkload(run, workload, variant));
      Object.assign(entry, found ?? { error: run.times.at(-1).error });
    }
  }
}

const workloadsGroup = (run) => runAllOf(run, workloads, Object.keys(variants).filter((name) => run.variants.has(name)));

async function sizesGroup(run) {
  await runAllOf(run, sizedWorkloads, ['plain']);
  const { holdfastPlain, llamaCachesOff } = run.contestants;
  const rows = [];
  for (const shape of ['qwen35-0.8b', 'attention-1b', 'swa-1b']) {
    await run.part(`speed, ${shape}`, () =>
      run.running([holdfastPlain, llamaCachesOff], { model: run.model(shape), slots: 1, context: 4096 }, async (bench, servers) => {
        rows.push(...await sizes(bench, servers, shape));
      }, run.rounds.slow));
  }
  run.sections.push(sizesSection(rows));
}

async function realGroup(run) {
  await runAllOf(run, realWorkloads, ['real']);
  const { holdfastPlain, llama } = run.contestants;
  const how = { long_prompt_tokens: 1500, tokens_before: 40, answer_tokens_max: 2000, model: 'state-9b' };
  if (!run.only.test('interference')) return;
  await run.part('interference, state-9b', () =>
    run.running([holdfastPlain, llama], { model: run.model(how.model), slots: 2, context: 4096 }, async (bench, servers) => {
      run.sections.push(await interference(bench, servers, how));
    }, run.rounds.slow));
}

// Other kinds of state need models of their own, which are slow.
const restarts = [{ length: 8000, rounds: 1, quick: true }, { length: 16_000, rounds: 1 },
  { length: 500, rounds: 1, shape: 'attention-1b' }, { length: 500, rounds: 1, shape: 'swa-1b' }];

// A server of ours makes the prompts first.
async function restartGroup(run) {
  const { holdfast, llama } = run.contestants;
  const results = [];
  for (const { length, rounds, shape } of restarts.filter(({ quick }) => quick || !run.quick)) {
    const label = shape ?? 'pocket model';
    await run.part(`restart, ${label}, ${length} tokens`, async () => {
      const model = shape ? run.model(shape) : run.settings.model;
      const settings = { ...run.settings, model, slots: 1, context: length + 768 };
      await run.running([holdfast], { model, slots: 1, context: 4096 }, async (bench) => {
        results.push(await restart(bench, { holdfast, llama }, { settings, logs: run.logs, label, length }));
      }, atMost(rounds, run.rounds.slow));
    });
  }
  if (results.length > 0) run.sections.push(restartSection(results));
}

export const groupOf = { parity: parityGroup, speed: speedGroup, throughput: throughputGroup, workloads: workloadsGroup, sizes: sizesGroup, real: realGroup,
  restart: restartGroup, speculation: speculationGroup, disk: diskGroup, connections: connectionsGroup, engines: enginesGroup };
