// Many clients at once, and what an idle connection costs.
import { setMaxListeners } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { stream } from '../client.mjs';
import { memory_MiB, resetPeak } from '../proc.mjs';
import { percentile } from '../stats.mjs';

const answer_tokens = 8;
const crowd_limit_ms = 180_000;

// --- many requests -----------------------------------------------------------

// Never throws: how a request ended is the result.
async function oneRequest(server, prompt, signal) {
  const body = { prompt, max_tokens: answer_tokens, temperature: 0, ignore_eos: true };
  try {
    const answer = await stream(server, '/v1/completions', body, { agent: false, signal });
    const complete = answer.status === 200 && answer.done && answer.timings?.predicted_n === answer_tokens;
    const how = complete ? 'complete' : signal.aborted ? 'out of time' : `status ${answer.status}, cut short`;
    return { how, took_ms: answer.ended_ms - answer.sent_ms };
  } catch (error) {
    return { how: error.code ?? error.message, took_ms: NaN };
  }
}

function countBy(list) {
  const counts = {};
  for (const item of list) counts[item] = (counts[item] ?? 0) + 1;
  return counts;
}

export async function crowd(server, prompts) {
  resetPeak(server.pid);
  const before = memory_MiB(server.pid);
  const giveUp = new AbortController();
  setMaxListeners(0, giveUp.signal); // one for each request
  const limit = setTimeout(() => giveUp.abort(), crowd_limit_ms);
  const began_ms = performance.now();
  const ends = await Promise.all(prompts.map((prompt) => oneRequest(server, prompt, giveUp.signal)));
  const wall_s = (performance.now() - began_ms) / 1000;
  clearTimeout(limit);
  await sleep(500);
  const after = memory_MiB(server.pid);
  const took_ms = ends.filter((end) => end.how === 'complete').map((end) => end.took_ms);
  return { requests: prompts.length, ends: countBy(ends.map((end) => end.how)), wall_s,
    p50_ms: percentile(took_ms, 0.5), p99_ms: percentile(took_ms, 0.99),
    rss_before: before.rss, rss_peak: after.peak, rss_after: after.rss };
}

// --- idle connections --------------------------------------------------------

// A keep-alive connection that has had one answer and now waits.
function openIdle(server) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(server.port, '127.0.0.1');
    socket.setTimeout(20_000, () => socket.destroy(new Error('no answer')));
    socket.once('error', reject);
    socket.once('connect', () => socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'));
    socket.once('data', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

export async function idleCost(server, count) {
  const sockets = [];
  const before = memory_MiB(server.pid).rss;
  for (let i = 0; i < count; ++i) sockets.push(await openIdle(server));
  await sleep(300);
  const open = memory_MiB(server.pid).rss;
  const closedEarly = sockets.filter((socket) => socket.destroyed || socket.readableEnded).length;
  for (const socket of sockets) socket.destroy();
  await sleep(500);
  const after = memory_MiB(server.pid).rss;
  return { count, closedEarly, rss_before: before, rss_open: open, rss_after: after,
    each_KiB: ((open - before) * 1024) / count };
}

// --- the report --------------------------------------------------------------

const endsText = (ends) => Object.entries(ends).map(([how, count]) => `${count} ${how}`).join(', ');

function crowdRow(name, result) {
  return [name, String(result.requests), endsText(result.ends), result.wall_s.toFixed(2),
    (result.requests / result.wall_s).toFixed(0), result.p50_ms.toFixed(0), result.p99_ms.toFixed(0),
    result.rss_before.toFixed(1), result.rss_peak.toFixed(1), result.rss_after.toFixed(1)];
}

function idleRow(name, result) {
  return [name, String(result.count), result.each_KiB.toFixed(1), result.rss_before.toFixed(1),
    result.rss_open.toFixed(1), result.rss_after.toFixed(1), String(result.closedEarly)];
}

// The idle ones come first: later the allocator has memory to spare and hides their cost.
export async function connections(bench, server) {
  const prompts = await bench.prompts.many(1000, 16);
  bench.say('connections: 1,000 idle');
  const idle = await idleCost(server, 1000);
  const crowds = [];
  for (const count of [1000, 1000]) { // twice the same: what is kept must not grow
    bench.say(`connections: ${count} requests at once`);
    crowds.push(await crowd(server, prompts.slice(0, count)));
  }
  return {
    name: 'connections',
    title: 'Many connections',
    text: `Holdfast alone. All requests are sent at the same moment, each on a connection of its own, streamed, ` +
      `16 tokens in and ${answer_tokens} out; they wait in the queue for the slots. The client runs on the same ` +
      'machine and takes a good part of it, so the times say "it holds", not "how fast". Memory is resident, in MiB.',
    plainTables: [
      { head: ['', 'requests', 'ends', 'wall s', 'requests/s', 'p50 ms', 'p99 ms', 'before', 'peak', 'after'],
        rows: crowds.map((result) => crowdRow(server.name, result)) },
      { title: 'Idle keep-alive connections', head: ['', 'connections', 'KiB each', 'before', 'open', 'after', 'closed early'],
        rows: [idleRow(server.name, idle)] },
    ],
    data: { crowds, idle },
  };
}
