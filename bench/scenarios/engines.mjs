// Forms of the engine under one and the same Holdfast: which should be the default?
import { launch, stop } from '../servers.mjs';
import { decodeRate, generateAll, wall_s } from '../requests.mjs';
import { interleave, stay } from '../rounds.mjs';
import { sum } from '../stats.mjs';

async function measureDecode(server, { prompts, answer_tokens }) {
  const answers = await generateAll(server, prompts, answer_tokens, false);
  return { rate: sum(answers.map((answer) => decodeRate(answer.timings))) };
}

async function measurePrefill(server, prompts) {
  const answers = await generateAll(server, prompts, 1, false);
  return { rate: sum(prompts.map((prompt) => prompt.length)) / wall_s(answers) };
}

// A process that keeps one core busy, as a compiler or a browser would.
async function besideBusyProcess(work) {
  const child = launch(process.execPath, ['-e', 'for (;;);']);
  try {
    return await work();
  } finally {
    await stop(child);
  }
}

async function decodeRow(bench, servers, label, { streams, answer_tokens }) {
  bench.say(`engines: ${label}`);
  const samples = await interleave(servers, bench.rounds,
    async () => ({ prompts: await bench.prompts.many(streams, 64), answer_tokens }), measureDecode, stay);
  return { label, samples, metric: 'rate' };
}

async function prefillRow(bench, servers, label, length) {
  bench.say(`engines: ${label}`);
  const samples = await interleave(servers, bench.rounds, () => bench.prompts.many(1, length), measurePrefill, stay);
  return { label, samples, metric: 'rate' };
}

export async function engines(bench, servers) {
  const rows = [
    await decodeRow(bench, servers, 'writing, 1 stream', { streams: 1, answer_tokens: 128 }),
    await decodeRow(bench, servers, 'writing, 4 streams', { streams: 4, answer_tokens: 128 }),
    await prefillRow(bench, servers, 'reading, 512 tokens', 512),
    await prefillRow(bench, servers, 'reading, 2048 tokens', 2048),
  ];
  const shared = await besideBusyProcess(async () => [
    // Few tokens: an engine with OpenMP may write two or three a second here.
    await decodeRow(bench, servers, 'writing, 1 stream, one other busy process', { streams: 1, answer_tokens: 32 }),
    await prefillRow(bench, servers, 'reading, 512 tokens, one other busy process', 512),
  ]);
  return {
    name: 'engines',
    title: 'Forms of the engine',
    text: 'Holdfast on builds of the same llama.cpp. The last rows share the machine with one process that ' +
      'computes all the time.',
    tables: [{ unit: 'tokens/s', better: 'higher', rows: [...rows, ...shared] }],
  };
}
