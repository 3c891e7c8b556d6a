// OpenAI's Responses API through its SDK: answers, streams, tools, memory, errors.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import OpenAI from 'openai';

import { haystack } from './haystack.mjs';
import { keepThoughts, strictSystem, useServer } from './server.mjs';

const quiet = { effort: 'none' };
const brief = { model: 'pocket', temperature: 0, max_output_tokens: 400, reasoning: quiet };
const thoughtful = { ...brief, reasoning: undefined };
const user = (content) => ({ role: 'user', content });
const cachedOf = ({ usage }) => usage.input_tokens_details.cached_tokens;
const shareOf = (response) => cachedOf(response) / response.usage.input_tokens;

const weatherTool = {
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', description: 'The city name' } },
    required: ['city'],
  },
  strict: false,
};
const rain = JSON.stringify({ city: 'Oslo', temperature: 7, condition: 'rainy' });

// All events of a stream, their numbers verified.
async function eventsOf(stream) {
  const events = [];
  for await (const event of stream) {
    assert.equal(event.sequence_number, events.length);
    events.push(event);
  }
  return events;
}
const typesOf = (events) => events.map(({ type }) => type.replace(/^response\./, ''));
const lastOf = (events) => events.at(-1).response;

describe('responses', () => {
  const on = useServer();
  const create = (input, extra) => on.client.responses.create({ ...brief, input, ...extra });

  test('an answer has its text, the model that was asked for and the counts', async () => {
    const response = await create('What is the capital of France?', { model: 'gpt-5.2-codex' });
    assert.equal(response.object, 'response');
    assert.match(response.id, /^resp_/);
    assert.equal(response.status, 'completed');
    assert.equal(response.model, 'gpt-5.2-codex');
    assert.equal(response.output_text, 'The capital of France is Paris.');
    assert.deepEqual(response.output.map(({ type }) => type), ['message']);
    const { usage } = response;
    assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
    assert.equal(usage.output_tokens_details.reasoning_tokens, 0);
    const counted = await on.client.responses.inputTokens.count({
      input: 'What is the capital of France?', reasoning: quiet,
    });
    assert.equal(counted.input_tokens, usage.input_tokens);
  });

  test('thoughts are an item of their own, and counted', async () => {
    const response = await create('What is 2 + 3?', thoughtful);
    const [thoughts, message] = response.output;
    assert.equal(thoughts.type, 'reasoning');
    assert.equal(thoughts.content[0].type, 'reasoning_text');
    assert.ok(thoughts.content[0].text.length > 0);
    assert.equal(message.type, 'message');
    const { reasoning_tokens: counted } = response.usage.output_tokens_details;
    assert.ok(counted > 0 && counted < response.usage.output_tokens, `${counted} tokens of thought`);
  });

  test('a stream tells the same in order', async () => {
    const whole = await create('What is 2 + 3?', thoughtful);
    const events = await eventsOf(await create('What is 2 + 3?', { ...thoughtful, stream: true }));
    const types = typesOf(events).filter((type, i, all) => type !== all[i - 1]);
    assert.deepEqual(types, [
      'created', 'in_progress',
      'output_item.added', 'content_part.added', 'reasoning_text.delta', 'reasoning_text.done',
      'content_part.done', 'output_item.done',
      'output_item.added', 'content_part.added', 'output_text.delta', 'output_text.done',
      'content_part.done', 'output_item.done',
      'completed',
    ]);
    const done = events.filter(({ type }) => type === 'response.output_item.done');
    assert.deepEqual(done.map(({ item }) => item), lastOf(events).output);
    const text = (items) => items.map(({ content }) => content[0].text);
    assert.deepEqual(text(lastOf(events).output), text(whole.output));
  });

  test("the SDK's own reader of streams is content", async () => {
    const stream = on.client.responses.stream({ ...brief, input: 'What is the capital of France?' });
    let shown = '';
    stream.on('response.output_text.delta', ({ delta }) => (shown += delta));
    const response = await stream.finalResponse();
    assert.equal(response.output_text, 'The capital of France is Paris.');
    assert.equal(shown, response.output_text);
  });

  test('an answer that is cut off says so', async () => {
    const short = { max_output_tokens: 3 };
    const response = await create('Count from 1 to 10.', short);
    assert.equal(response.status, 'incomplete');
    assert.equal(response.incomplete_details.reason, 'max_output_tokens');
    assert.equal(response.output[0].status, 'incomplete');
    const events = await eventsOf(await create('Count from 1 to 10.', { ...short, stream: true }));
    assert.equal(events.at(-1).type, 'response.incomplete');
  });

  test('a schema is kept to', async () => {
    const schema = {
      type: 'object',
      properties: { size: { enum: ['small', 'large'] } },
      required: ['size'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema', name: 'answer', strict: true, schema };
    const response = await create('How large is an elephant?', { text: { format } });
    assert.match(JSON.parse(response.output_text).size, /^(small|large)$/);
    const object = await create('Make JSON of name Alice and age 30.', {
      text: { format: { type: 'json_object' } }, max_output_tokens: 4,
    });
    assert.match(object.output_text, /^\{/);
  });

  test('an abort frees the slot', async () => {
    const stream = await create('Count from 1 to 10.', { stream: true, ignore_eos: true });
    for await (const { type } of stream) if (type === 'response.output_text.delta') break;
    stream.controller.abort();
    await on.server.idle();
  });
});

describe('tools of responses', () => {
  const on = useServer();
  const create = (input, extra) =>
    on.client.responses.create({ ...brief, tools: [weatherTool], input, ...extra });

  for (const stream of [false, true]) {
    test(`a call and its answer, ${stream ? 'streamed' : 'whole'}`, async () => {
      const ask = async (input) => {
        const answer = await create(input, { ...thoughtful, stream });
        return stream ? lastOf(await eventsOf(answer)) : answer;
      };
      const input = [user('What is the weather in Oslo?')];
      const first = await ask(input);
      const call = first.output.find(({ type }) => type === 'function_call');
      assert.equal(call.name, 'get_weather');
      assert.equal(call.status, 'completed');
      assert.deepEqual(JSON.parse(call.arguments), { city: 'Oslo' });
      input.push(...first.output, { type: 'function_call_output', call_id: call.call_id, output: rain });
      const second = await ask(input);
      const { text } = second.output.find(({ type }) => type === 'message').content[0];
      assert.match(text, /^The weather in Oslo is rainy with /);
      assert.ok(cachedOf(second) >= first.usage.total_tokens - 1, `${cachedOf(second)} tokens cached`);
    });
  }

  test('two calls of one turn are two items, and go back as one turn', async () => {
    const input = [user('What is the weather in Paris and Rome?')];
    const first = await create(input);
    const calls = first.output.filter(({ type }) => type === 'function_call');
    assert.deepEqual(calls.map((call) => JSON.parse(call.arguments).city), ['Paris', 'Rome']);
    const outputs = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: rain }));
    const second = await create([...input, ...first.output, ...outputs]);
    assert.ok(cachedOf(second) >= first.usage.total_tokens - 1, `${cachedOf(second)} tokens cached`);
  });

  test('arguments are streamed', async () => {
    const events = await eventsOf(await create('What is the weather in Oslo?', { stream: true }));
    const deltas = events.filter(({ type }) => type === 'response.function_call_arguments.delta');
    const done = events.find(({ type }) => type === 'response.function_call_arguments.done');
    assert.equal(deltas.map(({ delta }) => delta).join(''), done.arguments);
    assert.equal(lastOf(events).output[0].arguments, done.arguments);
  });

  test('a custom tool is called with plain text', async () => {
    const weather = { type: 'custom', name: 'get_weather', description: 'Get the weather for a city' };
    const question = 'What is the weather in Oslo?';
    const forced = { tools: [weather], tool_choice: { type: 'custom', name: 'get_weather' } };
    const events = await eventsOf(await create(question, { ...forced, stream: true }));
    const call = lastOf(events).output.find(({ type }) => type === 'custom_tool_call');
    assert.equal(call.name, 'get_weather');
    assert.equal(call.input, 'Oslo');
    const done = events.find(({ type }) => type === 'response.custom_tool_call_input.done');
    assert.equal(done.input, call.input);
    const output = { type: 'custom_tool_call_output', call_id: call.call_id, output: rain };
    const second = await create([user(question), call, output], { tools: [weather] });
    assert.match(second.output_text, /Oslo is rainy/);
    assert.ok(cachedOf(second) >= lastOf(events).usage.total_tokens - 1, `${cachedOf(second)} cached`);
  });

  test('tools that this server does not run are passed over', async () => {
    const tools = [{ type: 'web_search' }, weatherTool, { type: 'local_shell' }];
    const response = await create('What is the weather in Oslo?', { tools });
    assert.equal(response.output[0].name, 'get_weather');
    assert.equal(response.tools.length, 3);
  });
});

