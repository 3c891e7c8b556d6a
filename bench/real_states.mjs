// What would the bench's workloads reuse of states as large as a real model's?
//
//   node bench/real_states.mjs PROGRAM ENGINE_FOLDER [MODEL ...]
//
// Each workload is run once on Holdfast with the pocket model and recorded; each recording is replayed
// with the states of larger models, without a limit and with a tenth of what that filled, beside what
// llama-server does with the same bytes. The replay knows memory alone: a server's slots keep
// snapshots of their own besides (--slot-snapshots), so with a tenth it reuses more than is said here.
// Restarts are not replayed; `SCENARIOS=real make bench` has them.
//
// The replay is that of the holdfast-policy beside PROGRAM (a target of the same build folder).
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';

import { contestantsOf, withFlags } from './contestants.mjs';
import { exactly } from './rounds.mjs';
import { runWorkload } from './scenarios/workload.mjs';
import { folder, wishesFrom } from './setup.mjs';
import { withTemporaryFolder } from './temporary.mjs';
import { workloads } from './workloads.mjs';

const [program, engine, ...models] = process.argv.slice(2);
if (!engine) {
  console.error('usage: node bench/real_states.mjs PROGRAM ENGINE_FOLDER [9b|27b|nemotron-30b-a3b ...]');
  process.exit(2);
}

const policy = join(dirname(program), 'holdfast-policy');
const percent = (share) => (100 * share).toFixed(2);

function replayed(recording, model, slots, budget) {
  const peer = slots === 1 ? 'llama-server' : 'llama-server-4';
  const args = ['--policy', `holdfast,${peer}`, '--trace', recording, '--model', model, '--machine', 'cpu', '--budget', budget, '--json'];
  const [ours, theirs] = JSON.parse(execFileSync(policy, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  return { ours, theirs };
}

function row(name, model, slots, recording) {
  const ample = replayed(recording, model, slots, 'inf');
  const tenth = replayed(recording, model, slots, `${Math.max(1, Math.floor(ample.ours.held_bytes_most / 10 / 2 ** 20))}MiB`);
  const cells = [ample, tenth].map(({ ours, theirs }) => `${percent(ours.eta)} | ${percent(theirs.eta)}`);
  return `| ${name} | ${model} | ${cells.join(' | ')} | ${ample.ours.oracle_tokens - ample.ours.reused_tokens} |`;
}

console.log('| workload | states | Holdfast | llama-server | Holdfast, a tenth | llama-server, a tenth | tokens read again |');
console.log('|---|---|--:|--:|--:|--:|--:|');
const { settings } = wishesFrom(process.env);
const { holdfastPlain } = contestantsOf({ holdfast: program, engine });
const only = new RegExp(process.env.WORKLOADS || '.');
for (const workload of workloads.filter(({ name, restarts }) => !restarts && only.test(name))) {
  const { name, slots = 4, context = settings.context } = workload;
  await withTemporaryFolder(async (temporary) => {
    const recording = join(temporary, 'recording.hfrec');
    await runWorkload([withFlags(holdfastPlain, ['--record', recording])], workload,
      { rounds: exactly(1), logs: join(folder, 'logs'), settings: { ...settings, slots, context } });
    for (const model of models.length > 0 ? models : ['9b']) console.log(row(name, model, slots, recording));
  });
}
