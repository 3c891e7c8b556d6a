// Anthropic's API through Anthropic's own SDK: messages, streams, tools, errors, and
// what a second turn reuses.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';

import { useServer, withServer } from './server.mjs';
import { user } from './talk.mjs';

// Does not retry, so that a test sees each answer of the server.
const clientOf = (server, options = {}) =>
  new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0, ...options });

const brief = { model: 'claude-anything', max_tokens: 400, temperature: 0 };
const cat = [user('My cat is called Minka. What is my cat called?')];

const weatherTool = {
  name: 'get_weather',
  description: 'Get the current weather for a city',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string', description: 'The city name' } },
    required: ['city'],
  },
};
const timerTool = {
  name: 'set_timer',
  description: 'Set a timer',
  input_schema: {
    type: 'object',
    properties: { minutes: { type: 'integer', description: 'Number of minutes' } },
    required: ['minutes'],
  },
};
const tools = [weatherTool, timerTool];
const rain = JSON.stringify({ city: 'Oslo', temperature: 7, condition: 'rainy' });

const kinds = (message) => message.content.map((block) => block.type);
const textOf = (message) =>
  message.content.filter((block) => block.type === 'text').map((block) => block.text).join('');
const callsOf = (message) => message.content.filter((block) => block.type === 'tool_use');
const promptOf = ({ usage }) =>
  usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;

// But for what is new in each answer.
const comparable = ({ content, stop_reason, stop_sequence }) => ({
  stop_reason,
  stop_sequence,
  content: content.map(({ id, signature, ...block }) => block),
});

