// Tokens per second with drafts, against the same servers without: one stream, and four
// at once. The first contestant drafts; the others are what it is measured against.
import { interleave } from '../rounds.mjs';
import { measure } from './decode.mjs';

const prompt_tokens = 64;

export async function speculation(bench, servers, { label, answer_tokens, streams }) {
  const rows = [];
  for (const count of streams) {
    bench.say(`speculation: ${label}, ${count} at once`);
    const samples = await interleave(servers, bench.rounds, async () => ({
      prompts: await bench.prompts.many(count, prompt_tokens), answer_tokens, streamed: false,
    }), measure);
    rows.push({ label: `${label}, ${count} at once`, samples, metric: count === 1 ? 'server' : 'wall' });
  }
  return rows;
}

export function speculationSection(rows, synthetic) {
  return {
    name: 'speculation',
    title: 'Writing with drafts (MTP): tokens per second',
    text: `Greedy answers to fresh prompts of ${prompt_tokens} tokens, \`ignore_eos\`, drafts of at most 3 tokens; ` +
      'one alone by the server\'s timings of writing, 4 at once by the client\'s clock from the first request to the last answer, ' +
      'because servers differ in whether one writes while others are read. ' +
      (synthetic ? 'The model of realistic size has random weights; both servers then take drafted tokens with ' +
        `the probabilities ${synthetic} (\`--spec-synth-rates\`). ` : '') +
      'Holdfast chooses how much to draft by itself.',
    tables: [{ unit: 'tokens/s', better: 'higher', topic: 'no reuse', claim: true, rows }],
  };
}