describe('conversations of responses', () => {
  const on = useServer(['--chat-template-file', keepThoughts]);
  const { text: long } = haystack({ seed: 7, sentences: 120 });
  const lines = ['My dog is called Rex.', 'What is my dog called?', 'What is my dog called?'];

  test('a client that sends everything again has it read once', async () => {
    const input = [];
    const responses = [];
    for (const line of lines) {
      input.push(user(line));
      const response = await on.client.responses.create({ ...thoughtful, instructions: long, input });
      input.push(...response.output);
      responses.push(response);
    }
    for (const later of responses.slice(1)) {
      assert.ok(shareOf(later) >= 0.9, `${cachedOf(later)} of ${later.usage.input_tokens} reused`);
      assert.match(later.output_text, /Rex/);
    }
  });

  test('previous_response_id stands for the conversation', async () => {
    let previous_response_id;
    const responses = [];
    for (const line of lines) {
      const stream = on.client.responses.stream({
        ...thoughtful, instructions: long, input: line, previous_response_id,
      });
      responses.push(await stream.finalResponse());
      previous_response_id = responses.at(-1).id;
    }
    for (const later of responses.slice(1)) {
      assert.ok(shareOf(later) >= 0.9, `${cachedOf(later)} of ${later.usage.input_tokens} reused`);
      assert.match(later.output_text, /Rex/);
    }
  });
});