describe('messages', () => {
  const on = useServer();
  const create = (extra) => clientOf(on.server).messages.create({ ...brief, messages: cat, ...extra });
  const stream = (extra) => clientOf(on.server).messages.stream({ ...brief, messages: cat, ...extra });
  const oslo = [user('What is the weather in Oslo?')];

  test('a whole answer', async () => {
    const message = await create({});
    assert.equal(message.type, 'message');
    assert.equal(message.role, 'assistant');
    assert.match(message.id, /^msg_/);
    assert.match(message._request_id, /^req_/);
    assert.equal(message.model, 'claude-anything');
    assert.deepEqual(kinds(message), ['text']);
    assert.match(textOf(message), /Minka/);
    assert.equal(message.stop_reason, 'end_turn');
    assert.equal(message.stop_sequence, null);
    assert.ok(message.usage.output_tokens > 0);
  });

  for (const thinking of ['disabled', 'adaptive']) {
    for (const [what, extra] of [['text', {}], ['tools', { tools, messages: oslo }]]) {
      test(`a stream of ${what} joins to the whole answer, thinking ${thinking}`, async () => {
        const asked = { ...extra, thinking: { type: thinking } };
        const whole = await create(asked);
        const streamed = stream(asked);
        const seen = { text: '', thinking: '', json: '', blocks: 0 };
        streamed.on('text', (delta) => (seen.text += delta));
        streamed.on('thinking', (delta) => (seen.thinking += delta));
        streamed.on('inputJson', (delta) => (seen.json += delta));
        streamed.on('contentBlock', () => (seen.blocks += 1));
        const final = await streamed.finalMessage();
        assert.deepEqual(comparable(final), comparable(whole));
        assert.equal(seen.blocks, final.content.length);
        assert.equal(seen.text, textOf(final));
        assert.equal(promptOf(final), promptOf(whole));
        assert.equal(final.usage.output_tokens, whole.usage.output_tokens);
        const thought = final.content.find((block) => block.type === 'thinking');
        assert.equal(thought !== undefined, thinking === 'adaptive');
        assert.equal(seen.thinking, thought?.thinking ?? '');
        if (thought) assert.ok(thought.signature.length > 0);
        if (what === 'tools') {
          assert.equal(final.stop_reason, 'tool_use');
          assert.deepEqual(callsOf(final)[0].input, { city: 'Oslo' });
          assert.deepEqual(JSON.parse(seen.json), { city: 'Oslo' });
        }
      });
    }
  }

  test('the events of a stream come in their order, with contiguous indices', async () => {
    const events = [];
    const asked = { tools, thinking: { type: 'enabled', budget_tokens: 1024 }, stream: true };
    for await (const event of await create({ ...asked, messages: [user('What is the weather in Paris and Rome?')] })) {
      events.push(event);
    }
    const types = events.map((event) => event.type).filter((type) => type !== 'ping');
    assert.equal(types[0], 'message_start');
    assert.deepEqual(types.slice(-2), ['message_delta', 'message_stop']);
    const starts = events.filter((event) => event.type === 'content_block_start');
    const stops = events.filter((event) => event.type === 'content_block_stop');
    assert.deepEqual(starts.map((event) => event.index), [0, 1, 2]);
    assert.deepEqual(stops.map((event) => event.index), [0, 1, 2]);
    assert.deepEqual(starts.map((event) => event.content_block.type),
      ['thinking', 'tool_use', 'tool_use']);
  });

  test('the result of a tool is used, and only it is read', async () => {
    const client = clientOf(on.server);
    const call = await client.messages.create({ ...brief, messages: oslo, tools });
    const [use] = callsOf(call);
    const messages = [...oslo, { role: 'assistant', content: call.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: rain }] }];
    const answer = await client.messages.create({ ...brief, messages, tools });
    assert.match(textOf(answer), /Oslo is rainy/);
    assert.equal(answer.stop_reason, 'end_turn');
    assert.ok(answer.usage.cache_read_input_tokens > 0.75 * promptOf(answer), JSON.stringify(answer.usage));
  });

  test('tool_choice: none, any, and one by its name', async () => {
    const ask = (tool_choice) => create({ messages: oslo, tools, tool_choice });
    assert.equal(callsOf(await ask({ type: 'none' })).length, 0);
    assert.equal(callsOf(await ask({ type: 'any' }))[0].name, 'get_weather');
    const [named] = callsOf(await ask({ type: 'tool', name: 'set_timer' }));
    assert.equal(named.name, 'set_timer');
    assert.ok(Number.isInteger(named.input.minutes));
  });

  test('stop_sequences and max_tokens say why an answer ended', async () => {
    const stopped = await create({ stop_sequences: ['Minka'] });
    assert.equal(stopped.stop_reason, 'stop_sequence');
    assert.equal(stopped.stop_sequence, 'Minka');
    assert.doesNotMatch(textOf(stopped), /Minka/);
    const cut = await create({ max_tokens: 2 });
    assert.equal(cut.stop_reason, 'max_tokens');
    assert.equal(cut.usage.output_tokens, 2);
  });

  test('a schema is kept to', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'],
      additionalProperties: false };
    const message = await create({ output_config: { format: { type: 'json_schema', schema } } });
    assert.deepEqual(Object.keys(JSON.parse(textOf(message))), ['name']);
  });

  test('a final assistant message is continued', async () => {
    const message = await create({ messages: [...cat, { role: 'assistant', content: 'Your cat is' }] });
    assert.match(textOf(message), /^ ?called Minka/);
  });

  test('tokens are counted as they are read', async () => {
    const asked = { model: 'any', system: 'Be brief.', messages: oslo, tools };
    const counted = await clientOf(on.server).messages.countTokens(asked);
    assert.equal(counted.input_tokens, promptOf(await create({ ...asked, max_tokens: 1 })));
  });

  test('models are listed in the shape that the SDK reads', async () => {
    const models = [];
    for await (const model of clientOf(on.server).models.list()) models.push(model);
    assert.equal(models.length, 1);
    assert.equal(models[0].type, 'model');
    assert.equal((await clientOf(on.server).models.retrieve(models[0].id)).id, models[0].id);
  });

  test('errors are the classes of the SDK', async () => {
    const client = clientOf(on.server);
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } };
    await assert.rejects(create({ messages: [user([image])] }), (error) => {
      assert.ok(error instanceof Anthropic.BadRequestError);
      assert.equal(error.error.type, 'error');
      assert.equal(error.error.error.type, 'invalid_request_error');
      assert.match(error.message, /messages\[0\]\.content\[0\]/);
      assert.match(error.requestID, /^req_/);
      return true;
    });
    await assert.rejects(client.models.retrieve('nobody'), Anthropic.NotFoundError);
    await assert.rejects(client.post('/v1/messages/batches', { body: {} }), (error) => {
      assert.ok(error instanceof Anthropic.NotFoundError);
      assert.match(error.message, /POST \/v1\/messages\/batches/);
      return true;
    });
  });

  test('a stream that is aborted frees its slot', async () => {
    const story = stream({ messages: [user('Tell me a long story.')], max_tokens: 30_000 });
    await new Promise((resolve) => story.once('text', resolve));
    story.abort();
    await assert.rejects(story.finalMessage(), Anthropic.APIUserAbortError);
    await on.server.idle();
  });

  test('probes', async () => {
    for (const path of ['/', '/api/hello']) {
      assert.equal((await on.server.fetch(path, { method: 'HEAD' })).status, 200, path);
    }
  });
});

