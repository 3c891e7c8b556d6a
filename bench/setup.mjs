// What a run is made of: its settings from the environment, and the servers it starts.
import { existsSync, readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { tokenize } from './client.mjs';
import { contestantsOf } from './contestants.mjs';
import { ensureModel, modelFolder } from './models.mjs';
import { engineLibraries } from './proc.mjs';
import { PromptMaker } from './prompts.mjs';
import { exactly } from './rounds.mjs';
import { withServers } from './servers.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const folder = join(root, 'build/bench');
export const groups = ['parity', 'speed', 'throughput', 'workloads', 'sizes', 'real', 'restart', 'speculation', 'disk', 'connections', 'engines'];
// A quick run leaves out what compares nothing or takes long.
const quick_groups = ['speed', 'throughput', 'workloads', 'real'];
const all_variants = ['plain', 'tight', 'mtp'];

const number = (environment, name, otherwise) => Number(environment[name] || otherwise);

function checked(name, chosen, all) {
  const unknown = chosen.find((one) => !all.includes(one));
  if (unknown !== undefined) throw new Error(`${name} names '${unknown}'; choose from ${all.join(',')}`);
  return new Set(chosen);
}

// The wishes of whoever calls, by the environment; see scripts/bench.sh.
export function wishesFrom(environment) {
  const quick = Boolean(environment.QUICK);
  const wanted = checked('SCENARIOS', environment.SCENARIOS?.split(',') ?? (quick ? quick_groups : groups), groups);
  const { ROUNDS } = environment;
  const rounds = (least, most, seconds) => (ROUNDS ? exactly(Number(ROUNDS)) : quick ? exactly(least) : { least, most, seconds });
  return {
    quick, wanted,
    itself: Boolean(environment.ITSELF),
    variants: checked('VARIANTS', environment.VARIANTS?.split(',') ?? (quick ? ['plain', 'tight'] : all_variants), all_variants),
    only: new RegExp(environment.WORKLOADS || '.'),
    whole: !quick && !environment.ITSELF && !environment.VARIANTS && !environment.WORKLOADS && groups.every((name) => wanted.has(name)),
    seed: number(environment, 'SEED', 1),
    rounds: { speed: rounds(quick ? 2 : 3, 9, 20), often: rounds(quick ? 3 : 5, 25, 35), slow: rounds(quick ? 1 : 2, 5, 40),
      workloads: { plain: rounds(quick ? 1 : 2, 5, 18), tight: rounds(1, 3, 15), mtp: rounds(1, 3, 15), real: rounds(1, 3, 60) } },
    settings: {
      model: environment.MODEL || join(root, 'models/holdfast-pocket-q8_0.gguf'),
      threads: number(environment, 'THREADS', os.cpus().length),
      slots: 4,
      context: number(environment, 'CONTEXT', 16384),
      flash: 'on',
    },
  };
}

// --- a run ---------------------------------------------------------------------------------

export class Run {
  commands = new Map();  // command line -> true, in order
  sections = [];
  workloads = [];        // {name, variant, slots, model, samples | error}
  times = [];            // {name, seconds, error, inner}; inner ones are parts of the one before
  sameEngine = false;    // seen to be so, see requireSameEngine()
  #depth = 0;

  constructor(built, wishes) {
    Object.assign(this, wishes, { built, logs: join(folder, 'logs'), contestants: contestantsOf(built, wishes.itself) });
  }

  say(text) {
    console.error(`bench: ${text}`);
  }

  model(shape, options) {
    return ensureModel(this.built.generator, shape, { say: this.say, ...options });
  }

  noteCommand({ name, kind, args }) {
    const fixed = args.map((arg, i) => (args[i - 1] === '--port' ? 'PORT' : /holdfast-bench-/.test(arg) ? 'FOLDER' : arg));
    const line = `${kind} ${fixed.join(' ').replaceAll(root, '').replaceAll(os.homedir(), '~')}`;
    this.commands.set(`# ${name}\n${line.replaceAll(modelFolder(), '~/.cache/holdfast/models')}`, true);
  }

  // Starts the servers, notes their command lines, and hands `work` a bench to use.
  running(contestants, changes, work, rounds = this.rounds.speed) {
    return withServers(contestants, { ...this.settings, ...changes }, this.logs, (servers) => {
      servers.forEach((server) => this.noteCommand(server));
      const prompts = new PromptMaker(this.seed, (text) => tokenize(servers[0], text));
      return work({ rounds, quick: this.quick, say: this.say, prompts }, servers);
    });
  }

  requireSameEngine(servers) {
    const [first, ...others] = servers.map((server) => JSON.stringify(sorted(engineLibraries(server.pid))));
    if (first === '{}' || others.some((other) => other !== first)) {
      throw new Error(`the servers run different engine libraries: ${[first, ...others].join(' ')}`);
    }
    this.sameEngine = true;
  }

  // A part of the run. One that fails is told and does not end the others.
  async part(name, work) {
    const began_ms = performance.now();
    const entry = { name, seconds: 0, error: null, inner: this.#depth++ > 0 };
    this.times.push(entry);
    try {
      return await work();
    } catch (error) {
      entry.error = error.message;
      this.say(`${name} FAILED: ${error.message}`);
      return null;
    } finally {
      --this.#depth;
      entry.seconds = (performance.now() - began_ms) / 1000;
    }
  }
}

const sorted = (object) => Object.fromEntries(Object.entries(object).sort());

// --- versions --------------------------------------------------------------------------------

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
function engineText(engine) {
  const cache = `${engine}.build/CMakeCache.txt`;
  const flags = !existsSync(cache) ? [] : ['GGML_OPENMP', 'GGML_NATIVE', 'GGML_LLAMAFILE', 'GGML_CPU_REPACK']
    .map((name) => new RegExp(`^(${name}):BOOL=(.*)$`, 'm').exec(readFileSync(cache, 'utf8')))
    .filter(Boolean).map(([, name, value]) => `${name}=${value}`);
  return [`built from source (\`${basename(engine)}\`)`, ...flags].join(', ');
}

export function versions({ built, contestants: { llama } }) {
  const env = { ...process.env, LD_LIBRARY_PATH: llama.libraries };
  // llama-server writes its version to stderr.
  const llamaVersion = output('sh', ['-c', `"${llama.program}" --version 2>&1`], { env });
  return {
    holdfast: `${output(built.holdfast, ['--version'], { env }).split('\n')[0].replace(/^holdfast (\S+).*/, '$1')} (${gitState()})`,
    llama: /version: (.*)/.exec(llamaVersion)?.[1] ?? 'unknown',
    compiler: output(process.env.CXX || 'c++', ['--version']).split('\n')[0],
    engine: engineText(built.engine),
  };
}
