// Answers that come back under their ids: in thoughts' signatures, in encrypted_content and in
// ids of calls; after kill -9, on a copy of the folder, and when somebody tampers with them.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

import { withServer } from './server.mjs';
import { copyOf, killRest, newFolder, serverOn } from './states.mjs';
import { user } from './talk.mjs';

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const about = { name: 'get_weather', description: 'Get the current weather for a city' };
const question = 'What is the weather in Oslo?';
const rain = JSON.stringify({ city: 'Oslo', temperature: 7, condition: 'rainy' });

const anthropic = (server, apiKey = 'none') => new Anthropic({ baseURL: server.url, apiKey, maxRetries: 0 });
const openai = (server) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });

const messageFields = {
  model: 'any', max_tokens: 200, temperature: 0, cache_receipt: true,
  thinking: { type: 'enabled', budget_tokens: 1024 },
  tools: [{ ...about, input_schema: parameters }],
};
const blockOf = (message, type) => message.content.find((block) => block.type === type);
const resultFor = (message) =>
  user([{ type: 'tool_result', tool_use_id: blockOf(message, 'tool_use').id, content: rain }]);
const askMessage = (server, messages, key) => anthropic(server, key).messages.create({ ...messageFields, messages });
const streamMessage = (server, messages) =>
  anthropic(server).messages.stream({ ...messageFields, messages }).finalMessage();

// The first turn, and the second with `edit` made to what the model said.
async function firstTurn(server) {
  const message = await streamMessage(server, [user(question)]);
  assert.equal(message.stop_reason, 'tool_use', JSON.stringify(message.content));
  assert.match(blockOf(message, 'thinking').signature, /^hf1_[\w-]{48}$/);
  assert.match(blockOf(message, 'tool_use').id, /^call_hf1_[\w-]{48}_0$/);
  return message;
}
const secondTurn = (message, edit = (content) => content) => {
  const content = edit(structuredClone(message.content));
  return [user(question), { role: 'assistant', content }, resultFor({ content })];
};

const outcomes = async (server) => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const lines = [...text.matchAll(/^holdfast_answer_ids_total\{outcome="(\w+)"\} (\d+)$/gm)];
  return Object.fromEntries(lines.map(([, outcome, count]) => [outcome, Number(count)]));
};
const none = { used: 0, not_shown: 0, edited: 0, stale: 0, foreign: 0, forged: 0, surplus: 0 };

// All that was said is known: only the tool's result and the next header are new.
function assertExact(receipt, first) {
  assert.deepEqual(receipt.answer_ids, { used: 1, ignored: 0 });
  assert.ok(receipt.history_tokens > 0);
  const said = first.usage.input_tokens + first.usage.cache_read_input_tokens +
    first.usage.cache_creation_input_tokens + first.usage.output_tokens;
  assert.ok(receipt.matched_tokens >= said - 1, `${receipt.matched_tokens} of ${said} tokens were known`);
}

