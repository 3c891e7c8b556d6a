// Streams in which nothing becomes visible for a while, and a model that does not know when to stop.
// It follows a script (../agents/script.h), behind the real server.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { startServer, temporaryFolder } from './server.mjs';
import { scriptedServer } from '../agents/workplace.mjs';

const blank_tokens_max = 512;
const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const weather = { name: 'get_weather', description: 'Weather', parameters };
const call = { name: 'get_weather', arguments: { city: 'Oslo' } };

// How each protocol asks, and what it says at the end of a call.
const protocols = {
  chat: {
    path: '/v1/chat/completions',
    ask: (content) => ({
      messages: [{ role: 'user', content }],
      tools: [{ type: 'function', function: weather }],
    }),
    stop: (stop) => ({ stop }),
    sign: ': keep-alive',
    tokens: ({ usage }) => usage.completion_tokens,
    ended: ({ choices: [choice] }) => choice.finish_reason === 'tool_calls',
    streamEnded: (text) => text.includes('"finish_reason":"tool_calls"') && text.includes('[DONE]'),
  },
  messages: {
    path: '/v1/messages',
    ask: (content) => ({
      max_tokens: 3000,
      messages: [{ role: 'user', content }],
      tools: [{ name: weather.name, description: 'Weather', input_schema: parameters }],
    }),
    stop: (stop) => ({ stop_sequences: [stop] }),
    sign: 'event: ping',
    tokens: ({ usage }) => usage.output_tokens,
    ended: ({ stop_reason, content }) => stop_reason === 'tool_use' && content.at(-1).type === 'tool_use',
    streamEnded: (text) => text.includes('"stop_reason":"tool_use"') && text.includes('message_stop'),
  },
  responses: {
    path: '/v1/responses',
    ask: (input) => ({ input, store: false, tools: [{ type: 'function', ...weather }] }),
    sign: 'event: response.in_progress',
    first: 1,
    tokens: ({ usage }) => usage.output_tokens,
    ended: ({ status, output }) => status === 'completed' && output.at(-1).type === 'function_call',
    streamEnded: (text) => text.includes('event: response.completed'),
  },
};

async function startScripted(script) {
  const path = join(temporaryFolder(), 'script.json');
  writeFileSync(path, JSON.stringify(script));
  return startServer(['--script', path, '-c', '8k', '-np', '5'], { program: scriptedServer });
}

async function post(server, path, body) {
  const response = await fetch(server.url + path, { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text;
}

describe('a model that goes on with white space after a call', () => {
  let server;
  const script = {
    rules: [
      { when: 'nothing', say: 'Well.', blank_tokens: 700 },
      { when: 'weather', calls: [call], blank_tokens: 2000 },
    ],
  };
  before(async () => (server = await startScripted(script)));
  after(() => server?.stop());

  for (const [name, protocol] of Object.entries(protocols)) {
    test(`is ended, ${name}`, async () => {
      const whole = JSON.parse(await post(server, protocol.path, protocol.ask('The weather?')));
      assert.ok(protocol.ended(whole), JSON.stringify(whole));
      const tokens = protocol.tokens(whole);
      assert.ok(tokens > blank_tokens_max && tokens < blank_tokens_max + 60, `${tokens} tokens`);
      const body = { ...protocol.ask('The weather?'), stream: true };
      const stream = await post(server, protocol.path, body);
      assert.ok(protocol.streamEnded(stream), stream);
    });
  }

  test('without a call it is left alone', async () => {
    const { path, ask, tokens } = protocols.chat;
    const whole = JSON.parse(await post(server, path, ask('Say nothing.')));
    assert.ok(tokens(whole) > 700, JSON.stringify(whole));
    assert.equal(whole.choices[0].finish_reason, 'stop');
  });
});

// Each step of the model takes 20 ms, so there are ten seconds in which nothing can be seen.
describe('a stream in which nothing becomes visible', { concurrency: true }, () => {
  let server;
  const script = {
    write_us_per_step: 20_000,
    rules: [
      { when: 'held back', say: 'So it is.', blank_tokens: 500 },
      { when: 'weather', calls: [call], blank_tokens: 2000 },
    ],
  };
  before(async () => (server = await startScripted(script)));
  after(() => server?.stop());

  // A stream of Responses has one at its beginning.
  const signs = (stream, { sign, first = 0 }) => stream.split('\n').filter((line) => line === sign).length - first;

  for (const [name, protocol] of Object.entries(protocols)) {
    test(`white space after a call, ${name}`, async () => {
      const stream = await post(server, protocol.path, { ...protocol.ask('The weather?'), stream: true });
      assert.ok(signs(stream, protocol) > 0, stream);
      assert.ok(protocol.streamEnded(stream), stream);
    });
    if (!protocol.stop) continue;
    test(`a stop string that never comes, ${name}`, async () => {
      const body = { ...protocol.ask('Is it held back?'), ...protocol.stop(`${'\n'.repeat(600)}x`), stream: true };
      const stream = await post(server, protocol.path, body);
      assert.ok(signs(stream, protocol) > 0, stream);
    });
  }
});
