// Compares Holdfast with llama-server on this machine. scripts/bench.sh calls it, and lists
// what the environment may ask for:
//
//   node bench/run.mjs '{"holdfast": PROGRAM, "generator": PROGRAM, "engine": FOLDER, "engines": [...]}'
//
// A whole run writes docs/benchmarks-tables.md, docs/benchmarks.json and docs/charts; a quick or
// partial one writes build/bench/, so that it never replaces good numbers.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { groupOf } from './groups.mjs';
import { machine, machineBusySeconds } from './proc.mjs';
import { writeReport } from './report_files.mjs';
import { folder, root, Run, versions, wishesFrom } from './setup.mjs';
import { itemsOf } from './verdict.mjs';

async function warnOfCompany(run) {
  const before = machineBusySeconds();
  await sleep(1000);
  const share = (machineBusySeconds() - before) / os.cpus().length;
  if (share < 0.1) return;
  run.say(`warning: other processes use ${(100 * share).toFixed(0)}% of this machine; the numbers will be noise`);
}

const told = ['ITSELF', 'QUICK', 'ENGINES', 'ROUNDS', 'SEED', 'MODEL', 'THREADS', 'CONTEXT', 'SCENARIOS', 'WORKLOADS', 'VARIANTS'];

function description(run, began_ms) {
  const chosen = told.filter((name) => process.env[name]).map((name) => `${name}=${process.env[name]} `).join('');
  return { ...run.settings, model: relative(root, run.settings.model), seed: run.seed, rounds: run.rounds, quick: run.quick,
    date: new Date().toISOString().slice(0, 10), minutes: (performance.now() - began_ms) / 60_000, command: `${chosen}make bench` };
}

function resultsOf(run, began_ms) {
  const { sections, workloads, times, sameEngine } = run;
  return { format: 1, machine: machine(), versions: versions(run), run: description(run, began_ms), sameEngine,
    items: itemsOf(run), workloads, sections, times, commands: [...run.commands.keys()] };
}

// What came of the run so far is written after each group: a run that is broken off has told
// all it knew.
function writeAll(run, began_ms, whole) {
  const results = resultsOf(run, began_ms);
  const into = whole ? join(root, 'docs') : folder;
  writeFileSync(join(folder, 'results.json'), `${JSON.stringify(results)}\n`);
  writeReport(results, into);
  return into;
}

const began_ms = performance.now();
const run = new Run(JSON.parse(process.argv[2]), wishesFrom(process.env));
rmSync(run.logs, { recursive: true, force: true });
mkdirSync(run.logs, { recursive: true });
await warnOfCompany(run);
for (const [name, group] of Object.entries(groupOf)) {
  if (!run.wanted.has(name)) continue;
  await group(run);
  writeAll(run, began_ms, false);
}
const into = writeAll(run, began_ms, run.whole);
run.say(`wrote ${relative(root, join(into, 'benchmarks-tables.md'))}, benchmarks.json and charts beside it; raw numbers are in build/bench/results.json`);
if (run.times.some(({ error }) => error)) process.exitCode = 1;
