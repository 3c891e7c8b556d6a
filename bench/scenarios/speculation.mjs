// Tokens per second with drafts: one stream, and four at once. Against itself without drafts
// often, because little is between them; against a peer that drafts seldom, which may take long.
import { interleave, stay } from '../rounds.mjs';
import { measure } from './decode.mjs';

const prompt_tokens = 64;

// `servers` are ours with drafts, ours without, and a peer with drafts. {itself, peer, whole}: rows.
export async function speculation(bench, [ours, plain, peer], { label, answer_tokens, streams, seldom }) {
  const rows = { itself: [], peer: [], whole: [] };
  for (const count of streams) {
    const name = count === 1 ? `${label}, alone` : `${label}, ${count} writing`;
    const metric = count === 1 ? 'server' : 'together';
    const makeInput = async () => ({ prompts: await bench.prompts.many(count, prompt_tokens), answer_tokens, streamed: count > 1 });
    bench.say(`speculation: ${name}`);
    const itself = await interleave([ours, plain], bench.rounds, makeInput, measure, { sitting: 5, rehearsed: true });
    rows.itself.push({ label: name, samples: itself, metric });
    rows.peer.push({ label: name, samples: await interleave([ours, peer], seldom, makeInput, measure, stay), metric });
    if (count > 1) rows.whole.push({ label: `${name}, whole requests`, samples: itself, metric: 'wall' });
  }
  return rows;
}

export function speculationSection({ itself, peer, whole }, synthetic) {
  return {
    name: 'speculation',
    title: 'Writing with drafts (MTP): tokens per second',
    text: `Greedy answers to fresh prompts of ${prompt_tokens} tokens, \`ignore_eos\`, drafts of at most 3 tokens; ` +
      'one alone by the server\'s timings of writing, 4 at once by the client\'s clock while all four are being written. ' +
      (synthetic ? 'The model of realistic size has random weights; both servers then take drafted tokens with ' +
        `the probabilities ${synthetic} (\`--spec-synth-rates\`). ` : '') +
      'Holdfast chooses how much to draft by itself.',
    tables: [
      { unit: 'tokens/s', better: 'higher', topic: 'no reuse', claim: true, rows: itself },
      { title: 'Beside a peer that drafts', unit: 'tokens/s', better: 'higher', topic: 'no reuse', claim: true, rows: peer },
      { title: 'From the first request to the last answer. Prompts are read in it, and with drafts answers end one after the other: ' +
          'the last ones are written with fewer beside them',
        unit: 'tokens/s', better: 'higher', topic: 'no reuse', claim: false, rows: whole },
    ],
  };
}
