// Does holdfast-policy's re-implementation of llama-server reuse what the real one does?
//
//   node bench/check_llama_replay.mjs --server LLAMA_SERVER [--libraries DIR] [--policy PROGRAM]
//        [--model FILE] [--requests 250] [--cache-ram MiB] [--seed 1]
//
// Makes a trace of conversations that grow, are edited, asked again and share their beginning,
// sends it to a llama-server of one slot request by request as token ids, and replays the same
// file without a model. Prints both sums; exits with 1 when they differ by more than 2 points.
// Answers are of a few tokens and are not sent back. (--cache-ram -1 limits the real list to one context's
// tokens, which the replay does not do.)
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { launch, stop } from './servers.mjs';

const block = 16;
const answer = 4;
const first_token = 300; // ids below may be control tokens
const tokens_used = 3000;
const points_max = 2;

function options() {
  const chosen = { policy: 'build/holdfast-policy', model: 'models/holdfast-pocket-q8_0.gguf', requests: 250, seed: 1, 'cache-ram': 512, port: 18911 };
  const args = process.argv.slice(2);
  for (let i = 0; i < args.length; i += 2) chosen[args[i].replace(/^--/, '')] = args[i + 1];
  if (!chosen.server) throw new Error('say which llama-server: --server PROGRAM');
  return chosen;
}

// A small generator, so that a seed means the same everywhere.
function randomFrom(seed) {
  let state = BigInt(seed) * 6364136223846793005n + 1442695040888963407n;
  return (below) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
    return Number((state >> 33n) % BigInt(below));
  };
}

// Requests as lists of block ids, in the trace format of one session a line.
function makeRequests(count, random) {
  let next = 1;
  const fresh = (blocks) => Array.from({ length: blocks }, () => next++);
  const system = fresh(8);
  const open = Array.from({ length: 8 }, () => [...system, ...fresh(4 + random(20))]);
  const requests = [];
  while (requests.length < count) {
    const which = random(open.length);
    const kind = random(12);
    if (kind === 0) open[which] = open[which].slice(0, 8 + random(open[which].length - 8));
    if (kind === 1 || open[which].length > 120) open[which] = [...system, ...fresh(2 + random(20))];
    if (kind !== 2) open[which] = [...open[which], ...fresh(1 + random(14))];
    requests.push(open[which]);
  }
  return requests;
}

function traceOf(requests) {
  let before = [];
  const lines = requests.map((ids, at) => {
    let keep = 0;
    while (keep < Math.min(before.length, ids.length) && before[keep] === ids[keep]) ++keep;
    before = ids;
    return [at, ids.length * block, answer, keep, ids.slice(keep), 'end_turn'];
  });
  return JSON.stringify({ id: 'check', bs: block, tool: 0, sys: 0, reqs: lines }) + '\n';
}

// Each block is a run of tokens that no other block begins with.
const tokensOf = (ids) =>
  ids.flatMap((id) => Array.from({ length: block }, (_, i) => first_token + ((id * 7 + i * 131 + (i === 0 ? id : 0)) % tokens_used)));

async function cachedByServer(url, requests) {
  let cached = 0;
  for (const ids of requests) {
    const response = await fetch(`${url}/completion`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: tokensOf(ids), n_predict: answer, ignore_eos: true, cache_prompt: true, temperature: 0 }),
    });
    if (!response.ok) throw new Error(`llama-server answered ${response.status}: ${await response.text()}`);
    const body = await response.json();
    cached += body.timings.cache_n;
  }
  return cached;
}

async function untilHealthy(url, child) {
  let ended = null;
  child.ended.then((how) => (ended = how));
  for (let tries = 0; tries < 600; ++tries) {
    if (ended) throw new Error(`llama-server ${ended}`);
    const healthy = await fetch(`${url}/health`).then((answered) => answered.ok, () => false);
    if (healthy) return;
    await sleep(100);
  }
  throw new Error('llama-server did not become healthy in a minute');
}

const chosen = options();
const requests = makeRequests(Number(chosen.requests), randomFrom(chosen.seed));
const prompt = requests.reduce((sum, ids) => sum + ids.length * block, 0);
const folder = mkdtempSync(join(tmpdir(), 'holdfast-check-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
let code = 1;
{
  const trace = join(folder, 'trace.jsonl');
  writeFileSync(trace, traceOf(requests));
  const url = `http://127.0.0.1:${chosen.port}`;
  const server = launch(
    chosen.server,
    ['-m', chosen.model, '--host', '127.0.0.1', '--port', chosen.port, '-np', 1, '-c', 4096, '-t', 1, '-b', 2048, '-ub', 512, '--cache-ram', chosen['cache-ram'], '--no-webui'].map(String),
    { log: join(folder, 'server.log'), env: { ...process.env, LD_LIBRARY_PATH: chosen.libraries ?? '' } },
  );
  let real;
  try {
    await untilHealthy(url, server);
    real = await cachedByServer(url, requests);
  } finally {
    await stop(server);
  }
  const budget = Number(chosen['cache-ram']) < 0 ? 'inf' : `${chosen['cache-ram']}M`;
  const cells = JSON.parse(
    execFileSync(chosen.policy, ['--policy', 'llama-server', '--trace', trace, '--model', 'pocket', '--outputs', 'strip', '--budget', budget, '--json'], { stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  const simulated = cells[0].reused_tokens;
  const share = (tokens) => ((100 * tokens) / prompt).toFixed(2);
  const apart = Math.abs(real - simulated) / prompt * 100;
  console.log(`${requests.length} requests, ${prompt} prompt tokens, seed ${chosen.seed}, --cache-ram ${chosen['cache-ram']}`);
  console.log(`llama-server reused ${real} (${share(real)}%), the replay ${simulated} (${share(simulated)}%): ${apart.toFixed(2)} points apart`);
  code = apart <= points_max ? 0 : 1;
}
process.exit(code);
