// Vectors of texts through OpenAI's SDK, and rankings.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';

import { generator, run, temporaryFolder, useServer } from './server.mjs';

const cosine = (a, b) => {
  const product = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
};

describe('a server that embeds', () => {
  const on = useServer(['--embedding', '--pooling', 'last', '-np', '2', '-ub', '64', '-c', '512']);
  const cat = 'My cat is called Minka.';
  // The SDK asks for base64 where nothing else is said.
  const embed = async (input, extra = {}) =>
    (await on.client.embeddings.create({ model: 'pocket', input, ...extra })).data.map((entry) => entry.embedding);

  test('gives a vector of length 1 for each text', async () => {
    const answer = await on.client.embeddings.create({ model: 'pocket', input: [cat, 'In the beginning'] });
    assert.deepEqual(answer.data.map((entry) => entry.index), [0, 1]);
    for (const { embedding } of answer.data) {
      assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-5);
    }
    const { tokens } = (await on.server.post('/tokenize', { content: cat })).json;
    assert.ok(answer.usage.prompt_tokens > tokens.length);
  });

  test('base64 and numbers are the same vector', async () => {
    const [[coded], [plain]] = [await embed(cat), await embed(cat, { encoding_format: 'float' })];
    assert.ok(cosine(coded, plain) > 1 - 1e-6);
  });

  test('a text has the same vector beside others, again, and as tokens', async () => {
    const [alone] = await embed(cat);
    const beside = await embed(['One', cat, 'In the beginning', 'Paris is the capital of France.', cat]);
    const { tokens } = (await on.server.post('/tokenize', { content: cat })).json;
    const [of_tokens] = await embed(tokens);
    for (const vector of [beside[1], beside[4], of_tokens]) assert.ok(cosine(alone, vector) > 1 - 1e-5);
    assert.ok(cosine(alone, beside[0]) < 0.999, 'and another text has another one');
  });

  test('a text is read in several steps, and refused where it does not fit', async () => {
    const [vector] = await embed('a b '.repeat(100));
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5);
    await assert.rejects(embed('a b '.repeat(1000)), { status: 400, param: 'input' });
  });

  test('generates nothing, and says so', async () => {
    const messages = [{ role: 'user', content: 'hello' }];
    await assert.rejects(on.client.chat.completions.create({ model: 'pocket', messages }), { status: 501 });
    const save = await on.server.post('/slots/0?action=save', { filename: 'x' });
    assert.equal(save.status, 501);
    await on.server.assertAlive();
  });

  test('tells what it holds', async () => {
    assert.equal((await on.server.getJson('/slots')).length, 1);
    assert.match(await (await on.server.fetch('/metrics')).text(), /^llamacpp:prompt_tokens_total [1-9]/m);
    assert.match(on.server.log, /embeddings dimensions=\d+ tokens_per_text=512/);
  });
});

describe('a server that ranks', () => {
  const model = join(temporaryFolder(), 'bert.gguf');
  before(() => run(['--tiny', 'bert', '--out', model], { program: generator }));
  const on = useServer(['--reranking', '-np', '2', '-m', model]);
  const question = { query: 'Which city?', documents: ['A cat', 'Paris', 'Which city?', 'London'] };

  test('lists documents, the best first', async () => {
    const { json } = await on.server.post('/v1/rerank', question);
    const scores = json.results.map((result) => result.relevance_score);
    assert.deepEqual(scores, [...scores].sort((a, b) => b - a));
    assert.deepEqual(json.results.map((result) => result.index).sort(), [0, 1, 2, 3]);
    assert.equal(new Set(scores).size, 4);
  });

  test('a document has the same score alone', async () => {
    const all = (await on.server.post('/rerank', question)).json.results;
    for (const { index, relevance_score } of all) {
      const documents = [question.documents[index]];
      const { json } = await on.server.post('/rerank', { ...question, documents });
      assert.ok(Math.abs(json.results[0].relevance_score - relevance_score) < 1e-4);
    }
  });
});

test('a kind of pooling that does not exist is refused at the start', async () => {
  const { code, stderr } = await run(['serve', '--embedding', '--pooling', 'best']);
  assert.notEqual(code, 0);
  assert.match(stderr, /--pooling/);
});