describe('a template that takes a system message at the front only', () => {
  const on = useServer(['--chat-template-file', strictSystem]);

  test('developers may speak at the front and later, and what was read is not read again', async () => {
    const developer = (content) => ({ role: 'developer', content });
    const { text: long } = haystack({ seed: 8, sentences: 60 });
    const input = [developer(long), developer('Be brief.'), user('My dog is called Rex.')];
    const ask = () => on.client.responses.create({ ...brief, instructions: 'You are helpful.', input });
    const first = await ask();
    input.push(...first.output, developer('The user has gone outside.'), user('What is my dog called?'));
    const second = await ask();
    assert.match(second.output_text, /Rex/);
    assert.ok(shareOf(second) >= 0.9, `${cachedOf(second)} of ${second.usage.input_tokens} reused`);
  });
});

describe('stored responses and mistakes', () => {
  const on = useServer(['-c', '512']);
  const create = (input, extra) => on.client.responses.create({ ...brief, input, ...extra });

  test('a response can be retrieved and deleted', async () => {
    const { output_text, ...response } = await create('Hello!');
    const { output_text: again, ...stored } = await on.client.responses.retrieve(response.id);
    assert.deepEqual(stored, response);
    assert.equal(again, output_text);
    await on.client.responses.delete(response.id);
    await assert.rejects(on.client.responses.retrieve(response.id), OpenAI.NotFoundError);
    await assert.rejects(create('Hello!', { previous_response_id: response.id }), (error) => {
      assert.ok(error instanceof OpenAI.NotFoundError);
      assert.equal(error.param, 'previous_response_id');
      assert.match(error.message, new RegExp(response.id));
      return true;
    });
  });

  test('an item that is only named is put in its place', async () => {
    const first = await create('My dog is called Rex.');
    const named = first.output.map(({ id }) => ({ type: 'item_reference', id }));
    const talk = (items) => [user('My dog is called Rex.'), ...items, user('What is my dog called?')];
    const count = (items) => on.client.responses.inputTokens.count({ input: talk(items) });
    assert.deepEqual(await count(named), await count(first.output));
    assert.match((await create(talk(named))).output_text, /Rex/);
    await assert.rejects(create([{ type: 'item_reference', id: 'msg_0' }]), OpenAI.NotFoundError);
  });

  test('store false leaves nothing behind', async () => {
    const { id } = await create('Hello!', { store: false });
    await assert.rejects(on.client.responses.retrieve(id), OpenAI.NotFoundError);
  });

  test('a mistake is a 400 that names its field', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'auto' };
    for (const [input, extra, param] of [
      [[user([{ type: 'input_text', text: 'Look!' }, image])], {}, 'input[0].content[1].type'],
      ['Hello!', { temperature: 'hot' }, 'temperature'],
      [[], {}, 'input'],
      ['Hello!', { tool_choice: { type: 'function', name: 'nobody' } }, 'tool_choice'],
    ]) {
      for (const stream of [false, true]) {
        await assert.rejects(create(input, { ...extra, stream }), (error) => {
          assert.ok(error instanceof OpenAI.BadRequestError, `${error}`);
          assert.equal(error.param, param);
          return true;
        });
      }
    }
  });

  test('a conversation beyond the context: 400, or a stream that fails', async () => {
    const words = 'word '.repeat(1000);
    await assert.rejects(create(words), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.code, 'context_length_exceeded');
      return true;
    });
    const events = await eventsOf(await create(words, { stream: true }));
    assert.deepEqual(typesOf(events), ['created', 'in_progress', 'failed']);
    assert.equal(lastOf(events).error.code, 'context_length_exceeded');
    assert.equal(lastOf(events).status, 'failed');
  });

  test('without /v1 too, and Codex finds its list of models', async () => {
    const { status, json } = await on.server.post('/responses', { ...brief, input: 'Hello!' });
    assert.equal(status, 200);
    assert.equal(json.status, 'completed');
    const { models } = await on.server.getJson('/v1/models?client_version=0.169.0');
    assert.equal(models[0].slug, 'holdfast-pocket');
    assert.equal(models[0].context_window, 512);
  });
});
