// Plain completions through OpenAI's SDK.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { useServer } from './server.mjs';
import { collect } from './talk.mjs';

describe('completions', () => {
  const on = useServer(['--deterministic']);
  const complete = (prompt, extra = {}) =>
    on.client.completions.create({ model: 'pocket', temperature: 0, max_tokens: 8, prompt, ...extra });
  const tokensOf = async (content) => (await on.server.post('/tokenize', { content })).json.tokens;
  const france = 'The capital of France is';
  const expected = ' Paris. The capital city of Fr';

  test('a text is continued', async () => {
    const completion = await complete(france);
    assert.equal(completion.object, 'text_completion');
    assert.match(completion.id, /^cmpl-/);
    assert.deepEqual(
      completion.choices.map(({ index, text, finish_reason }) => ({ index, text, finish_reason })),
      [{ index: 0, text: expected, finish_reason: 'length' }],
    );
    assert.equal(completion.usage.completion_tokens, 8);
  });

  test('tokens are continued like their text', async () => {
    const tokens = await tokensOf(france);
    const completion = await complete(tokens);
    assert.equal(completion.choices[0].text, expected);
    assert.equal(completion.usage.prompt_tokens, tokens.length);
  });

  test('an appended text goes on from the live state', async () => {
    const first = await complete(france, { id_slot: 2 });
    const second = await complete(france + first.choices[0].text, { id_slot: 2 });
    const longer = await complete(france, { max_tokens: 16, id_slot: 3 });
    assert.equal(first.choices[0].text + second.choices[0].text, longer.choices[0].text);
  });

  test('several prompts, texts and tokens, get an answer each', async () => {
    const other = 'In the beginning';
    const alone = [await complete(france), await complete(other)];
    const both = await complete([france, other]);
    const texts = (completion) => completion.choices.map((choice) => choice.text);
    assert.deepEqual(texts(both), alone.flatMap(texts));
    assert.deepEqual(both.choices.map((choice) => choice.index), [0, 1]);
    assert.equal(both.usage.completion_tokens, 16);
    const asTokens = await complete([await tokensOf(france), await tokensOf(other)]);
    assert.deepEqual(texts(asTokens), texts(both));
  });

  test('the tokens of several prompts are all counted', async () => {
    const [one, other] = [france, 'In the beginning'];
    const both = await complete([one, other]);
    const count = (await tokensOf(one)).length + (await tokensOf(other)).length;
    assert.equal(both.usage.prompt_tokens, count);
  });

  test('echo puts the prompt before the answer', async () => {
    assert.equal((await complete(france, { echo: true })).choices[0].text, france + expected);
    assert.equal((await complete(france, { echo: true, max_tokens: 0 })).choices[0].text, france);
    assert.equal((await complete(await tokensOf(france), { echo: true })).choices[0].text, france + expected);
    const { choices } = await collect(await complete(france, { echo: true, stream: true }));
    assert.equal(choices[0].content, france + expected);
  });

  test('a stream says the same, with usage at its end', async () => {
    const settings = { stream: true, stream_options: { include_usage: true } };
    const joined = await collect(await complete(france, settings));
    assert.equal(joined.choices[0].content, expected);
    assert.equal(joined.choices[0].finish, 'length');
    assert.equal(joined.usage.completion_tokens, 8);
    // Tokens that gather while the server is busy go out together, so how many chunks there are is its own affair.
    const [finish, usage] = joined.chunks.slice(-2);
    assert.equal(finish.choices[0].finish_reason, 'length');
    assert.deepEqual(usage.choices, []);
    assert.ok(joined.chunks.slice(0, -2).every(({ choices }) => choices[0].finish_reason === null));
  });

  test('probabilities come in the old shape', async () => {
    const { text, logprobs } = (await complete(france, { logprobs: 3 })).choices[0];
    assert.equal(logprobs.tokens.join(''), text);
    assert.equal(logprobs.token_logprobs.length, 8);
    assert.ok(logprobs.top_logprobs.every((top) => Object.keys(top).length === 3));
    logprobs.tokens.forEach((token, i) => {
      assert.equal(text.slice(logprobs.text_offset[i]).startsWith(token), true, `offset of "${token}"`);
      assert.equal(logprobs.top_logprobs[i][token], logprobs.token_logprobs[i]);
    });
  });

  test('offsets of probabilities count an echo', async () => {
    const { text, logprobs } = (await complete(france, { logprobs: 1, echo: true })).choices[0];
    logprobs.tokens.forEach((token, i) => {
      assert.equal(text.slice(logprobs.text_offset[i]).startsWith(token), true, `offset of "${token}"`);
    });
  });

  test('a grammar and a schema are obeyed', async () => {
    const yes = await complete(france, { grammar: 'root ::= " yes" | " no"' });
    assert.match(yes.choices[0].text, /^ (yes|no)$/);
    assert.equal(yes.choices[0].finish_reason, 'stop');
    const number = await complete(france, { json_schema: { type: 'boolean' }, max_tokens: 20 });
    assert.equal(typeof JSON.parse(number.choices[0].text), 'boolean');
  });

  test('a broken grammar is refused', async () => {
    await assert.rejects(complete(france, { grammar: 'root ::= (' }), { status: 400, param: 'grammar' });
  });

  for (const [prompt, param] of [
    ['', 'prompt'], [[], 'prompt'], [undefined, 'prompt'], [[99999], 'prompt[0]'], [['a', null], 'prompt[1]'],
    [['a', 99999], 'prompt[1]'],
    [{}, 'prompt.prompt_string'],
  ]) {
    test(`prompt ${JSON.stringify(prompt)} is refused`, async () => {
      await assert.rejects(complete(prompt), { status: 400, param });
    });
  }

  test('a suffix is refused rather than ignored', async () => {
    await assert.rejects(complete(france, { suffix: '.' }), { status: 400, param: 'suffix' });
  });
});

