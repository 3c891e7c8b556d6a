// The first request after a restart: from disk, beside the same request warm in memory and
// cold, and llama-server with its slot files. Every round starts the servers again.
//
//   life 1   reads the prompt; something else takes its slot; the next turn      "in memory"
//   life 2   the next turn, files in the system's memory                          "from disk"
//            the same without any cache                                           "cold"
//   life 3   the next turn, files dropped from the system's memory                "from the device"
//   life 4   a prompt that parts from the first one at nine tenths                "parted"
//
// llama-server has one slot: saved before the stop, restored after each start. Its "from disk"
// is the time of both requests, restoring and answering.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { post, stream } from '../client.mjs';
import { goesOn } from '../rounds.mjs';
import { Server } from '../servers.mjs';
import { median } from '../stats.mjs';
import { withTemporaryFolder } from '../temporary.mjs';

const turn_tokens = 64;
const answer_tokens = 4;
const alone = { agent: false }; // a server may close a connection that the next request is about to use

// --- one request ---------------------------------------------------------------------------

async function firstToken(server, prompt, extra = {}) {
  const body = { prompt, max_tokens: answer_tokens, temperature: 0, ignore_eos: true, cache_prompt: true, ...extra };
  const { token_ms, sent_ms, ended_ms, timings } = await stream(server, '/v1/completions', body, alone);
  return { ms: (token_ms[0] ?? ended_ms) - sent_ms, reused: timings.cache_n };
}

async function lastReceipt(server) {
  const { data } = await (await fetch(`http://127.0.0.1:${server.port}/cache/receipts?limit=1`)).json();
  return data[0];
}

// --- the folder ------------------------------------------------------------------------------

