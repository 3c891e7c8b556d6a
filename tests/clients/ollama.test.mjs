// Ollama's API through Ollama's own client from npm: chats in lines of JSON, tools, thoughts, schemas,
// generate, embeddings, lists - and what a conversation reuses, whichever protocol began it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Ollama } from 'ollama';

import { useServer, withServer } from './server.mjs';
import { brief, user } from './talk.mjs';

const clientOf = (server) => new Ollama({ host: server.url });
const greedy = { temperature: 0, num_predict: 400, num_ctx: 2048, unknown_option: 'ignored' };
const model = 'pocket';
const cat = [user('My cat is called Minka. What is my cat called?')];
const oslo = [user('What is the weather in Oslo?')];
const tools = [{
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Get the current weather for a city',
    parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string', description: 'The city name' } } },
  },
}];
const rain = JSON.stringify({ city: 'Oslo', temperature: 7, condition: 'rainy' });

async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}
const contentOf = (parts) => parts.map((part) => part.message.content).join('');
const refused = (status, pattern) => (error) => {
  assert.equal(error.status_code, status, error.message);
  assert.match(error.message, pattern);
  return true;
};

describe('chats', () => {
  const on = useServer();
  const chat = (extra) => clientOf(on.server).chat({ model, messages: cat, think: false, options: greedy, ...extra });

  test('a whole answer, with its numbers', async () => {
    const answer = await chat({});
    assert.match(answer.message.content, /Minka/);
    assert.deepEqual([answer.message.role, answer.model, answer.done, answer.done_reason], ['assistant', model, true, 'stop']);
    assert.ok(Date.now() - new Date(answer.created_at) < 60_000, answer.created_at);
    assert.ok(answer.prompt_eval_count > 10 && answer.eval_count > 3, JSON.stringify(answer));
    assert.ok(answer.eval_duration > 100_000, 'nanoseconds');
    assert.ok(answer.total_duration >= answer.prompt_eval_duration + answer.eval_duration);
  });

  test('a stream is lines of JSON, and says the same', async () => {
    const whole = await chat({});
    const response = await on.server.fetch('/api/chat', { method: 'POST', body: JSON.stringify({ model, messages: cat, think: false, options: greedy }) });
    assert.match(response.headers.get('content-type'), /^application\/x-ndjson/);
    const lines = (await response.text()).split('\n');
    assert.equal(lines.pop(), '');
    assert.ok(lines.map((line) => JSON.parse(line)).every((part, i) => part.done === (i === lines.length - 1)));
    const parts = await collect(await chat({ stream: true }));
    assert.equal(contentOf(parts), whole.message.content);
    const last = parts.at(-1);
    assert.deepEqual([last.done, last.done_reason, last.eval_count], [true, 'stop', whole.eval_count]);
    assert.ok(parts.length > 1, 'drafts bring several tokens at once, but not all of them');
  });

  test('what was said before is not read again, nor what another protocol read', async () => {
    const messages = [user('My dog is called Rex and my cat is called Minka.')];
    const first = await chat({ messages });
    messages.push(first.message, user('What is my cat called?'));
    const second = await chat({ messages });
    assert.ok(second.cached_tokens > 0.75 * first.prompt_eval_count, JSON.stringify(second));
    const openai = await on.client.chat.completions.create({ ...brief, messages });
    assert.equal(openai.choices[0].message.content, second.message.content);
    assert.ok(openai.usage.prompt_tokens_details.cached_tokens >= second.prompt_eval_count - 1, 'the same prompt');
    const { data } = await on.server.getJson('/cache/receipts');
    assert.ok(data.length >= 3 && data.every((receipt) => receipt.prompt_tokens > 0));
    const answer = await chat({ messages, cache_receipt: true });
    assert.equal(answer.cache_receipt.prompt_tokens, answer.prompt_eval_count);
  });

  test('thoughts come apart, if they are wanted', async () => {
    const thoughtful = await chat({ messages: oslo, tools, think: true });
    assert.ok(thoughtful.message.thinking.length > 0);
    assert.doesNotMatch(thoughtful.message.content, /<think>/);
    const parts = await collect(await chat({ messages: oslo, tools, think: true, stream: true }));
    assert.equal(parts.map((part) => part.message.thinking ?? '').join(''), thoughtful.message.thinking);
    assert.equal((await chat({ messages: oslo, tools })).message.thinking, undefined);
  });

  test('a tool is called, whole and streamed, and its result is used', async () => {
    const answer = await chat({ messages: oslo, tools });
    const [call] = answer.message.tool_calls;
    assert.deepEqual([call.function.name, call.function.arguments], ['get_weather', { city: 'Oslo' }]);
    assert.equal(answer.done_reason, 'stop');
    const parts = await collect(await chat({ messages: oslo, tools, stream: true }));
    const calls = parts.flatMap((part) => part.message.tool_calls ?? []);
    assert.deepEqual(calls.map((one) => one.function.arguments), [{ city: 'Oslo' }]);

    const history = [...oslo, answer.message, { role: 'tool', tool_name: 'get_weather', content: rain }];
    const told = await chat({ messages: history, tools });
    assert.match(told.message.content, /Oslo is rainy/);
    assert.ok(told.cached_tokens > 0.75 * told.prompt_eval_count, 'the call comes back as it was written');
    // As clients send it that keep no ids.
    const { id, ...rest } = call;
    assert.ok(id);
    const bare = [...oslo, { role: 'assistant', content: '', tool_calls: [rest] }, history.at(-1)];
    assert.match((await chat({ messages: bare, tools })).message.content, /Oslo is rainy/);
  });

  test('format: json, and a schema', async () => {
    assert.equal(typeof JSON.parse((await chat({ format: 'json' })).message.content), 'object');
    const format = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false };
    assert.deepEqual(Object.keys(JSON.parse((await chat({ format })).message.content)), ['name']);
  });

  test('options: the seed, the length, stop strings', async () => {
    const warm = { ...greedy, temperature: 1.5, top_k: 0, seed: 7, num_predict: 12 };
    const [one, two] = [await chat({ options: warm }), await chat({ options: warm })];
    assert.equal(one.message.content, two.message.content);
    const cut = await chat({ options: { ...greedy, num_predict: 2 } });
    assert.deepEqual([cut.done_reason, cut.eval_count], ['length', 2]);
    const stopped = await chat({ options: { ...greedy, stop: ['Minka'] } });
    assert.equal(stopped.done_reason, 'stop');
    assert.doesNotMatch(stopped.message.content, /Minka/);
    const all = await chat({ options: { ...greedy, num_predict: -1, stop: 'Minka' } });
    assert.equal(all.message.content, stopped.message.content);
  });

  test('log-probabilities', async () => {
    const answer = await chat({ logprobs: true, top_logprobs: 2 });
    assert.equal(answer.logprobs.length >= answer.eval_count - 1, true);
    assert.equal(answer.logprobs[0].top_logprobs.length, 2);
    assert.ok(answer.logprobs[0].logprob <= 0);
  });

  test('mistakes are named', async () => {
    await assert.rejects(chat({ messages: [{ ...cat[0], images: ['aGVsbG8='] }] }), refused(400, /images.*text only/));
    await assert.rejects(chat({ options: { temperature: 'hot' } }), refused(400, /options\.temperature/));
    await assert.rejects(chat({ format: 'xml' }), refused(400, /format/));
    await assert.rejects(chat({ messages: [user('word '.repeat(100_000))] }), refused(400, /context size/));
    await on.server.assertAlive();
  });

  test('a client that leaves frees its slot', async () => {
    const client = clientOf(on.server);
    const endless = { ...greedy, num_predict: -1, temperature: 1, logit_bias: { 2: false }, ignore_eos: true };
    const stream = await client.chat({ model, messages: cat, stream: true, options: endless });
    const reading = (async () => {
      for await (const part of stream) if (part.message.content) client.abort();
    })();
    await assert.rejects(reading, { name: 'AbortError' });
    await on.server.idle();
  });

  test('a conversation without messages asks for the model, which is there', async () => {
    const loaded = await chat({ messages: [] });
    assert.deepEqual([loaded.done, loaded.done_reason, loaded.message.content], [true, 'load', '']);
    const unloaded = await clientOf(on.server).generate({ model, prompt: '', keep_alive: 0 });
    assert.deepEqual([unloaded.done_reason, unloaded.response], ['unload', '']);
    await on.server.assertAlive();
  });

  test('generate: a prompt in the template, with a system message, and raw', async () => {
    const client = clientOf(on.server);
    const answer = await client.generate({ model, prompt: cat[0].content, think: false, options: greedy });
    assert.equal(answer.response, (await chat({})).message.content);
    const parts = await collect(await client.generate({ model, prompt: cat[0].content, think: false, options: greedy, stream: true }));
    assert.equal(parts.map((part) => part.response).join(''), answer.response);
    const other = await client.generate({ model, system: 'You are a pirate.', prompt: cat[0].content, think: false, options: greedy });
    assert.ok(other.prompt_eval_count > answer.prompt_eval_count);
    const raw = await client.generate({ model, prompt: 'Once upon a time', raw: true, options: { ...greedy, num_predict: 8 } });
    const text = await on.client.completions.create({ model, prompt: 'Once upon a time', temperature: 0, max_tokens: 8 });
    assert.equal(raw.response, text.choices[0].text);
    await assert.rejects(client.generate({ model, prompt: 'a', suffix: 'b' }), refused(400, /fill in the middle/));
    await assert.rejects(client.generate({ model, prompt: 'a', context: [1, 2] }), refused(400, /context/));
    await assert.rejects(client.generate({ model, prompt: 'a', template: '{{ .Prompt }}' }), refused(400, /template/));
  });

  test('the model is listed, shown and running', async () => {
    const client = clientOf(on.server);
    const { models: [listed] } = await client.list();
    assert.deepEqual([listed.details.format, listed.digest.length], ['gguf', 64]);
    assert.ok(listed.size > 1e6 && /^\d+(\.\d+)?[MB]$/.test(listed.details.parameter_size), JSON.stringify(listed));
    const shown = await client.show({ model: `${listed.name}:latest` });
    assert.ok(shown.capabilities.includes('completion') && shown.capabilities.includes('tools'), JSON.stringify(shown.capabilities));
    assert.ok(shown.model_info[`${shown.details.family}.context_length`] > 0);
    const { models: [running] } = await client.ps();
    assert.ok(new Date(running.expires_at) > new Date('2100-01-01') && running.context_length > 0);
    await assert.rejects(client.show({ model: 'another' }), refused(404, /another/));
    assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
  });

  test('a library of models is not here, and says so', async () => {
    const client = clientOf(on.server);
    await assert.rejects(client.pull({ model: 'llama3' }), refused(501, /--model FILE/));
    await assert.rejects(client.delete({ model: 'llama3' }), refused(501, /--model FILE/));
    await assert.rejects(client.copy({ source: 'a', destination: 'b' }), refused(501, /--model FILE/));
    await assert.rejects(client.embed({ model, input: 'text' }), refused(400, /--embedding/));
    const lost = await on.server.post('/api/chats', {});
    assert.equal(lost.status, 404);
    assert.match(lost.json.error, /\/api\/chat/);
  });
});