// llama-server's own shape, on the real sampler.
describe('/completion', () => {
  const on = useServer(['--deterministic']);
  const complete = async (prompt, extra = {}) =>
    (await on.server.post('/completion', { prompt, temperature: 0, n_predict: 8, ...extra })).json;
  const france = 'The capital of France is';

  test('says what /v1/completions says', async () => {
    const ours = await complete(france);
    const theirs = await on.client.completions.create({ model: 'x', prompt: france, temperature: 0, max_tokens: 8 });
    assert.equal(ours.content, theirs.choices[0].text);
    assert.equal(ours.stop_type, 'limit');
    assert.equal(ours.generation_settings.temperature, 0);
  });

  test('probabilities after sampling are those of what could be chosen', async () => {
    const answer = await complete(france, { n_probs: 5, post_sampling_probs: true, temperature: 1, top_k: 3, seed: 7 });
    assert.equal(answer.completion_probabilities.length, answer.tokens_predicted);
    for (const { id, prob, top_probs } of answer.completion_probabilities) {
      assert.ok(top_probs.length >= 1 && top_probs.length <= 3);
      const sum = top_probs.reduce((total, each) => total + each.prob, 0);
      assert.ok(Math.abs(sum - 1) < 1e-3, `they sum to ${sum}`);
      assert.equal(top_probs.find((each) => each.id === id).prob, prob);
    }
  });

  test('a word that is biased away is not said', async () => {
    const [said] = (await complete(france, { n_probs: 1 })).completion_probabilities;
    const other = await complete(france, { n_probs: 1, logit_bias: { [said.token]: false } });
    assert.notEqual(other.completion_probabilities[0].id, said.id);
  });

  test('ids and text make one prompt', async () => {
    const tokens = (await on.server.post('/tokenize', { content: 'The capital of' })).json.tokens;
    const mixed = await complete([...tokens, ' France is']);
    assert.equal(mixed.prompt, france);
  });
});
