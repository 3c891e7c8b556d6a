// Tokens per second while answers are written: one stream, and four at once.
import { decodeRate, generateAll, togetherRate, wall_s } from '../requests.mjs';
import { interleave } from '../rounds.mjs';
import { mean, sum } from '../stats.mjs';

const prompt_tokens = 64;

function clientRate({ token_ms, timings }) {
  return (1000 * (timings.predicted_n - 1)) / (token_ms.at(-1) - token_ms[0]);
}

export async function measure(server, { prompts, answer_tokens, streamed }) {
  const answers = await generateAll(server, prompts, answer_tokens, streamed);
  const metrics = {
    server: sum(answers.map((answer) => decodeRate(answer.timings))),
    wall: (answers.length * answer_tokens) / wall_s(answers),
  };
  if (streamed) {
    metrics.client = sum(answers.map(clientRate));
    metrics.together = togetherRate(answers);
    metrics.first_token_ms = mean(answers.map((answer) => answer.token_ms[0] - answer.sent_ms));
  }
  return metrics;
}

export function rowsOf(label, samples, streamed) {
  const rows = [
    { label: `${label}, server's timings`, samples, metric: 'server' },
    { label: `${label}, client's clock, whole request`, samples, metric: 'wall' },
  ];
  if (streamed) {
    rows.push({ label: `${label}, client's clock, first to last token`, samples, metric: 'client' });
  }
  return rows;
}

export async function decode(bench, servers) {
  const answer_tokens = 256;
  const rows = [];
  for (const streams of [1, 4]) {
    for (const streamed of [false, true]) {
      const label = `${streams} at once, ${streamed ? 'streamed' : 'not streamed'}`;
      bench.say(`decode: ${label}`);
      const samples = await interleave(servers, bench.rounds, async () => ({
        prompts: await bench.prompts.many(streams, prompt_tokens), answer_tokens, streamed,
      }), measure);
      rows.push(...rowsOf(label, samples, streamed));
    }
  }
  return {
    name: 'decode',
    title: 'Writing: tokens per second',
    text: `Answers of ${answer_tokens} tokens to fresh prompts of ${prompt_tokens}, greedy, \`ignore_eos\`. ` +
      'With 4 at once the numbers are those of all four together. "Server\'s timings" is ' +
      '`(predicted_n - 1) / predicted_ms`, computed alike for all. The whole request includes reading the prompt.',
    tables: [{ unit: 'tokens/s', better: 'higher', topic: 'no reuse', claim: true, rows }],
  };
}
