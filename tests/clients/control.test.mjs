// Thoughts that are cut off: by POST /v1/chat/completions/control while they are written, and by a
// budget with a message; and POST /props.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { useServer, withServer } from './server.mjs';
import { ask, messageOf, thinking, user } from './talk.mjs';

const question = 'What is the weather in Oslo?';
// The model never ends its thoughts by itself.
const endless = async (server) => {
  const { tokens } = (await server.post('/tokenize', { content: '</think>' })).json;
  assert.equal(tokens.length, 1);
  return { ...thinking(true), logit_bias: { [tokens[0]]: -50 } };
};

describe('thoughts', () => {
  const on = useServer();
  const control = (body, headers) => on.server.post('/v1/chat/completions/control', body, headers);

  async function think(extra, act) {
    const stream = await on.client.chat.completions.create({ model: 'pocket', temperature: 0, max_tokens: 300, stream: true,
      messages: [user(question)], ...(await endless(on.server)), ...extra });
    const told = { reasoning: '', content: '', deltas: 0 };
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta ?? {};
      told.reasoning += delta.reasoning_content ?? '';
      told.content += delta.content ?? '';
      if (delta.reasoning_content && ++told.deltas === 5) told.answer = await act(chunk.id);
    }
    return told;
  }
  const end = (id) => control({ id, action: 'reasoning_end' });

  test('are ended by their client', async () => {
    const told = await think({ reasoning_control: true, reasoning_budget_message: ' Enough of that.' }, end);
    assert.deepEqual([told.answer.status, told.answer.json], [200, { success: true }]);
    assert.match(told.reasoning, /Enough of that\.\s*$/);
    assert.ok(told.content.trim().length > 0, JSON.stringify(told));
  });

  test('go on where the request did not ask for it, or somebody else says so', async () => {
    const unasked = await think({ max_tokens: 60 }, end);
    assert.equal(unasked.answer.json.success, false);
    assert.match(unasked.answer.json.message, /reasoning_control/);
    assert.equal(unasked.content, '');
    const salted = await think({ max_tokens: 60, reasoning_control: true, cache_salt: 'mine' }, end);
    assert.equal(salted.answer.json.success, false, 'of another tenant');
    const own = (id) => control({ id, action: 'reasoning_end', cache_salt: 'mine' });
    assert.equal((await think({ reasoning_control: true, cache_salt: 'mine' }, own)).answer.json.success, true);
  });

  test('mistakes are named, and an answer that is over is not found', async () => {
    const over = await ask(on.client, question, { max_tokens: 2 });
    assert.deepEqual((await end(over.id)).json, { success: false, message: 'No answer of this id is being written.' });
    for (const [body, param] of [[{ id: 'x' }, 'action'], [{ action: 'reasoning_end' }, 'id'], [{ id: 'x', action: 'dance' }, 'action']]) {
      const { status, json } = await control(body);
      assert.deepEqual([status, json.error.param], [400, param]);
    }
  });

  test('have a budget, and what is written at its end', async () => {
    const extra = { ...(await endless(on.server)), reasoning_budget_tokens: 4, reasoning_budget_message: ' That will do.' };
    const { reasoning_content } = messageOf(await ask(on.client, question, extra));
    assert.match(reasoning_content, /That will do\.\s*$/);
    await assert.rejects(ask(on.client, question, { reasoning_budget_message: 'x'.repeat(5000) }), { status: 400, param: 'reasoning_budget_message' });
  });

  test('properties cannot be set', async () => {
    const { status, json } = await on.server.post('/props', {});
    assert.equal(status, 501);
    assert.match(json.error.message, /--props/);
  });
});

test('with --props there is an endpoint that sets nothing; flags for thoughts are defaults of requests', () =>
  withServer(['--props', '--reasoning-budget', '4', '--reasoning-budget-message', ' So be it.', '--reasoning', 'on', '--no-prefill-assistant'], async (server) => {
    assert.deepEqual((await server.post('/props', {})).json, { success: true });
    const { status, json } = await server.post('/props', { temperature: 1 });
    assert.deepEqual([status, json.error.param], [400, 'temperature']);
    const { logit_bias } = await endless(server);
    const client = server.client();
    const asked = { model: 'pocket', temperature: 0, max_tokens: 200, logit_bias };
    const answer = await client.chat.completions.create({ ...asked, messages: [user(question)] });
    assert.match(messageOf(answer).reasoning_content, /So be it\.\s*$/);
    const answered = await server.post('/apply-template', { messages: [user('hi'), { role: 'assistant', content: 'Hello' }] });
    assert.match(answered.json.prompt, /Hello<\|im_end\|>\n<\|im_start\|>assistant/);
  }));
