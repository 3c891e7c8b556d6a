// Grammars and schemas that cost too much: each is refused in the client's own words, or served in
// steps that hold nobody else.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { useServer, withServer } from './server.mjs';
import { ask, brief, reasonOf, textOf, user } from './talk.mjs';

const doubling = () => {
  const rules = Array.from({ length: 40 }, (_, i) => `r${i} ::= r${i + 1} r${i + 1}`);
  return ['root ::= r0', ...rules, 'r40 ::= "a"?'].join('\n');
};
const manyOptional = (count) => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`p${i}`, { type: 'string' }])),
});
const withText = (rules) => ({ type: 'object', properties: { a: { type: 'string', ...rules } }, required: ['a'] });
const schema = (one) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: one } },
});
const tool = (parameters) => ({
  tools: [{ type: 'function', function: { name: 'look', parameters } }],
});
// Each letter may belong to any of 100 rounds, and there is no end before many of them.
const wide = { grammar: 'root ::= ([a-z ]*){100} [a-z ]{30000}', max_tokens: 150 };
const long = { grammar: 'root ::= [a-z ]{60000}', max_tokens: 1900 };

describe('grammars and schemas', () => {
  const on = useServer([]);
  const refused = async (extra) => {
    const { status, json } = await on.server.post('/v1/chat/completions',
      { ...brief, messages: [user('Hello')], ...extra });
    assert.equal(status, 400, JSON.stringify(json));
    assert.equal(json.error.type, 'invalid_request_error');
    return json.error;
  };

  test('name the limit, the field and the flag', async () => {
    const many = await refused({ grammar: doubling() });
    assert.equal(many.param, 'grammar');
    assert.match(many.message, /more than 300000 moves .*--grammar-limit 2/);
    const large = await refused(schema(manyOptional(2000)));
    assert.equal(large.param, 'response_format');
    assert.match(large.message, /steps to convert.*--grammar-limit 2/s);
  });

  test('without an answer are refused', async () => {
    assert.match((await refused({ grammar: 'root ::= "a"{10,5}' })).message, /ends before it begins/);
    const length = await refused(schema(withText({ minLength: 10, maxLength: 5 })));
    assert.match(length.message, /minLength 10 is more than maxLength 5 \(at \/a\)/);
    const items = await refused(schema({ type: 'array', items: {}, minItems: 10, maxItems: 5 }));
    assert.match(items.message, /minItems 10 is more than maxItems 5/);
  });

  test('patterns that cannot be converted are named', async () => {
    for (const pattern of ['a', '^\\d+$', '^(?=a)a$', '^(a)\\1$', '^a+?$', '^[\\w]$', '^a$b$']) {
      const error = await refused(schema(withText({ pattern })));
      assert.equal(error.param, 'response_format');
      assert.ok(error.message.includes(`the pattern '${pattern}' cannot be used`), error.message);
    }
  });

  test('of tools are errors of tools', async () => {
    for (const parameters of [withText({ minLength: 3, maxLength: 1 }), { type: 'nonsense' },
      manyOptional(2000)]) {
      const error = await refused(tool(parameters));
      assert.equal(error.param, 'tools');
      assert.match(error.message, /The schema of the tool 'look' cannot be used/);
    }
  });

  test('cannot be combined with ignore_eos', async () => {
    const error = await refused({ grammar: 'root ::= "a"', ignore_eos: true });
    assert.equal(error.param, 'ignore_eos');
  });

  test('are served where they only look dangerous', async () => {
    const nested = await ask(on.server.client(), 'Hi', schema(withText({ pattern: '^((a?){30}){30}$' })));
    assert.match(JSON.parse(textOf(nested)).a, /^a*$/);
    const optional = await ask(on.server.client(), 'Hi', { ...schema(manyOptional(150)), max_tokens: 40 });
    assert.ok(['stop', 'length'].includes(reasonOf(optional)));
  });

  test('a client is answered while another grammar is followed', async () => {
    const stream = await ask(on.server.client(), 'Go on', { ...wide, stream: true });
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    const hello = await ask(on.server.client(), 'Hello', { max_tokens: 3 });
    assert.equal(typeof textOf(hello), 'string');
    while (!(await chunks.next()).done);
  });

  test('a client is answered while hostile requests are refused', async () => {
    const hostile = [{ grammar: doubling() }, schema(manyOptional(2000)), tool(manyOptional(2000))];
    const refusals = Promise.all(hostile.map(refused));
    const hello = await ask(on.server.client(), 'Hello', { max_tokens: 3 });
    assert.equal(typeof textOf(hello), 'string');
    await refusals;
  });

  test('a client that leaves frees its slot', async () => {
    const stream = await ask(on.server.client(), 'Go on', { ...wide, stream: true });
    await stream[Symbol.asyncIterator]().next();
    stream.controller.abort();
    await on.server.idle();
  });
});

test('SIGTERM ends a server that follows a wide grammar', () => withServer([], async (server) => {
  const stream = await ask(server.client(), 'Go on', { ...wide, stream: true });
  await stream[Symbol.asyncIterator]().next();
  await server.stop();
}));

test('--timeout ends a request that follows a long grammar', () =>
  withServer(['--timeout', '1'], async (server) => {
    const { json } = await server.post('/v1/chat/completions',
      { ...brief, messages: [user('Go on')], ...long });
    assert.match(json.error.message, /longer than|timeout|time/i);
    await server.idle();
  }));
