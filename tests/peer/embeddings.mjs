#!/usr/bin/env node
// Asks Holdfast and llama-server for vectors and rankings of the same texts with the same tiny
// models, and compares: node tests/peer/embeddings.mjs HOLDFAST LLAMA_SERVER GENMODEL
//
// Bit for bit they differ, because each server puts other texts into a batch. Equal are cosines
// within 1e-5, lengths within 1e-3, and scores within 1e-4; those of bert within 3e-3, because its
// GELU is read from a table of half-precision numbers: one document's score differs by 1e-3 between
// two batches of llama-server itself.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { launch, stop } from '../../bench/servers.mjs';

const [holdfast, peer, generator] = process.argv.slice(2);
assert.ok(generator, 'usage: node tests/peer/embeddings.mjs HOLDFAST LLAMA_SERVER GENMODEL');
const folder = mkdtempSync(join(tmpdir(), 'holdfast-embeddings-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const architectures = ['bert', 'llama', 'qwen3', 'gemma3', 'qwen35', 'lfm2', 'mamba2'];
const tolerance = 1e-5;
const texts = [
  'My cat is called Minka.', 'a', 'The quick brown fox jumps over the lazy dog. '.repeat(5), 'Grüße aus Köln',
  [72, 101, 108, 108, 111], ['Hello', 32, 'you'], 'tab\tand\nline', ' ',
];
const question = { query: 'What is a cat called?', documents: texts.filter((text) => typeof text === 'string') };

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function post(url, path, body) {
  const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
  const answer = await response.json();
  assert.equal(response.status, 200, `${path}: ${JSON.stringify(answer)}`);
  return answer;
}

// Both with the same flags; `ask` gets the address of each in turn.
async function answersOf(model, flags, ask) {
  const answers = [];
  for (const [program, own] of [[holdfast, ['serve', '--cache-dir', 'off']], [peer, ['--no-repack']]]) {
    const port = await freePort();
    const log = join(folder, 'log');
    const common = ['-m', model, '--host', '127.0.0.1', '--port', port, '-t', 1, '-c', 4096, '-ub', 512, '-b', 512, '-fa', 'off'];
    const child = launch(program, [...own, ...common, ...flags].map(String), { log });
    try {
      const url = `http://127.0.0.1:${port}`;
      const ended = child.ended.then((how) => assert.fail(`${program} ${how}; see ${log}`));
      const ready = async () => {
        while (!(await fetch(`${url}/health`).then((health) => health.ok, () => false))) await sleep(20);
      };
      await Promise.race([ready(), ended]);
      answers.push(await ask(url));
    } finally {
      await stop(child);
    }
  }
  return answers;
}

const cosine = (a, b) => {
  assert.equal(a.length, b.length);
  const product = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
};

let worst = 0;
function compareVectors(ours, theirs, where) {
  assert.equal(ours.length, theirs.length, where);
  ours.forEach((vector, i) => {
    const distance = 1 - cosine(vector, theirs[i]);
    worst = Math.max(worst, distance);
    assert.ok(distance < tolerance, `${where}, vector ${i}: 1 - cosine is ${distance}`);
    const length = Math.hypot(...vector) / Math.hypot(...theirs[i]);
    assert.ok(Math.abs(length - 1) < 1e-3, `${where}, vector ${i}: ${length} times as long`);
  });
}

async function comparePooling(model, pooling, where) {
  const flags = ['--embedding', '--pooling', pooling];
  const path = pooling === 'none' ? '/embeddings' : '/v1/embeddings';
  // Norms other than Euclid's show in lengths.
  const [ours, theirs] = await answersOf(model, flags, async (url) => ({
    plain: await post(url, '/embeddings', { input: texts }),
    normed: await post(url, path, { input: texts, embd_normalize: pooling === 'none' ? 2 : 1 }),
  }));
  const all = (answer) => answer.plain.flatMap((entry) => entry.embedding);
  compareVectors(all(ours), all(theirs), where);
  if (pooling === 'none') return;
  compareVectors(ours.normed.data.map((entry) => entry.embedding), theirs.normed.data.map((entry) => entry.embedding),
    `${where}, taxicab`);
  assert.deepEqual(ours.normed.usage, theirs.normed.usage, where);
}

// Models without a head for ranking have scores too, if each document is alone: where there are
// several, llama-server takes numbers of other documents' vectors.
async function compareRanking(model, architecture) {
  const where = `${architecture}, ranking`;
  const headed = architecture === 'bert';
  const questions = headed ? [question] : question.documents.map((text) => ({ ...question, documents: [text] }));
  const [ours, theirs] = await answersOf(model, ['--reranking'], async (url) => {
    const answers = [];
    for (const one of questions) answers.push(await post(url, '/v1/rerank', one));
    return answers;
  });
  ours.forEach((answer, i) => compareScores(answer, theirs[i], headed ? 3e-3 : 1e-4, where));
}

function compareScores(ours, theirs, apart, where) {
  assert.deepEqual(ours.usage, theirs.usage, where);
  const scores = (answer) => new Map(answer.results.map((result) => [result.index, result.relevance_score]));
  const expected = scores(theirs);
  for (const [index, score] of scores(ours)) {
    const distance = Math.abs(score - expected.get(index)) / Math.max(1, Math.abs(score));
    assert.ok(distance < apart, `${where}, document ${index}: ${score}, not ${expected.get(index)}`);
  }
  assert.equal(ours.results.length, theirs.results.length);
}

for (const architecture of architectures) {
  const model = join(folder, `${architecture}.gguf`);
  execFileSync(generator, ['--tiny', architecture, '--out', model]);
  for (const pooling of ['none', 'mean', 'cls', 'last']) {
    await comparePooling(model, pooling, `${architecture}, ${pooling}`);
  }
  if (['bert', 'qwen3'].includes(architecture)) await compareRanking(model, architecture);
  rmSync(model);
  console.log(`${architecture}: equal`);
}
console.log(`the largest 1 - cosine was ${worst}`);
