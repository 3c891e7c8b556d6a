// Rounds: every contestant in turn, again and again, only one of them busy.
//
//   round 0   A B C      the order is turned round each time, so that
//   round 1   C B A      a drift of the machine favours nobody
//   round 2   A B C
//
// A process keeps the luck it began with (likely, where its memory lies): of four equal servers
// one was at 0.87 of another for as long as they ran. So they are started again for each sitting,
// which is one round unless it is said otherwise, and the rounds show that luck as noise.
//
// Each measurement also notes how much processor time went elsewhere: to the
// servers that should idle, and to processes that are no part of the bench.
//
// How many there are is {least, most, seconds}: at least `least`, and more, up to `most`,
// as long as the next one is likely to end within that time. What is cheap is repeated
// often, what takes minutes is not.
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { cpuSeconds, machineBusySeconds } from './proc.mjs';
import { pairedRatio, summary } from './stats.mjs';

const settle_step_ms = 60;
const settle_limit_ms = 5000;

function usage(servers) {
  return {
    at_s: performance.now() / 1000,
    machine: machineBusySeconds(),
    client: process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
    servers: servers.map((server) => cpuSeconds(server.pid)),
  };
}

// Waits until no server computes any more (a cancelled request ends at its next step).
export async function settle(servers) {
  const deadline_ms = performance.now() + settle_limit_ms;
  let before = usage(servers).servers;
  while (performance.now() < deadline_ms) {
    await sleep(settle_step_ms);
    const now = usage(servers).servers;
    if (now.every((seconds, i) => seconds - before[i] < 0.011)) return;
    before = now;
  }
}

// Shares of the whole machine's processors between two readings.
function disturbance(before, after, busyIndex) {
  const capacity_s = (after.at_s - before.at_s) * os.cpus().length;
  const used = after.servers.map((seconds, i) => seconds - before.servers[i]);
  const busy = used[busyIndex];
  const idle = used.reduce((total, seconds) => total + seconds, 0) - busy;
  const client = after.client - before.client;
  const foreign = after.machine - before.machine - busy - idle - client;
  return { idle_servers: idle / capacity_s, foreign: Math.max(0, foreign / capacity_s),
    client: client / capacity_s };
}

export const exactly = (count) => ({ least: count, most: count, seconds: 0 });
export const atMost = (count, { least, most, seconds }) => ({ least: Math.min(least, count), most: Math.min(most, count), seconds });

// Whether there is another round after `done` of them, which took `spent_s`.
export function goesOn({ least, most, seconds }, done, spent_s) {
  if (done < least) return true;
  return done < most && (spent_s * (done + 1)) / done < seconds;
}

// What interleave() collects for one set-up: numbers by contestant and metric.
export class Samples {
  #names;
  #rows = new Map(); // name -> [{metric: number}]
  disturbances = [];
  sitting = 1; // rounds of the same processes

  constructor(names) {
    this.#names = names;
    for (const name of names) this.#rows.set(name, []);
  }

  // From what toJSON() gave.
  static from({ rounds, sitting, disturbances }) {
    const samples = new Samples(Object.keys(rounds));
    Object.assign(samples, { sitting: sitting ?? Infinity, disturbances });
    for (const [name, list] of Object.entries(rounds)) list.forEach((metrics) => samples.add(name, metrics));
    return samples;
  }

  add(name, metrics) {
    this.#rows.get(name).push(metrics);
  }

  rounds(name) {
    return this.#rows.get(name);
  }

  values(name, metric) {
    return this.#rows.get(name).map((metrics) => metrics[metric] ?? NaN); // JSON has no NaN
  }

  summary(name, metric) {
    return summary(this.values(name, metric).filter(Number.isFinite));
  }

  // The first contestant against `name`.
  ratio(name, metric) {
    return pairedRatio(this.values(this.#names[0], metric), this.values(name, metric), this.sitting);
  }

  get names() {
    return this.#names;
  }

  toJSON() {
    return { rounds: Object.fromEntries(this.#rows), sitting: this.sitting, disturbances: this.disturbances };
  }
}

// {result, disturbance} of `work`, for which servers[busyIndex] computes. A server that is
// gone by the end leaves no disturbance to tell.
export async function measured(servers, busyIndex, work) {
  const before = usage(servers);
  const result = await work();
  try {
    return { result, disturbance: disturbance(before, usage(servers), busyIndex) };
  } catch {
    return { result, disturbance: null };
  }
}

// Nobody's first request is about the machine.
const greet = (server) => server.answer({ prompt: 'a '.repeat(256), max_tokens: 4, temperature: 0, cache_prompt: false });

async function beginSitting(servers) {
  for (const server of servers) {
    await server.again();
    await greet(server);
  }
}

// Every contestant's turn: [{server, result, elsewhere}].
async function oneRound(servers, order, input, measure) {
  const turns = [];
  for (const server of order) {
    await settle(servers);
    const { result, disturbance: elsewhere } = await measured(servers, servers.indexOf(server), () => measure(server, input));
    turns.push({ server, result, elsewhere });
  }
  return turns;
}

// For interleave(): the same processes in all rounds.
export const stay = { sitting: Infinity, rehearsed: true };

// `makeInput(round)` is called once a round, so that all contestants get the same
// work; `measure(server, input)` returns {metric: number}. `sitting`: rounds of the same processes.
// `rehearsed`: each sitting begins with a round that is not counted, for servers that learn.
export async function interleave(servers, rounds, makeInput, measure, { sitting = 1, rehearsed = false } = {}) {
  const samples = new Samples(servers.map((server) => server.name));
  samples.sitting = sitting;
  const began_ms = performance.now();
  for (let round = 0; goesOn(rounds, round, (performance.now() - began_ms) / 1000); ++round) {
    const order = round % 2 === 0 ? servers : [...servers].reverse();
    if (round % sitting === 0) {
      await beginSitting(order);
      if (rehearsed) await oneRound(servers, order, await makeInput(-1 - round), measure);
    }
    for (const { server, result, elsewhere } of await oneRound(servers, order, await makeInput(round), measure)) {
      samples.add(server.name, result);
      if (elsewhere) samples.disturbances.push(elsewhere);
    }
  }
  return samples;
}
