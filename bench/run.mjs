// Compares Holdfast with llama-server on this machine. scripts/bench.sh calls it:
//
//   node bench/run.mjs '{"holdfast": PROGRAM, "engine": FOLDER, "engines": [...]}'
//
// Environment: QUICK, ROUNDS, SEED, MODEL, THREADS, CONTEXT, BENCH_DISK (a folder on the disk
// that states are written to), and SCENARIOS, a list such as parity,decode. A whole run writes docs/benchmarks.md; a quick or partial
// one writes build/bench/benchmarks.md, so that it never replaces good numbers.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { basename, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { tokenize } from './client.mjs';
import { engineLibraries, machine, machineBusySeconds } from './proc.mjs';
import { PromptMaker } from './prompts.mjs';
import { markdown } from './report.mjs';
import { connections } from './scenarios/connections.mjs';
import { decode } from './scenarios/decode.mjs';
import { disk } from './scenarios/disk.mjs';
import { engines } from './scenarios/engines.mjs';
import { interference } from './scenarios/interference.mjs';
import { memory, memoryReadings } from './scenarios/memory.mjs';
import { parity } from './scenarios/parity.mjs';
import { prefill } from './scenarios/prefill.mjs';
import { restart, restartSection } from './scenarios/restart.mjs';
import { reuse, reuseOfThoughts, reuseSection } from './scenarios/reuse.mjs';
import { speculation, speculationSection } from './scenarios/speculation.mjs';
import { withServers } from './servers.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'build/bench');
const logs = join(folder, 'logs');
const built = JSON.parse(process.argv[2]);
const quick = Boolean(process.env.QUICK);
const everything = ['parity', 'decode', 'prefill', 'interference', 'memory', 'speculation', 'reuse', 'restart', 'disk', 'connections', 'engines'];
const wanted = new Set(process.env.SCENARIOS?.split(',') ?? everything);
const whole = !quick && everything.every((name) => wanted.has(name));

const number = (name, otherwise) => Number(process.env[name] || otherwise);
const settings = {
  model: process.env.MODEL || join(root, 'models/holdfast-pocket-q8_0.gguf'),
  threads: number('THREADS', os.cpus().length),
  slots: 4,
  context: number('CONTEXT', 16384),
  flash: 'on',
};
const seed = number('SEED', 1);
const rounds = number('ROUNDS', quick ? 3 : 7);
const say = (text) => console.error(`bench: ${text}`);

// --- contestants -------------------------------------------------------------

const libraries = join(built.engine, 'lib');
const holdfast = { name: 'holdfast', kind: 'holdfast', program: built.holdfast, libraries };
const llama = { name: 'llama-server', kind: 'llama-server', program: join(built.engine, 'bin/llama-server'), libraries };
const llamaCachesOff = { ...llama, name: 'llama-server, caches off',
  extra: ['--cache-ram', '0', '--ctx-checkpoints', '0'] };
const keepingThoughts = (contestant) => ({ ...contestant,
  extra: ['--chat-template-file', join(root, 'tests/clients/keep_thoughts.jinja')] });
// Beside a peer that does not draft.
const holdfastPlain = { ...holdfast, extra: ['--spec', 'off'] };
const drafting = (contestant, ...extra) => ({ ...contestant, name: `${contestant.name}, MTP`, extra: [...(contestant.extra ?? []),
  ...(contestant.kind === 'holdfast' ? ['--spec', 'mtp'] : ['--spec-type', 'draft-mtp', '--spec-draft-n-max', '3']), ...extra] });
const notDrafting = (contestant) => ({ ...contestant, name: `${contestant.name}, no drafts`,
  extra: [...(contestant.extra ?? []), ...(contestant.kind === 'holdfast' ? ['--spec', 'off'] : [])] });
const holdfastForCrowds = { ...holdfast, extra: ['--queue-max', '4096', '--connections-max', '4096'] };

// --- one group of scenarios for each set of running servers ------------------

const commands = [];
const sections = [];
let sameEngine = false; // seen to be so, see requireSameEngine()