describe('ids of answers', () => {
  afterEach(killRest);

  test('are there after kill -9, and on a copy of the folder', async () => {
    const folder = newFolder();
    const first = await serverOn(folder);
    const message = await firstTurn(first);
    assertExact((await askMessage(first, secondTurn(message))).cache_receipt, message);
    first.signal('SIGKILL');
    await first.exited();
    assert.equal(statSync(join(folder, 'answers/key')).mode & 0o777, 0o600);
    for (const place of [folder, copyOf(folder)]) {
      const next = await serverOn(place);
      // White space and the order of members are a client's own.
      const respelled = secondTurn(message, (content) => {
        const thinking = content.find((block) => block.type === 'thinking');
        thinking.thinking = `${thinking.thinking.trim()}\n\n`;
        return content;
      });
      const { cache_receipt: receipt } = await askMessage(next, respelled);
      assert.deepEqual(receipt.answer_ids, { used: 1, ignored: 0 });
      assert.deepEqual(await outcomes(next), { ...none, used: 1 });
      await killRest();
    }
  });

  test('are ignored and counted where something is wrong with them', async () => {
    const folder = newFolder();
    const server = await serverOn(folder);
    const message = await firstTurn(server);
    const ask = async (edit) => {
      const { cache_receipt: receipt } = await askMessage(server, secondTurn(message, edit));
      assert.deepEqual(receipt.answer_ids, { used: 0, ignored: 1 });
    };
    const signed = (signature) => (content) => content.map((block) =>
      (block.type === 'thinking' ? { ...block, signature } : block));
    const { signature } = blockOf(message, 'thinking');
    await ask(signed(signature.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))));
    await ask(signed('EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk'));
    await ask((content) => content.map((block) =>
      (block.type === 'tool_use' ? { ...block, input: { city: 'Paris' } } : block)));
    await ask((content) => content.map((block) =>
      (block.type === 'thinking' ? { ...block, thinking: 'Something else.' } : block)));
    const deleted = await fetch(`${server.url}/cache`, { method: 'DELETE' });
    assert.equal(deleted.status, 200);
    await ask((content) => content);
    assert.deepEqual(await outcomes(server), { ...none, forged: 1, foreign: 1, edited: 2, stale: 1 });
  });

  test('are of one key alone', async () => {
    await withServer(['--api-key', 'one,two', '--cache-dir', 'off'], async (server) => {
      const message = await askMessage(server, [user(question)], 'one');
      const own = await askMessage(server, secondTurn(message), 'one');
      assert.deepEqual(own.cache_receipt.answer_ids, { used: 1, ignored: 0 });
      const other = await askMessage(server, secondTurn(message), 'two');
      assert.deepEqual(other.cache_receipt.answer_ids, { used: 0, ignored: 1 });
    });
  });

  test('stand for thoughts in Responses', async () => {
    await withServer([], async (server) => {
      const create = (input) => openai(server).responses.create({
        model: 'any', temperature: 0, max_output_tokens: 200, store: false, input,
        tools: [{ type: 'function', ...about, parameters }],
        include: ['reasoning.encrypted_content'], cache_receipt: true,
      });
      const first = await create([user(question)]);
      const reasoning = first.output.find(({ type }) => type === 'reasoning');
      const call = first.output.find(({ type }) => type === 'function_call');
      assert.match(reasoning.encrypted_content, /^hf1_/);
      const result = { type: 'function_call_output', call_id: call.call_id, output: rain };
      const { id, encrypted_content } = reasoning;
      const bare = { type: 'reasoning', id, summary: [], encrypted_content };
      const shown = await create([user(question), ...first.output, result]);
      const hidden = await create([user(question), bare, call, result]);
      assert.deepEqual(shown.cache_receipt.answer_ids, { used: 1, ignored: 0 });
      assert.deepEqual(hidden.cache_receipt.answer_ids, { used: 1, ignored: 0 });
      assert.equal(hidden.usage.input_tokens, shown.usage.input_tokens);
      assert.equal(hidden.cache_receipt.matched_tokens, hidden.usage.input_tokens, 'the same prompt');
    });
  });

  test('travel with calls in chats', async () => {
    await withServer([], async (server) => {
      const create = (messages) => openai(server).chat.completions.create({
        model: 'any', temperature: 0, max_tokens: 200, messages,
        tools: [{ type: 'function', function: { ...about, parameters } }], cache_receipt: true,
      });
      const { choices: [{ message }] } = await create([user(question)]);
      const [call] = message.tool_calls;
      // As a client writes it that parses arguments and prints them.
      const respelled = { ...message, tool_calls: [{ ...call, function: {
        ...call.function, arguments: JSON.stringify(JSON.parse(call.function.arguments), null, 2) } }] };
      const tool = { role: 'tool', tool_call_id: call.id, content: rain };
      const next = await create([user(question), respelled, tool]);
      assert.deepEqual(next.cache_receipt.answer_ids, { used: 1, ignored: 0 });
    });
  });
});
