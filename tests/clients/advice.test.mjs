// What receipts say of requests as agents make them, in all three protocols: places under the
// client's own names, what was left out or bounded, and advice that somebody can follow.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { run, useServer } from './server.mjs';

const rules = Array.from({ length: 40 }, (_, i) => `${i}. You are a helpful assistant.`).join('\n');
const schema = (address, name = 'look') => ({
  name, description: 'Looks at a file.', parameters: { $schema: address, type: 'object', properties: {} },
});
const draft07 = 'http://json-schema.org/draft-07/schema#';
const draft2020 = 'https://json-schema.org/draft/2020-12/schema';

describe('receipts of agents', () => {
  const on = useServer(['--temp', '0', '-c', '4k']);

  // The receipt of one request, which nobody else's is compared with: each test has its salt.
  const ask = async (path, body, salt) => {
    const { status, json } = await on.server.post(path, { cache_receipt: true, cache_salt: salt, ...body });
    assert.equal(status, 200, JSON.stringify(json));
    return json.cache_receipt;
  };
  const chat = (body, salt) => ask('/v1/chat/completions', { max_tokens: 4, ...body }, salt);
  const message = (body, salt) => ask('/v1/messages', { max_tokens: 4, ...body }, salt);
  const response = (body, salt) => ask('/v1/responses', { max_output_tokens: 4, store: false, ...body }, salt);

  test('reuse is the share of the prompt, as in the text', async () => {
    const body = { messages: [{ role: 'system', content: rules }, { role: 'user', content: 'Hello!' }] };
    await chat(body, 'share');
    const receipt = await chat(body, 'share');
    assert.ok(receipt.restored_tokens > 0);
    assert.ok(Math.abs(receipt.reuse - receipt.restored_tokens / receipt.prompt_tokens) < 1e-9);
    const text = await run(['explain', receipt.response, '--url', on.server.url, '--cache-salt', 'share']);
    assert.match(text.stdout, new RegExp(`reused \\(${(100 * receipt.reuse).toFixed(1)}%\\)`));
  });

  test('a prompt that nobody has seen is not explained by chunks', async () => {
    await chat({ messages: [{ role: 'system', content: rules }, { role: 'user', content: 'Hello!' }] }, 'cold');
    const other = [{ role: 'system', content: `Translate. ${rules}` }, { role: 'user', content: 'Hello!' }];
    const receipt = await chat({ messages: other }, 'cold');
    assert.equal(receipt.restored_tokens, 0);
    assert.doesNotMatch(receipt.missing?.sentence ?? '', /chunk/);
    assert.equal(receipt.advice, null);
  });

  test('the address of a schema is no clock, and tools are called tools', async () => {
    const body = (address) => ({
      messages: [{ role: 'system', content: rules }, { role: 'user', content: 'Hello!' }],
      tools: [{ type: 'function', function: schema(address) }],
    });
    await chat(body(draft07), 'schema');
    const { difference, advice } = await chat(body(draft2020), 'schema');
    assert.deepEqual([difference.in, difference.message], ['tools', null]);
    assert.match(advice, /^tools is not the list of before/);
  });

  test('a chat: messages[N] is the index in its own list', async () => {
    const body = (result) => ({
      messages: [
        { role: 'user', content: 'Look at it.' },
        { role: 'assistant', content: '', tool_calls: ['a', 'b'].map((id) => (
          { id, type: 'function', function: { name: 'look', arguments: '{}' } })) },
        { role: 'tool', tool_call_id: 'a', content: rules },
        { role: 'tool', tool_call_id: 'b', content: `${result} ${rules}` },
        { role: 'user', content: 'Go on.' }],
      tools: [{ type: 'function', function: schema(draft07) }],
    });
    await chat(body('A long list'), 'chat');
    const { difference, advice } = await chat(body('Removed'), 'chat');
    assert.deepEqual([difference.in, difference.message, difference.role], ['messages[3]', 3, 'tool']);
    assert.match(advice, /^messages\[3\] \(tool\) was shortened or changed/);
  });

  test('Messages: system is a field, and the attribution line costs nothing', async () => {
    const body = (session, clock) => ({
      system: [
        { type: 'text', text: `x-anthropic-billing-header: cc_version=2.1.1; cch=${session};` },
        { type: 'text', text: `${rules} It is ${clock}. ${rules}` }],
      messages: [{ role: 'user', content: 'Hello!' }],
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    });
    const first = await message(body('0ab1c', '14:03:12'), 'messages');
    assert.equal(first.attribution_saved_tokens, 0);
    const again = await message(body('ff00a', '14:03:12'), 'messages');
    assert.ok(again.attribution_saved_tokens > 0.9 * again.restored_tokens);
    assert.ok(again.notes.some((note) => /attribution line was left out .* up to \d+ of the reused/.test(note)));
    assert.ok(again.notes.some((note) => note.endsWith('run them: web_search_20250305.')), again.notes.join());
    const { difference, advice } = await message(body('12345', '15:44:51'), 'messages');
    assert.deepEqual([difference.in, difference.message, difference.role], ['system', null, 'system']);
    assert.match(advice, /^system holds something that changes/);
  });

  test('Responses: instructions and items have their names, skipped tools a note', async () => {
    const body = (what) => ({
      instructions: rules,
      input: [
        { role: 'developer', content: 'No network.' },
        { role: 'user', content: 'Look at it.' },
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'web_search_call', id: 'w' },
        { type: 'function_call_output', call_id: 'a', output: `${what} ${rules}` },
        { role: 'user', content: 'Go on.' }],
      tools: [{ type: 'function', ...schema(draft07) }, { type: 'local_shell' }, { type: 'web_search' },
        { type: 'namespace', name: 'mcp__files', tools: [] }],
    });
    const first = await response(body('A long list'), 'responses');
    assert.ok(first.notes.some((note) =>
      note.endsWith('run them: local_shell, namespace mcp__files, web_search, web_search_call.')), first.notes.join());
    const { difference } = await response(body('Removed'), 'responses');
    assert.deepEqual([difference.in, difference.message, difference.role], ['input[5]', 5, 'tool']);
  });

  test('reasoning that was sent is not asked for again', async () => {
    const talk = (history) => ({
      messages: [{ role: 'user', content: 'What is 1 + 1?' }, history, { role: 'user', content: rules.repeat(2) }],
    });
    const body = { messages: [{ role: 'user', content: 'What is 1 + 1?' }], max_tokens: 64 };
    const { json } = await on.server.post('/v1/chat/completions', { ...body, cache_salt: 'thoughts' });
    const { role, content, reasoning_content } = json.choices[0].message;
    const receipt = await chat(talk({ role, content: content || 'It is 2.', reasoning_content }), 'thoughts');
    assert.doesNotMatch(receipt.advice ?? '', /send the reasoning back/);
  });

  for (const [path, ask, limit] of [
    ['/v1/chat/completions', (body, salt) => chat(body, salt), 'max_tokens'],
    ['/v1/messages', (body, salt) => message(body, salt), 'max_tokens'],
    ['/v1/responses', ({ messages, ...body }, salt) => response({ input: messages, ...body }, salt), 'max_output_tokens'],
  ]) {
    test(`${path}: a limit that the context sets is said`, async () => {
      const messages = [{ role: 'user', content: 'Hello!' }];
      const small = await ask({ messages, [limit]: 4 }, 'limits');
      assert.deepEqual([small.answer_limit, small.notes], [4, []]);
      const large = await ask({ messages, [limit]: 100_000, stop: ['e'], stop_sequences: ['e'] }, 'limits');
      assert.equal(large.answer_limit, 4096 - large.prompt_tokens);
      assert.deepEqual(large.notes,
        [`The answer may have up to ${large.answer_limit} tokens, which is what the context leaves; 100000 were asked for.`]);
    });
  }
});