// Starts the servers, notes their command lines, and hands `work` a bench to use.
function running(contestants, changes, work) {
  const these = { ...settings, ...changes };
  return withServers(contestants, these, logs, (servers) => {
    for (const server of servers) {
      commands.push(`# ${server.name}`, `${server.kind} ${server.args.join(' ').replaceAll(root, '')}`);
    }
    const prompts = new PromptMaker(seed, (text) => tokenize(servers[0], text));
    return work({ rounds, quick, say, prompts }, servers);
  });
}

function requireSameEngine(servers) {
  const [first, ...others] = servers.map((server) => JSON.stringify(sorted(engineLibraries(server.pid))));
  if (first === '{}' || others.some((other) => other !== first)) {
    throw new Error(`the servers run different engine libraries: ${[first, ...others].join(' ')}`);
  }
  sameEngine = true;
}

const sorted = (object) => Object.fromEntries(Object.entries(object).sort());

async function speedGroup(bench, servers) {
  requireSameEngine(servers);
  const atStart = memoryReadings(servers);
  if (wanted.has('decode')) sections.push(await decode(bench, servers));
  if (wanted.has('prefill')) sections.push(await prefill(bench, servers));
  if (wanted.has('interference')) sections.push(await interference(bench, servers));
  if (wanted.has('memory')) sections.push(memory(atStart, memoryReadings(servers)));
}

// Models of realistic size have random weights here, and a head that is never right.
async function speculationGroup() {
  const rates = '0.8,0.7,0.6';
  const models = [{ label: 'pocket model', answer_tokens: 256, changes: {}, extra: [] }];
  if (process.env.MTP_MODEL) {
    models.push({ label: basename(process.env.MTP_MODEL), answer_tokens: 64, extra: ['--spec-synth-rates', rates],
      changes: { model: process.env.MTP_MODEL, context: 4096 } });
  }
  const rows = [];
  for (const { label, answer_tokens, changes, extra } of models) {
    const contestants = [drafting(holdfast, ...extra), notDrafting(holdfast), drafting(llamaCachesOff, ...extra),
      notDrafting(llamaCachesOff)];
    await running(contestants, changes, async (bench, servers) => {
      rows.push(...await speculation(bench, servers, { label, answer_tokens, streams: [1, 4] }));
    });
  }
  sections.push(speculationSection(rows, process.env.MTP_MODEL ? rates : ''));
}

async function reuseGroup() {
  const parts = [];
  for (const slots of [1, 4]) {
    const results = await running([holdfast, llama], { slots }, (bench, servers) => {
      requireSameEngine(servers);
      return reuse(bench, servers, slots);
    });
    results.push(...await running([holdfast, llama].map(keepingThoughts), { slots }, (bench, servers) =>
      reuseOfThoughts(bench, servers, slots)));
    parts.push({ slots, results });
  }
  sections.push(reuseSection({ quick }, parts));
}

// Its servers come and go; a server of ours makes the prompts first. Other kinds of state
// need models of their own.
async function restartGroup() {
  const models = [{ label: 'pocket model', model: settings.model },
    ...['ATTENTION_MODEL', 'SWA_MODEL'].filter((name) => process.env[name])
      .map((name) => ({ label: basename(process.env[name]), model: process.env[name] }))];
  const results = [];
  for (const { label, model } of models) {
    for (const length of quick ? [8000] : [8000, 32000]) {
      const these = { ...settings, model, slots: 1, context: length + 768 };
      await running([holdfast], { model, slots: 1, context: 4096 }, async (bench) => {
        results.push(await restart(bench, { holdfast, llama }, { settings: these, logs, label, length }));
      });
    }
  }
  sections.push(restartSection(results));
}

async function diskGroup() {
  const states = mkdtempSync(join(process.env.BENCH_DISK || os.tmpdir(), 'holdfast-bench-'));
  const withTier = { ...holdfast, name: 'holdfast, disk on', extra: ['--cache-dir', join(states, 'states')] };
  const without = { ...holdfast, name: 'holdfast, disk off', extra: ['--cache-dir', 'off'] };
  try {
    await running([withTier, without], {}, async (bench, servers) => sections.push(await disk(bench, servers)));
  } finally {
    rmSync(states, { recursive: true, force: true });
  }
}