test('embeddings: a vector for each text, and one of old', () =>
  withServer(['--embedding', '--pooling', 'last', '-np', '2', '-ub', '64', '-c', '256'], async (server) => {
    const client = clientOf(server);
    const { embeddings, prompt_eval_count } = await client.embed({ model, input: ['My cat is called Minka.', 'Paris'] });
    assert.equal(embeddings.length, 2);
    assert.ok(prompt_eval_count > 4);
    for (const vector of embeddings) assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5);
    const { data } = await server.client().embeddings.create({ model, input: 'Paris', encoding_format: 'float' });
    data[0].embedding.forEach((value, i) => assert.ok(Math.abs(value - embeddings[1][i]) < 1e-6));
    const old = await client.embeddings({ model, prompt: 'Paris' });
    const length = Math.hypot(...old.embedding);
    old.embedding.forEach((value, i) => assert.ok(Math.abs(value / length - embeddings[1][i]) < 1e-5));
    assert.equal((await client.embed({ model, input: 'Paris', dimensions: 8 })).embeddings[0].length, 8);
    const long = 'a b '.repeat(3000);
    assert.equal((await client.embed({ model, input: long })).prompt_eval_count, 256);
    await assert.rejects(client.embed({ model, input: long, truncate: false }), refused(400, /input has .* too large/));
    await assert.rejects(client.generate({ model, prompt: 'hello' }), refused(400, /embeddings only/));
    assert.deepEqual((await client.show({ model: (await client.list()).models[0].name })).capabilities, ['embedding']);
  }));

test('keys are asked for in Ollama\'s words', () =>
  withServer(['--api-key', 'secret'], async (server) => {
    await assert.rejects(clientOf(server).list(), refused(401, /API key/));
    const client = new Ollama({ host: server.url, headers: { Authorization: 'Bearer secret' } });
    assert.equal((await client.list()).models.length, 1);
  }));
