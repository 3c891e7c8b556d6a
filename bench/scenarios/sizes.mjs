// Reading and writing on random models of realistic size and other kinds of state.
import { generateAll, wall_s } from '../requests.mjs';
import { interleave } from '../rounds.mjs';
import { measure as measureDecode } from './decode.mjs';

const read_tokens = 512;
const written_tokens = 32;

async function measure(server, { prompts }) {
  const answers = await generateAll(server, prompts, 1, false);
  const written = await measureDecode(server, { prompts: prompts.map((prompt) => prompt.slice(0, 32)), answer_tokens: written_tokens, streamed: false });
  return { read: read_tokens / wall_s(answers), written: written.server };
}

export async function sizes(bench, servers, shape) {
  bench.say(`sizes: ${shape}`);
  const samples = await interleave(servers, bench.rounds, async () => ({ prompts: await bench.prompts.many(1, read_tokens) }), measure);
  return [{ label: `${shape}, reading ${read_tokens} tokens`, samples, metric: 'read' },
    { label: `${shape}, writing ${written_tokens} tokens`, samples, metric: 'written' }];
}

export function sizesSection(rows) {
  return {
    name: 'sizes',
    title: 'Models of other sizes and kinds',
    text: 'Random weights in real shapes, written by `holdfast-genmodel`: gated delta nets with attention (Qwen3.5 0.8B), attention alone ' +
      '(Llama 3.2 1B), sliding windows (Gemma 3 1B). One slot, nothing reused.',
    tables: [{ unit: 'tokens/s', better: 'higher', topic: 'no reuse', claim: true, rows }],
  };
}
