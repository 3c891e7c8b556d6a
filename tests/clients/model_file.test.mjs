// The model's file is replaced, removed or written to while it is loaded: states are filed under
// the model that computed them, or under none.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, openSync, readdirSync, closeSync, writeSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { pocketModel, run, startServer, temporaryFolder } from './server.mjs';

const prompt = 'The lighthouse keeper wrote in his log that the sea had been calm for nine days. '.repeat(40);

// Another model of the same shape: tensors in the middle of it hold other numbers.
function otherModel(path) {
  copyFileSync(pocketModel, path);
  const file = openSync(path, 'r+');
  const noise = Buffer.alloc(400_000);
  for (let i = 0; i < noise.length; i += 1) noise[i] = (i * 7919) % 61;
  writeSync(file, noise, 0, noise.length, Math.floor(statSync(path).size / 2));
  closeSync(file);
}

async function answerOf(server) {
  const answer = await server.post('/v1/completions', {
    prompt, max_tokens: 24, temperature: 0,
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.json));
  return answer.json.choices[0].text;
}

function models() {
  const folder = temporaryFolder();
  const model = join(folder, 'model.gguf');
  const other = join(folder, 'other.gguf');
  copyFileSync(pocketModel, model);
  otherModel(other);
  return { folder, model, other, states: join(folder, 'states') };
}

function planted(fault, { model, other }) {
  return {
    LD_PRELOAD: process.env.PLANTED_FAULTS,
    HOLDFAST_PLANTED_FAULT: fault,
    HOLDFAST_PLANTED_MODEL: model,
    HOLDFAST_PLANTED_OTHER: other,
  };
}

async function answerFrom(model, flags = [], env = {}) {
  const server = await startServer(['-m', model, ...flags], { env });
  const answer = await answerOf(server);
  await server.stop();
  return { answer, log: server.log };
}

describe('the model file while it is loaded', { skip: !process.env.PLANTED_FAULTS }, () => {
  for (const fault of ['replaced', 'removed']) {
    test(`${fault}: what is served is what its states are filed under`, async () => {
      const at = models();
      const cold = { a: await answerFrom(pocketModel), b: await answerFrom(at.other) };
      assert.notEqual(cold.a.answer, cold.b.answer, 'the two models differ');
      const copy = join(at.folder, 'copy.gguf');
      copyFileSync(at.other, copy);
      const keep = ['--cache-dir', at.states, '--cache-rest', '0'];
      const first = await answerFrom(at.model, keep, planted(fault, at));
      assert.equal(first.answer, cold.a.answer, 'the file that was digested is the one that answers');
      // Each model finds its own states or none.
      assert.equal((await answerFrom(pocketModel, keep)).answer, cold.a.answer);
      assert.equal((await answerFrom(copy, keep)).answer, cold.b.answer);
    });
  }

  test('written to: it is not served', async () => {
    const at = models();
    const ended = await run(['serve', '-m', at.model, '--port', '0', '--threads', '1', '--cache-dir', at.states],
      { env: planted('written', at) });
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /model\.gguf' was changed while it was being loaded\. Start again/);
  });

  test('without a digest nothing is written', async () => {
    const at = models();
    const { log } = await answerFrom(at.model, ['--cache-dir', at.states], planted('undigested', at));
    assert.match(log, /warn +no states on disk: .*model\.gguf' cannot be read: Input\/output error/);
    assert.deepEqual(existsSync(at.states) ? readdirSync(at.states) : [], []);
  });
});
