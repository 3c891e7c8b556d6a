// What the SDKs of OpenAI and Anthropic build on top of requests: tool runners, parsed answers,
// retries, aborts. The model follows a script (../agents/script.h), behind the real server.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { eventually, startServer, temporaryFolder } from './server.mjs';
import { scriptedServer } from '../agents/workplace.mjs';
import { user } from './talk.mjs';

const Cat = z.object({ name: z.string(), legs: z.number().int() });
const City = z.object({ city: z.string() });
const minka = { name: 'Minka', legs: 4 };
const model = 'any';

const script = {
  rules: [
    { when: '<tool_response>', say: 'It is rainy in Oslo.' },
    { when: 'weather', with: 'get_weather', calls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] },
    { when: 'as JSON', say: JSON.stringify(minka) },
  ],
};

async function startScripted(rules, flags = []) {
  const path = join(temporaryFolder(), 'script.json');
  writeFileSync(path, JSON.stringify(rules));
  return startServer(['--script', path, ...flags], { program: scriptedServer });
}

function clientsOf(server, options) {
  const anthropic = new Anthropic({ baseURL: server.url, apiKey: 'none', ...options });
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', ...options });
  return { anthropic, openai };
}

describe('helpers of the SDKs', () => {
  const on = {};
  before(async () => {
    on.server = await startScripted(script);
    Object.assign(on, clientsOf(on.server, { maxRetries: 0 }));
  });
  after(() => on.server?.stop());

  const weather = [user('What is the weather in Oslo?')];
  const asJson = [user('Describe my cat as JSON.')];

  // A function that notes what it was called with.
  function forecast() {
    const asked = [];
    const run = (args) => {
      asked.push(args);
      return 'rainy';
    };
    return { asked, run };
  }

  for (const stream of [false, true]) {
    test(`Anthropic's tool runner, ${stream ? 'streamed' : 'whole'}`, async () => {
      const { asked, run } = forecast();
      const tool = betaZodTool({ name: 'get_weather', description: 'Weather', inputSchema: City, run });
      const runner = on.anthropic.beta.messages.toolRunner({
        model, max_tokens: 100, messages: weather, tools: [tool], stream,
      });
      const last = await runner.runUntilDone();
      assert.deepEqual(asked, [{ city: 'Oslo' }]);
      assert.equal(last.content.at(-1).text, 'It is rainy in Oslo.');
      assert.ok(last.usage.cache_read_input_tokens > 0, 'the tool turn read everything again');
    });

    test(`OpenAI's tool runner, ${stream ? 'streamed' : 'whole'}`, async () => {
      const { asked, run } = forecast();
      const tool = zodFunction({ name: 'get_weather', parameters: City, function: run });
      const runner = on.openai.chat.completions.runTools({ model, messages: weather, tools: [tool], stream });
      assert.equal(await runner.finalContent(), 'It is rainy in Oslo.');
      assert.deepEqual(asked, [{ city: 'Oslo' }]);
    });
  }

  test('messages.parse, and the stream that parses', async () => {
    const asked = {
      model, max_tokens: 100, messages: asJson, output_config: { format: zodOutputFormat(Cat) },
    };
    assert.deepEqual((await on.anthropic.messages.parse(asked)).parsed_output, minka);
    const final = await on.anthropic.messages.stream(asked).finalMessage();
    assert.deepEqual(final.parsed_output, minka);
  });

  test('chat.completions.parse, and the stream that parses', async () => {
    const asked = { model, messages: asJson, response_format: zodResponseFormat(Cat, 'cat') };
    const whole = await on.openai.chat.completions.parse(asked);
    assert.deepEqual(whole.choices[0].message.parsed, minka);
    const final = await on.openai.chat.completions.stream(asked).finalChatCompletion();
    assert.deepEqual(final.choices[0].message.parsed, minka);
  });

  test('responses.parse, and the stream that parses', async () => {
    const asked = { model, input: 'Describe my cat as JSON.', text: { format: zodTextFormat(Cat, 'cat') } };
    assert.deepEqual((await on.openai.responses.parse(asked)).output_parsed, minka);
    const final = await on.openai.responses.stream(asked).finalResponse();
    assert.deepEqual(final.output_parsed, minka);
  });

  test('a tool of responses is parsed too', async () => {
    const tool = { type: 'function', name: 'get_weather', parameters: z.toJSONSchema(City), strict: true };
    const response = await on.openai.responses.parse({ model, input: 'The weather?', tools: [tool] });
    const call = response.output.find((item) => item.type === 'function_call');
    assert.deepEqual(call.parsed_arguments, { city: 'Oslo' });
  });
});

