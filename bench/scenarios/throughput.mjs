// 1, 4 and 16 clients that read and write at the same time on 4 slots. Each sends its next
// request as soon as it has its answer; short and long prompts and answers are mixed, so
// that while one is read others are written.
import { stream } from '../client.mjs';
import { randomFrom } from '../prompts.mjs';
import { interleave } from '../rounds.mjs';
import { percentile, sum } from '../stats.mjs';

const prompt_lengths = [64, 256, 512, 2048];
const answer_lengths = [16, 64, 128];
const requests_of = { 1: 6, 4: 4, 16: 2 }; // of each client, by how many there are

async function send(server, { prompt, max_tokens }) {
  const body = { prompt, max_tokens, temperature: 0, ignore_eos: true };
  const answer = await stream(server, '/v1/completions', body, { agent: false });
  if (answer.timings?.predicted_n === max_tokens) return answer;
  throw new Error(`${server.name} did not write all of ${max_tokens} tokens: ${JSON.stringify(answer.timings)}`);
}

async function client(server, requests) {
  const answers = [];
  for (const request of requests) answers.push(await send(server, request));
  return answers;
}

async function makeInput(bench, clients, round) {
  const random = randomFrom(1000 * clients + round + 1);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const one = async () => ({ prompt: await bench.prompts.tokens(pick(prompt_lengths)), max_tokens: pick(answer_lengths) });
  const all = [];
  for (let i = 0; i < clients; ++i) {
    all.push([]);
    while (all[i].length < requests_of[clients]) all[i].push(await one());
  }
  return all;
}

const gapsOf = ({ token_ms }) => token_ms.slice(1).map((at, i) => at - token_ms[i]);

async function measure(server, input) {
  const began_ms = performance.now();
  const answers = (await Promise.all(input.map((requests) => client(server, requests)))).flat();
  const wall_s = (performance.now() - began_ms) / 1000;
  const first_ms = answers.map(({ token_ms, sent_ms }) => token_ms[0] - sent_ms);
  const gaps = answers.flatMap(gapsOf);
  return {
    all_per_s: sum(answers.map(({ timings }) => timings.prompt_n + timings.predicted_n)) / wall_s,
    written_per_s: sum(answers.map(({ timings }) => timings.predicted_n)) / wall_s,
    first_p50_ms: percentile(first_ms, 0.5),
    first_p95_ms: percentile(first_ms, 0.95),
    gap_p95_ms: percentile(gaps, 0.95),
  };
}

export async function throughput(bench, servers) {
  const rates = [];
  const waits = [];
  for (const clients of [1, 4, 16]) {
    const label = `${clients} client${clients === 1 ? '' : 's'}`;
    bench.say(`throughput: ${label}`);
    const samples = await interleave(servers, bench.rounds, (round) => makeInput(bench, clients, round), measure);
    rates.push({ label: `${label}, read and written`, samples, metric: 'all_per_s' },
      { label: `${label}, written`, samples, metric: 'written_per_s' });
    waits.push({ label: `${label}, first token p50`, samples, metric: 'first_p50_ms' },
      { label: `${label}, first token p95`, samples, metric: 'first_p95_ms' },
      { label: `${label}, gap between tokens p95`, samples, metric: 'gap_p95_ms' });
  }
  return {
    name: 'throughput',
    title: 'Many clients that read and write',
    text: `On 4 slots, fresh prompts of ${prompt_lengths.join(', ')} and answers of ${answer_lengths.join(', ')} tokens, mixed by a seed; ` +
      `${Object.entries(requests_of).map(([clients, each]) => `${clients} x ${each}`).join(', ')} requests. Nothing can be reused. ` +
      'A server that lets prompts wait has quick tokens and late first ones, so rates and waits belong together.',
    tables: [
      { unit: 'tokens/s', better: 'higher', topic: 'no reuse', claim: true, rows: rates },
      { unit: 'ms', better: 'lower', topic: 'no reuse', claim: false, rows: waits },
    ],
  };
}