function blobsIn(folder) {
  return readdirSync(folder, { recursive: true }).map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

// What a program that only reads the same files reaches.
function readPlainly(paths) {
  const began_ms = performance.now();
  const bytes = paths.reduce((sum, path) => sum + readFileSync(path).length, 0);
  return { bytes, mb_per_s: bytes / 1000 / (performance.now() - began_ms) };
}

function dropFromMemory(paths) {
  for (const path of paths) execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
}

// --- lives -----------------------------------------------------------------------------------

class Round {
  constructor(bench, settings, logs, prompts, folder) {
    Object.assign(this, { bench, settings, logs, prompts, folder });
  }

  async life(contestant, extra, work) {
    const server = await Server.start({ ...contestant, extra }, this.settings, this.logs);
    try {
      await firstToken(server, this.prompts.other); // nobody's first request is about the machine
      return await work(server);
    } finally {
      await server.stop();
    }
  }

  async holdfast(contestant) {
    const { first, next, again, parted, other } = this.prompts;
    const blobs = join(this.folder, 'states/blobs');
    const live = (work) => this.life(contestant, ['--cache-dir', join(this.folder, 'states')], work);
    const fromDisk = async (server, prompt) => {
      const { ms, reused } = await firstToken(server, prompt);
      const { restored_from, fetch_ms, bytes_fetched } = await lastReceipt(server);
      return { ms, reused, restored_from, mb_per_s: bytes_fetched / 1000 / fetch_ms, bytes: bytes_fetched };
    };
    const memory = await live(async (server) => {
      await firstToken(server, first);
      await firstToken(server, other.slice(8));
      return firstToken(server, next);
    });
    const [disk, cold] = await live(async (server) =>
      [await fromDisk(server, again), await firstToken(server, again, { cache_prompt: false })]);
    dropFromMemory(blobsIn(blobs));
    const devicePlain = readPlainly(blobsIn(blobs));
    const plain = readPlainly(blobsIn(blobs));
    dropFromMemory(blobsIn(blobs));
    const device = await live((server) => fromDisk(server, again));
    const apart = await live((server) => fromDisk(server, parted));
    return { memory, disk, cold, device, parted: apart, plain, devicePlain };
  }

  async llamaServer(contestant) {
    const { first, next, again, parted, other } = this.prompts;
    const folder = join(this.folder, 'slots');
    mkdirSync(folder);
    const live = (work) => this.life(contestant, ['--slot-save-path', folder], work);
    const action = async (server, name) => {
      const { sent_ms, ended_ms } = await post(server, `/slots/0?action=${name}`, { filename: 'slot.bin' }, alone);
      return ended_ms - sent_ms;
    };
    const restored = async (server, prompt) => {
      const restore_ms = await action(server, 'restore');
      const { ms, reused } = await firstToken(server, prompt);
      return { ms: restore_ms + ms, reused, mb_per_s: statSync(join(folder, 'slot.bin')).size / 1000 / restore_ms };
    };
    const memory = await live(async (server) => {
      await firstToken(server, first);
      await firstToken(server, other.slice(8));
      const warm = await firstToken(server, next);
      await action(server, 'save');
      return warm;
    });
    const [disk, cold] = await live(async (server) =>
      [await restored(server, again), await firstToken(server, again, { cache_prompt: false })]);
    const apart = await live((server) => restored(server, parted));
    return { memory, disk, cold, parted: apart };
  }
}

async function promptsFor(bench, length) {
  const first = await bench.prompts.tokens(length);
  const goingOn = async (tokens) => [...tokens, ...await bench.prompts.tokens(turn_tokens)];
  return { first, next: await goingOn(first), again: await goingOn(first), other: await bench.prompts.tokens(turn_tokens),
    parted: await goingOn(first.slice(0, Math.floor(0.9 * length))) };
}

// {label, length, rounds: [{holdfast, llama}]}
export async function restart(bench, contestants, { settings, logs, label, length }) {
  const rounds = [];
  const began_ms = performance.now();
  for (let round = 0; goesOn(bench.rounds, round, (performance.now() - began_ms) / 1000); ++round) {
    bench.say(`restart: ${label}, ${length} tokens, round ${round + 1}`);
    await withTemporaryFolder(async (folder) => {
      const one = new Round(bench, settings, logs, await promptsFor(bench, length), folder);
      const turns = [async (by) => { by.holdfast = await one.holdfast(contestants.holdfast); },
        async (by) => { by.llama = await one.llamaServer(contestants.llama); }];
      const by = {};
      for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn(by);
      rounds.push(by);
    });
  }
  return { label, length, rounds };
}

// --- the report --------------------------------------------------------------------------------

const kinds = [['in memory', 'memory'], ['from disk', 'disk'], ['from the device', 'device'],
  ['parted, from disk', 'parted'], ['cold', 'cold']];

function rowsOf({ label, length, rounds }) {
  const of = (server, kind, field) =>
    median(rounds.map((by) => by[server][kind]?.[field] ?? NaN).filter(Number.isFinite));
  const text = (value, digits = 0) => (Number.isFinite(value) ? value.toFixed(digits) : '-');
  return kinds.map(([name, kind]) => {
    const ours = of('holdfast', kind, 'ms');
    const plain = { disk: 'plain', device: 'devicePlain' }[kind] ?? 'nothing';
    return [`${label}, ${length} tokens, ${name}`, text(ours), text(of('holdfast', kind, 'reused')),
      text(of('holdfast', kind, 'bytes') / 1e6, 1), text(of('holdfast', kind, 'mb_per_s')),
      text(of('holdfast', plain, 'mb_per_s')),
      text(of('llama', kind, 'ms')), text(of('llama', kind, 'reused')), text(of('llama', kind, 'ms') / ours, 1)];
  });
}

export function restartSection(results) {
  return {
    name: 'restart',
    title: 'The first request after a restart',
    text: 'Time to the first token of a prompt of random words and another ' +
      `${turn_tokens} tokens, one slot, medians over the rounds. "In memory": the same server, after another prompt took ` +
      'the slot. "From disk": after a stop and a start, files in the system\'s memory; "from the device": they were dropped ' +
      'from there (what a virtual disk caches elsewhere stays). "Parted": only the first nine tenths of the prompt are as ' +
      'before. MB/s are those of the fetch as its receipt has it, and of a program that reads all blobs plainly. ' +
      'llama-server saved its slot (`--slot-save-path`, `action=save`) and restores it; its time is that of both requests.',
    plainTables: [{
      head: ['', 'holdfast, ms', 'reused', 'MB fetched', 'MB/s', 'plain read, MB/s',
        'llama-server, ms', 'reused', 'llama-server / holdfast'],
      rows: results.flatMap(rowsOf),
    }],
    data: results,
  };
}
