// Tokens per second while prompts are read: one, and four at once.
import { generateAll, wall_s } from '../requests.mjs';
import { atMost, interleave } from '../rounds.mjs';
import { mean, sum } from '../stats.mjs';

async function measure(server, prompts) {
  const answers = await generateAll(server, prompts, 1, false);
  return {
    server: mean(answers.map((answer) => answer.timings.prompt_per_second)),
    wall: sum(prompts.map((prompt) => prompt.length)) / wall_s(answers),
    first_answer_ms: Math.min(...answers.map((answer) => answer.ended_ms - answer.sent_ms)),
    mean_answer_ms: mean(answers.map((answer) => answer.ended_ms - answer.sent_ms)),
  };
}

// More tokens than this take long: a quick run leaves them out, others repeat them once.
const many_tokens = 20_000;

function setUps(quick) {
  const lengths = [512, 2048, 8000];
  const all = lengths.flatMap((length) => [1, 4].map((count) => ({ length, count })));
  return quick ? all.filter(({ length, count }) => length * count <= many_tokens) : all;
}

export async function prefill(bench, servers) {
  const rates = [];
  const waits = [];
  for (const { length, count } of setUps(bench.quick)) {
    const label = `${count} x ${length} tokens`;
    bench.say(`prefill: ${label}`);
    const samples = await interleave(servers, length * count > many_tokens ? atMost(2, bench.rounds) : bench.rounds,
      () => bench.prompts.many(count, length), measure);
    rates.push({ label: `${label}, client's clock`, samples, metric: 'wall' });
    if (count === 1) {
      rates.push({ label: `${label}, server's timings`, samples, metric: 'server' });
      continue;
    }
    waits.push({ label: `${label}, first of them`, samples, metric: 'first_answer_ms' });
    waits.push({ label: `${label}, mean`, samples, metric: 'mean_answer_ms' });
  }
  return {
    name: 'prefill',
    title: 'Reading: tokens per second',
    text: 'Fresh random words, `max_tokens` 1, `cache_prompt` false; the answers\' own count confirms that nothing ' +
      'was reused. With 4 at once the client\'s clock counts the tokens of all four. `prompt_per_second` of each request ' +
      'then depends on how a server takes turns, and is not compared (it is in the JSON).',
    tables: [
      { unit: 'tokens/s', better: 'higher', topic: 'no reuse', claim: true, rows: rates },
      { title: 'Time to the answer with 4 at once', unit: 'ms', better: 'lower', topic: 'no reuse', claim: true, rows: waits },
    ],
  };
}
