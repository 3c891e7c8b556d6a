// What a request may ask of the text: its end, its randomness, its form.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { useServer } from './server.mjs';
import { ask, messageOf, reasonOf, stream, textOf, thinking } from './talk.mjs';

const story = 'Tell me a story about a fox.';
const counting = 'Count from 1 to 30.';

describe('the end of an answer', () => {
  const on = useServer();

  // "12" is two tokens here, and the last stop begins and ends within tokens.
  for (const [stop, kept] of [
    ['12', '1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, '],
    [['never', '7,'], '1, 2, 3, 4, 5, 6, '],
    [', 12, 1', '1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11'],
  ]) {
    test(`stop ${JSON.stringify(stop)} ends it and is not part of it`, async () => {
      const whole = await ask(on.client, counting, { stop });
      assert.equal(textOf(whole), kept);
      assert.equal(reasonOf(whole), 'stop');
      const { choices } = await stream(on.client, counting, { stop });
      assert.equal(choices[0].content, kept);
      assert.equal(choices[0].finish, 'stop');
    });
  }

  test('what only looks like a stop string is given out', async () => {
    const { choices } = await stream(on.client, counting, { stop: '12, 14' });
    assert.match(choices[0].content, /11, 12, 13, 14.*30$/);
  });

  for (const name of ['max_tokens', 'max_completion_tokens', 'n_predict']) {
    test(`${name} ends it with the reason "length"`, async () => {
      const completion = await ask(on.client, counting, { max_tokens: undefined, [name]: 7 });
      assert.equal(textOf(completion), '1, 2, 3');
      assert.equal(reasonOf(completion), 'length');
      assert.equal(completion.usage.completion_tokens, 7);
    });
  }

  test('ignore_eos goes on after the end', async () => {
    const completion = await ask(on.client, 'Hello!', { ignore_eos: true, max_tokens: 60 });
    assert.match(textOf(completion), /^Hello! How can I help you today\?./s);
    assert.equal(completion.usage.completion_tokens, 60);
    assert.equal(reasonOf(completion), 'length');
  });
});

describe('the end of the context', () => {
  const on = useServer(['--ctx-size', '512', '--parallel', '1']);

  test('ends an answer with the reason "length"', async () => {
    const completion = await ask(on.client, story, { ignore_eos: true, max_tokens: -1 });
    assert.equal(reasonOf(completion), 'length');
    const { total_tokens: total } = completion.usage;
    assert.ok(total > 500 && total <= 513, `${total} tokens`);  // the last one is never read
  });
});

describe('randomness', () => {
  const on = useServer(['--deterministic']);
  const hot = { temperature: 1, max_tokens: 40 };

  test('a seed gives the same text again, another seed another text', async () => {
    const tell = async (seed) => textOf(await ask(on.client, story, { ...hot, seed }));
    const [first, again, other] = [await tell(7), await tell(7), await tell(8)];
    assert.equal(again, first);
    assert.notEqual(other, first);
  });

  test('no seed gives different texts', async () => {
    const texts = new Set();
    for (let i = 0; i < 4; ++i) texts.add(textOf(await ask(on.client, story, hot)));
    assert.ok(texts.size > 1, 'four equal stories');
  });

  test('n answers differ, and come back with the same seed', async () => {
    const two = await ask(on.client, story, { ...hot, n: 2, seed: 7 });
    const again = await ask(on.client, story, { ...hot, n: 2, seed: 7 });
    const texts = (completion) => completion.choices.map((choice) => choice.message.content);
    assert.deepEqual(two.choices.map((choice) => choice.index), [0, 1]);
    assert.notEqual(texts(two)[0], texts(two)[1]);
    assert.deepEqual(texts(again), texts(two));
    assert.equal(two.usage.completion_tokens, 80);
    assert.equal(two.usage.prompt_tokens, again.usage.prompt_tokens);
    const streamed = await stream(on.client, story, { ...hot, n: 2, seed: 7 });
    assert.deepEqual(streamed.choices.map((choice) => choice.content), texts(two));
  });
});

