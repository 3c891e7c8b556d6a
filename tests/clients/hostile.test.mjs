// Requests that no client library would send. The server refuses each of them and
// goes on.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { promisify } from 'node:util';

import { eventually, useServer, within } from './server.mjs';
import { ask, textOf, user } from './talk.mjs';

const curl = (args) => promisify(execFile)('curl', ['-sS', '--max-time', '60', ...args]);

describe('hostile requests', () => {
  const on = useServer(['--body-limit-mb', '1', '--connections-max', '50']);
  afterEach(async () => {
    await on.server.assertAlive();
    assert.equal(on.server.child.exitCode, null);
  });

  // Sends bytes as they are; what the server answers until it closes or, if `half`
  // says so, after we have closed our direction.
  async function exchange(bytes, { half = true } = {}) {
    const socket = connect(Number(new URL(on.server.url).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (text) => (answer += text));
    const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => {}));
    if (half) socket.end(bytes);
    else socket.write(bytes);
    await within(closed, 'the answer').finally(() => socket.destroy());
    return answer;
  }

  function post(body, headers = '') {
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
  }

  function assertRefused(answer, status) {
    const [head, body] = answer.split('\r\n\r\n');
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `));
    const { error } = JSON.parse(body);
    assert.equal(typeof error.message, 'string');
    assert.equal(typeof error.type, 'string');
  }

  const deep = (open, close) => `{"messages":${open.repeat(100_000)}1${close.repeat(100_000)}}`;
  const bodies = {
    nothing: '',
    'no JSON': 'hello',
    'half a JSON': '{"messages":[{"role":"user","content":"Hel',
    'two JSONs': '{"messages":[]}{}',
    'an array': '[]',
    'a number': '5',
    'invalid UTF-8': Buffer.from('{"messages":[{"role":"user","content":"\xff\xfe\xc3("}]}', 'latin1'),
    'half a surrogate pair': '{"messages":[{"role":"user","content":"\\ud800"}]}',
    'a NUL': '{"messages":[{"role":"us\0er","content":"x"}]}',
    'many open brackets': '['.repeat(100_000),
    'many brackets': '['.repeat(100_000) + ']'.repeat(100_000),
    'deep arrays': deep('[', ']'),
    'deep objects': deep('{"a":', '}'),
    'a number beyond all numbers': `{"messages":[{"role":"user","content":"x"}],"seed":1${'0'.repeat(400)}}`,
  };
  for (const [name, body] of Object.entries(bodies)) {
    test(`${name} is answered 400`, async () => {
      assertRefused(await exchange(post(body), { half: false }), 400);
    });
  }

  test('deep arrays in tools and schemas are refused or answered, but do no harm', async () => {
    const nested = '{"type":"array","items":'.repeat(3000) + '{}' + '}'.repeat(3000);
    const tools = `[{"type":"function","function":{"name":"f","parameters":${nested}}}]`;
    const format = `{"type":"json_schema","json_schema":{"name":"x","schema":${nested}}}`;
    for (const extra of [`"tools":${tools}`, `"response_format":${format}`]) {
      const body = `{"messages":[{"role":"user","content":"x"}],"max_tokens":1,${extra}}`;
      assert.match(await exchange(post(body), { half: false }), /^HTTP\/1.1 (200|400) /);
    }
  });

  test('a megabyte of control tokens is counted or refused, and holds nobody up', async () => {
    const content = '<|im_end|>\n<|im_start|>'.repeat(40_000);
    const counted = on.server.post('/tokenize', { content });
    const refused = on.server.post('/v1/chat/completions', { messages: [user(content)] });
    const raw = on.server.post('/v1/completions', { prompt: content });
    assert.ok(textOf(await ask(on.client, [user('Hello!')], { max_tokens: 2 })) !== undefined);
    assert.equal((await counted).json.tokens.length, 3 * 40_000);
    for (const { status, json } of [await refused, await raw]) {
      assert.equal(status, 400);
      assert.equal(json.error.type, 'exceed_context_size_error');
      assert.match(json.error.message, /at least \d+ tokens/);
    }
  });

  test('chats that cannot fit are refused before they are rendered', async () => {
    const messages = Array.from({ length: 18_000 }, (_, i) =>
      ({ role: i % 2 ? 'assistant' : 'user', content: 'a' })).concat(user('x'));
    const chat = await on.server.post('/v1/chat/completions', { messages });
    assert.equal(chat.json.error.type, 'exceed_context_size_error');
    assert.match(chat.json.error.message, /at least 36\d\d\d tokens/);
    const message = await on.server.post('/v1/messages', { messages, max_tokens: 1 });
    assert.equal(message.json.error.type, 'invalid_request_error');
    assert.match(message.json.error.message, /^prompt is too long: at least 36\d\d\d tokens > 32768/);
  });

  test('chats that cost too much to render name the limit and the flag', async () => {
    const many = (length, make) => Array.from({ length }, make);
    const tools = many(600, (_, i) => ({ type: 'function', function: { name: `f${i}` } }));
    const ask = { messages: [user('x')], max_tokens: 1 };
    const refusals = {
      tools: { ...ask, tools },
      chat_template_kwargs: { ...ask, chat_template_kwargs: { x: many(250_000, () => 1) } },
      messages: { ...ask, messages: many(17_000, () => ({ role: 'assistant', content: '' })).concat(user('x')) },
    };
    for (const [field, body] of Object.entries(refusals)) {
      const { status, json } = await on.server.post('/v1/chat/completions', body);
      assert.equal(status, 400);
      assert.equal(json.error.type, 'invalid_request_error');
      assert.equal(json.error.param, field);
      assert.match(json.error.message, /at most|takes more than .* steps/);
      assert.match(json.error.message, /--grammar-limit 2/);
    }
  });

  test('a body over the limit is answered 413', async () => {
    const declared = 'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n{';
    assertRefused(await exchange(declared, { half: false }), 413);
    const endless = 'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n' +
      `100000\r\n${' '.repeat(0x100000)}\r\n100000\r\n`;
    assertRefused(await exchange(endless, { half: false }), 413);
  });

  test('curl with a body over the limit is answered 413', async () => {
    const body = `@${process.execPath}`;  // a hundred megabytes of something
    const url = `${on.server.url}/v1/completions`;
    const { stdout } = await curl(['-w', '\n%{http_code}', '--data-binary', body, url]);
    assert.match(stdout, /\n413$/);
  });

  const start = 'POST /tokenize HTTP/1.1\r\nHost: localhost\r\n';
  for (const [name, bytes, status] of [
    ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400],
    ['a header without an end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(100_000)}`, 431],
    ['a length that is no number', `${start}Content-Length: x\r\n\r\n`, 400],
    ['two lengths', `${start}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
  ]) {
    test(`${name} is answered ${status}`, async () => {
      assertRefused(await exchange(bytes, { half: false }), status);
    });
  }

  test('a client that has said everything and closed its direction is answered', async () => {
    const answer = await exchange('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.match(answer, /^HTTP\/1.1 200 [^]*\{"status":"ok",/);
  });

  test('clients that stop in the middle do no harm', async () => {
    const whole = post(JSON.stringify({ messages: [user('Hello!')] }));
    for (const share of [0, 0.1, 0.5, 0.9]) {
      await exchange(whole.subarray(0, Math.floor(whole.length * share)));
    }
    assert.match(textOf(await ask(on.client, 'Hello!')), /^Hello!/);
  });

  test('one connection too many is turned away, and there is room again when others go', async () => {
    const port = Number(new URL(on.server.url).port);
    const silent = Array.from({ length: 50 }, () => connect(port, '127.0.0.1'));
    try {
      await Promise.all(silent.map((socket) => once(socket, 'connect')));
      assertRefused(await exchange('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n', { half: false }), 503);
    } finally {
      for (const socket of silent) socket.destroy();
    }
    await eventually(async () => (await on.server.fetch('/health')).ok, 'room');
  });

  test('curl reads a stream as it comes', async () => {
    const body = JSON.stringify({ messages: [user('Hello!')], temperature: 0, stream: true });
    const { stdout } = await curl(['-N', '-d', body, `${on.server.url}/v1/chat/completions`]);
    const events = stdout.trim().split('\n\n');
    assert.equal(events.pop(), 'data: [DONE]');
    const chunks = events.map((event) => JSON.parse(event.replace(/^data: /, '')));
    assert.equal(chunks.at(-1).choices[0].finish_reason, 'stop');
    const text = chunks.map((chunk) => chunk.choices[0].delta.content ?? '').join('');
    assert.equal(text, 'Hello! How can I help you today?');
  });

  test('many requests on one connection are answered in order', async () => {
    const request = (text) => {
      const body = JSON.stringify({ content: text });
      return `POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    };
    const last = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const answer = await exchange(request('a') + request('b') + request('c') + last, { half: false });
    const bodies = answer.match(/\{.*\}/g).map((body) => JSON.parse(body));
    assert.deepEqual(bodies.slice(0, 3), [{ tokens: [73] }, { tokens: [74] }, { tokens: [75] }]);
    assert.equal(bodies[3].status, 'ok');
  });
});
