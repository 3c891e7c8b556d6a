// What the disk tier costs while it works: the same mixed load with it and without. Two
// conversations go on turn by turn while fresh prompts are read beside them, so that
// there is always something to write behind.
import { stream } from '../client.mjs';
import { decodeRate } from '../requests.mjs';
import { interleave, stay } from '../rounds.mjs';
import { mean, sum } from '../stats.mjs';

const load = { opening_tokens: 1024, turn_tokens: 96, answer_tokens: 96, turns: 3, fresh_tokens: 2048, fresh: 2 };

async function send(server, prompt, max_tokens) {
  const body = { prompt, max_tokens, temperature: 0, ignore_eos: true, cache_prompt: true };
  const answer = await stream(server, '/v1/completions', body);
  if (answer.timings?.predicted_n !== max_tokens) throw new Error(`${server.name}: ${JSON.stringify(answer.timings)}`);
  return answer;
}

// One after the other: prompts that go on from each other, or fresh ones.
async function client(server, prompts, max_tokens) {
  const answers = [];
  for (const prompt of prompts) answers.push(await send(server, prompt, max_tokens));
  return answers;
}

async function makeInput(prompts) {
  const talk = async () => {
    const turns = [await prompts.tokens(load.opening_tokens)];
    while (turns.length < load.turns) turns.push([...turns.at(-1), ...await prompts.tokens(load.turn_tokens)]);
    return turns;
  };
  return { talks: [await talk(), await talk()], fresh: await prompts.many(load.fresh, load.fresh_tokens) };
}

async function measure(server, { talks, fresh }) {
  const began_ms = performance.now();
  const parts = await Promise.all([...talks.map((turns) => client(server, turns, load.answer_tokens)),
    client(server, fresh, 8)]);
  const talking = parts.slice(0, -1).flat();
  const all = parts.flat();
  return {
    decode: mean(talking.map(({ timings }) => decodeRate(timings))),
    wall: (1000 * sum(all.map(({ timings }) => timings.prompt_n + timings.predicted_n))) / (performance.now() - began_ms),
    first_ms: mean(all.map(({ token_ms, sent_ms }) => token_ms[0] - sent_ms)),
    reused: sum(all.map(({ timings }) => timings.cache_n)),
  };
}

// The first server has the tier, the second does not.
export async function disk(bench, servers) {
  bench.say('disk: a mixed load with the tier and without');
  const samples = await interleave(servers, bench.rounds, () => makeInput(bench.prompts), measure, stay);
  const status = await (await fetch(`http://127.0.0.1:${servers[0].port}/cache`)).json();
  const row = (label, metric) => ({ label, samples, metric });
  return {
    name: 'disk',
    title: 'The cost of writing states to disk',
    text: `Two conversations of ${load.turns} turns (${load.opening_tokens} tokens, then ${load.turn_tokens} more in each, ` +
      `answers of ${load.answer_tokens}) beside ${load.fresh} fresh prompts of ${load.fresh_tokens} tokens, all at once. The server ` +
      `with the tier wrote ${(status.disk.stored_bytes / 1e6).toFixed(0)} MB in ${status.disk.stored} blobs meanwhile. The goal ` +
      'is at least 0.98 of the speed without, and at most 1 / 0.98 of the time.',
    tables: [
      { unit: 'tokens/s', better: 'higher', rows: [row('writing answers, of one conversation', 'decode'),
        row('read and written, all clients', 'wall')] },
      { unit: 'ms', better: 'lower', rows: [row('time to the first token, mean', 'first_ms')] },
      { unit: 'tokens', better: 'higher', rows: [row('reused', 'reused')] },
    ],
    data: { load, disk: status.disk },
  };
}