describe('probabilities', () => {
  const on = useServer(['--deterministic']);

  test('of the chosen tokens spell the answer', async () => {
    const { choices } = await ask(on.client, story, { logprobs: true });
    const tokens = choices[0].logprobs.content;
    assert.equal(tokens.map((token) => token.token).join(''), choices[0].message.content);
    assert.equal(Buffer.from(tokens.flatMap((token) => token.bytes)).toString(), choices[0].message.content);
    assert.ok(tokens.every((token) => token.logprob <= 0 && token.top_logprobs.length === 0));
  });

  test('come with alternatives, in order, that sum to at most one', async () => {
    const { choices } = await ask(on.client, story, { logprobs: true, top_logprobs: 20 });
    for (const token of choices[0].logprobs.content) {
      const top = token.top_logprobs.map((one) => one.logprob);
      assert.equal(top.length, 20);
      assert.deepEqual(top, top.toSorted((a, b) => b - a));
      const sum = top.reduce((total, logprob) => total + Math.exp(logprob), 0);
      assert.ok(sum > 0.1 && sum < 1.0001, `they sum to ${sum}`);
      assert.equal(token.token, token.top_logprobs[0].token, 'greedy takes the likeliest');
      assert.ok(Math.abs(token.logprob - top[0]) < 1e-6);
    }
  });

  for (const extra of [{}, thinking(true), { stop: 'named' }, { max_tokens: 9 }]) {
    test(`are the same in a stream, ${JSON.stringify(extra)}`, async () => {
      const settings = { logprobs: true, top_logprobs: 2, ...extra };
      const whole = await ask(on.client, story, settings);
      const { choices } = await stream(on.client, story, settings);
      assert.deepEqual(choices[0].logprobs, whole.choices[0].logprobs.content);
    });
  }

  test('can be changed: a banned token does not come, a favoured one does', async () => {
    const first = async (text) => (await on.server.post('/tokenize', { content: text })).json.tokens[0];
    const banned = { logit_bias: { [await first('Hello')]: -100 } };
    assert.doesNotMatch(textOf(await ask(on.client, 'Hello!', banned)), /^H/);
    const favoured = { logit_bias: { [await first('!')]: 100 }, max_tokens: 3 };
    assert.equal(textOf(await ask(on.client, 'Hello!', favoured)), '!!!');
  });
});

describe('form', () => {
  const on = useServer();
  const person = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' }, city: { type: 'string' } },
    required: ['name', 'age', 'city'],
    additionalProperties: false,
  };
  const about = 'Return a JSON object with the fields name, age, city.' +
    ' The values are: name is Alice, age is 31, city is Oslo.';
  const schemaFormat = (schema) => ({
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
  });

  for (const think of [false, true]) {
    test(`a schema is obeyed, thinking ${think ? 'on' : 'off'}`, async () => {
      const settings = { ...schemaFormat(person), ...thinking(think) };
      const completion = await ask(on.client, about, settings);
      assert.deepEqual(JSON.parse(textOf(completion)), { name: 'Alice', age: 31, city: 'Oslo' });
      assert.equal(messageOf(completion).reasoning_content !== undefined, think);
      const { choices } = await stream(on.client, about, settings);
      assert.equal(choices[0].content, textOf(completion));
    });
  }

  test('a schema is obeyed against the wish of the model', async () => {
    const schema = {
      type: 'object',
      properties: {
        colour: { enum: ['red', 'green'] },
        ready: { type: 'boolean' },
        pair: { type: 'array', items: { enum: [1, 2, 3] }, minItems: 2, maxItems: 2 },
      },
      required: ['colour', 'ready', 'pair'],
      additionalProperties: false,
    };
    const completion = await ask(on.client, 'Hello!', schemaFormat(schema));
    const { colour, ready, pair, ...others } = JSON.parse(textOf(completion));
    assert.ok(['red', 'green'].includes(colour));
    assert.equal(typeof ready, 'boolean');
    assert.equal(pair.length, 2);
    assert.ok(pair.every((number) => [1, 2, 3].includes(number)));
    assert.deepEqual(others, {});
  });

  test('json_object gives an object, whatever was asked', async () => {
    const settings = { response_format: { type: 'json_object' } };
    assert.equal(JSON.parse(textOf(await ask(on.client, about, settings))).name, 'Alice');
    assert.equal(typeof JSON.parse(textOf(await ask(on.client, 'Hello!', settings))), 'object');
  });

  test('a grammar is obeyed', async () => {
    const write = async (grammar) => textOf(await ask(on.client, 'Hello!', { grammar }));
    assert.match(await write('root ::= "yes" | "no"'), /^(yes|no)$/);
    assert.match(await write('root ::= [0-9] [0-9] [0-9]'), /^\d{3}$/);
  });

  test('a broken grammar is refused', async () => {
    const refused = ask(on.client, 'Hello!', { grammar: 'root ::= (' });
    await assert.rejects(refused, { status: 400, param: 'grammar' });
  });

  test('a schema that makes no sense is refused by name', async () => {
    await assert.rejects(ask(on.client, 'Hello!', schemaFormat({ type: 'banana' })), {
      status: 400, param: 'response_format',
    });
  });
});