// 2 ms a token: a question of 1000 words takes two seconds.
describe('a server that has no time', () => {
  const on = {};
  const attempts = { anthropic: 0, openai: 0 };
  const refused = { anthropic: 0, openai: 0 };
  const counting = (name) => async (...args) => {
    attempts[name] += 1;
    const response = await fetch(...args);
    if (response.status >= 500) refused[name] += 1;
    return response;
  };
  before(async () => {
    const slow = { read_us_per_token: 2_000, rules: [] };
    on.server = await startScripted(slow, ['-np', '1', '--queue-max', '1', '-c', '32k']);
  });
  after(() => on.server?.stop());

  const long = [user('word '.repeat(12_000))];
  const busy = async () => (await on.server.getJson('/slots')).some((slot) => slot.is_processing);

  const streams = {
    chat: ({ openai }) => openai.chat.completions.stream({ model, messages: long }),
    responses: ({ openai }) => openai.responses.stream({ model, input: long }),
    messages: ({ anthropic }) => anthropic.messages.stream({ model, max_tokens: 10, messages: long }),
  };
  for (const [name, begin] of Object.entries(streams)) {
    test(`${name}: an abort while the prompt is read ends the reading`, async () => {
      const stream = begin(clientsOf(on.server, { maxRetries: 0 }));
      const ended = assert.rejects(stream.done(), /abort/i);
      await eventually(busy, 'reading');
      stream.abort();
      await ended;
      await on.server.idle();
      const [receipt] = (await on.server.getJson('/cache/receipts?limit=1')).data;
      const { prompt_tokens, restored_tokens, recomputed_tokens } = receipt;
      assert.ok(restored_tokens + recomputed_tokens < prompt_tokens, 'it was read to its end');
    });
  }

  test('requests that are refused are sent again by the SDKs', async () => {
    const patient = (name) => clientsOf(on.server, { fetch: counting(name), maxRetries: 5 })[name];
    const anthropic = patient('anthropic');
    const openai = patient('openai');
    const question = [user('How are you?')];
    const leaving = new AbortController();
    const first = on.server.fetch('/v1/chat/completions', {
      method: 'POST', body: JSON.stringify({ messages: long }), signal: leaving.signal,
    });
    const left = assert.rejects(first, { name: 'AbortError' });
    await eventually(busy, 'one at work');
    const second = on.server.post('/v1/chat/completions', { messages: question });
    const queued = async () =>
      /^llamacpp:requests_deferred 1$/m.test(await (await on.server.fetch('/metrics')).text());
    await eventually(queued, 'one in the queue');
    // Full now. Without a retry the error has its class.
    const impatient = clientsOf(on.server, { maxRetries: 0 });
    const ask = { model, max_tokens: 10, messages: question };
    await assert.rejects(impatient.anthropic.messages.create(ask), Anthropic.InternalServerError);
    await assert.rejects(impatient.openai.responses.create({ model, input: question }),
      OpenAI.InternalServerError);
    const answers = Promise.all([
      anthropic.messages.create(ask),
      openai.responses.create({ model, input: question }),
    ]);
    await eventually(() => refused.anthropic > 0 && refused.openai > 0, 'both refused');
    leaving.abort();
    await left;
    const [message, response] = await answers;
    assert.equal(message.content.at(-1).text, 'Done.');
    assert.equal(response.output_text, 'Done.');
    assert.ok(attempts.anthropic > 1 && attempts.openai > 1, JSON.stringify(attempts));
    assert.equal((await second).status, 200);
  });
});