test('keys come as x-api-key or as a bearer', async () => {
  await withServer(['--api-key', 'secret'], async (server) => {
    const ask = (options) => clientOf(server, options).messages.create({ ...brief, messages: cat });
    await assert.rejects(ask({ apiKey: 'wrong' }), Anthropic.AuthenticationError);
    assert.match(textOf(await ask({ apiKey: 'secret' })), /Minka/);
    assert.match(textOf(await ask({ apiKey: null, authToken: 'secret' })), /Minka/);
  });
});

// As Qwen3.5's template does it.
const strict = "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
  + "{{ raise_exception('System message must be at the beginning.') }}{% endif %}"
  + '<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}'
  + '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

test('instructions between turns reach a model whose template refuses them', async () => {
  await withServer(['--chat-template', strict], async (server) => {
    const messages = [...cat, { role: 'system', content: 'Be brief.' }, user('And once more?')];
    const { json } = await server.post('/apply-template', { messages });
    assert.match(json.prompt,
      /called\?<\|im_end\|>\n<\|im_start\|>user\n<system-reminder>\nBe brief\.\n<\/system-reminder>/);
    const message = await clientOf(server).messages.create({ ...brief, max_tokens: 4, messages });
    assert.equal(promptOf(message), (await server.post('/tokenize', { content: json.prompt })).json.tokens.length);
  });
});

// An agent's session: a long system prompt in blocks, tools, thoughts and results that
// come back as history.
describe('reuse', () => {
  const on = useServer();
  const rules = Array.from({ length: 60 }, (_, i) => `${i}. You are a helpful assistant.`).join('\n');
  const system = (session) => [
    { type: 'text', text: `x-anthropic-billing-header: cc_version=2.1.1; cch=${session};` },
    { type: 'text', text: rules, cache_control: { type: 'ephemeral' } },
  ];

  test('a second turn reads what is new, and a new session all of the prompt', async () => {
    const client = clientOf(on.server);
    const messages = [user('What is the weather in Oslo?')];
    const turn = async (session, said) => {
      const asked = { ...brief, system: system(session), tools, thinking: { type: 'adaptive' } };
      return client.messages.stream({ ...asked, messages: said }).finalMessage();
    };
    const first = await turn('0ab1c', messages);
    const [use] = callsOf(first);
    messages.push({ role: 'assistant', content: first.content }, {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: use.id, content: [{ type: 'text', text: rain }] }],
    });
    const second = await turn('0ab1c', messages);
    const read = second.usage.cache_read_input_tokens;
    assert.ok(read >= 0.9 * promptOf(second), JSON.stringify(second.usage));
    assert.ok(read >= promptOf(first), 'the answer itself is not read again');
    const other = await turn('9ffe2', [user('What is the weather in Rome?')]);
    assert.ok(other.usage.cache_read_input_tokens >= 0.9 * promptOf(other), JSON.stringify(other.usage));
  });

  // Reads a prompt that nobody has read: what is kept of it is "created" for those who mark it.
  test('what was computed and kept is told to those who asked for it', async () => {
    const client = clientOf(on.server);
    const marked = { type: 'text', text: `One. ${rules}`, cache_control: { type: 'ephemeral' } };
    const ask = async (extra) => (await client.messages.create({ ...brief, messages: cat, ...extra })).usage;
    const first = await ask({ system: [marked] });
    assert.ok(first.cache_creation_input_tokens > 10 * first.input_tokens, JSON.stringify(first));
    const again = await ask({ system: [marked] });
    assert.equal(promptOf({ usage: again }), promptOf({ usage: first }));
    assert.ok(again.cache_read_input_tokens >= first.cache_creation_input_tokens, JSON.stringify(again));
    const plain = await ask({ system: `Two. ${rules}` });
    assert.equal(plain.cache_creation_input_tokens, 0);
    assert.ok(plain.input_tokens > 10 * first.input_tokens, JSON.stringify(plain));
  });

  test('instructions between the turns leave the front as it is', async () => {
    const client = clientOf(on.server);
    const ask = (messages) => client.messages.create({ ...brief, system: rules, messages });
    const first = await ask(cat);
    const next = await ask([...cat, { role: 'assistant', content: first.content },
      { role: 'system', content: 'Answer in one word.' }, user('And once more?')]);
    assert.ok(next.usage.cache_read_input_tokens >= 0.9 * promptOf(next), JSON.stringify(next.usage));
  });
});