async function runAll() {
  if (wanted.has('parity')) {
    await running([holdfastPlain, llamaCachesOff], { flash: 'off' }, async (bench, servers) => {
      requireSameEngine(servers);
      sections.push(await parity(bench, servers));
    });
  }
  if (['decode', 'prefill', 'interference', 'memory'].some((name) => wanted.has(name))) {
    await running([holdfastPlain, llamaCachesOff, llama], {}, speedGroup);
  }
  if (wanted.has('speculation')) await speculationGroup();
  if (wanted.has('reuse')) await reuseGroup();
  if (wanted.has('restart')) await restartGroup();
  if (wanted.has('disk')) await diskGroup();
  if (wanted.has('connections')) {
    await running([holdfastForCrowds], { context: 4096 }, async (bench, [server]) => {
      sections.push(await connections(bench, server));
    });
  }
  if (wanted.has('engines') && built.engines?.length > 0) {
    const forms = built.engines.map(({ name, program }) => ({ name, program, kind: 'holdfast' }));
    await running(forms, {}, async (bench, servers) => sections.push(await engines(bench, servers)));
  }
}

// --- versions ----------------------------------------------------------------

function output(program, args, options = {}) {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options }).trim();
  } catch {
    return '';
  }
}

function gitState() {
  const commit = output('git', ['rev-parse', '--short', 'HEAD'], { cwd: root });
  const dirty = output('git', ['status', '--porcelain', '--', 'src', 'CMakeLists.txt'], { cwd: root }) !== '';
  return `${commit}${dirty ? ' with changes not committed' : ''}`;
}

// llama-server's build as CMake remembers it, where that is still at hand.
function engineText() {
  const cache = `${built.engine}.build/CMakeCache.txt`;
  const flags = !existsSync(cache) ? [] : ['GGML_OPENMP', 'GGML_NATIVE', 'GGML_LLAMAFILE', 'GGML_CPU_REPACK']
    .map((name) => new RegExp(`^(${name}):BOOL=(.*)$`, 'm').exec(readFileSync(cache, 'utf8')))
    .filter(Boolean).map(([, name, value]) => `${name}=${value}`);
  return [`built from source (\`${basename(built.engine)}\`)`, ...flags].join(', ');
}

function versions() {
  const env = { ...process.env, LD_LIBRARY_PATH: libraries };
  // llama-server writes its version to stderr.
  const llamaVersion = output('sh', ['-c', `"${llama.program}" --version 2>&1`], { env });
  return {
    holdfast: `${output(built.holdfast, ['--version'], { env }).split('\n')[0].replace(/^holdfast /, '')} (${gitState()})`,
    llama: /version: (.*)/.exec(llamaVersion)?.[1] ?? 'unknown',
    compiler: output(process.env.CXX || 'c++', ['--version']).split('\n')[0],
    engine: engineText(),
  };
}

// --- the run -----------------------------------------------------------------

function runDescription(began_ms) {
  const chosen = ['QUICK', 'ENGINES', 'ROUNDS', 'SEED', 'MODEL', 'THREADS', 'CONTEXT', 'SCENARIOS']
    .filter((name) => process.env[name]).map((name) => `${name}=${process.env[name]} `).join('');
  return { ...settings, model: relative(root, settings.model), seed, rounds, quick,
    date: new Date().toISOString().slice(0, 10), minutes: (performance.now() - began_ms) / 60_000,
    command: `${chosen}make bench` };
}

async function warnOfCompany() {
  const before = machineBusySeconds();
  await sleep(1000);
  const share = (machineBusySeconds() - before) / os.cpus().length;
  if (share < 0.1) return;
  say(`warning: other processes use ${(100 * share).toFixed(0)}% of this machine; the numbers will be noise`);
}

const began_ms = performance.now();
mkdirSync(logs, { recursive: true });
await warnOfCompany();
await runAll();
const results = { machine: machine(), versions: versions(), run: runDescription(began_ms), sameEngine, sections, commands };
const document = whole ? join(root, 'docs/benchmarks.md') : join(folder, 'benchmarks.md');
mkdirSync(join(root, 'docs'), { recursive: true });
writeFileSync(join(folder, 'results.json'), `${JSON.stringify(results, null, 1)}\n`);
writeFileSync(document, markdown(results));
say(`wrote ${relative(root, document)} and ${relative(root, join(folder, 'results.json'))}`);
