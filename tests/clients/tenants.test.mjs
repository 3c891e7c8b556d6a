// Several keys on one server: states in memory and on disk, roles, limits, and the file of keys.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

import { eventually, temporaryFolder, withServer } from './server.mjs';

const story = 'Once upon a time there was a fox who counted every tree of the forest. '.repeat(12);

const cached = async (server, apiKey, text) => {
  const answer = await server.client({ apiKey }).chat.completions.create({
    messages: [{ role: 'user', content: text }],
    max_tokens: 2,
  });
  return answer.usage.prompt_tokens_details.cached_tokens;
};

const as = (key, method = 'GET') => ({ method, headers: { Authorization: `Bearer ${key}` } });

test('a key drops its own states, in memory and on disk, and leaves the others\' alone', async () => {
  const folder = temporaryFolder();
  const keys = join(folder, 'keys');
  writeFileSync(keys, 'alice: a\nbob: b\nops: o: admin\n');
  const flags = ['--api-key-file', keys, '--cache-dir', join(folder, 'states'), '--cache-rest', '0'];
  await withServer(flags, async (server) => {
    await cached(server, 'a', `${story} Alice.`);
    await cached(server, 'b', `${story} Bob.`);
  });
  await withServer(flags, async (server) => {
    const stored = async () => (await (await server.fetch('/cache', as('o'))).json()).disk.blobs;
    const before = await stored();
    assert.ok(before >= 2, `${before} blobs`);
    const cleared = await (await server.fetch('/cache', as('b', 'DELETE'))).json();
    assert.equal(cleared.left_on_disk, null);
    const left = await stored();
    assert.ok(left > 0 && left < before, `${left} of ${before} blobs are left`);
    await server.logged(/audit action="clear cache" key=bob path=\/cache client=\S+ status=200/);
  });
  await withServer(flags, async (server) => {
    assert.ok((await cached(server, 'a', `${story} Alice.`)) > 0, "alice's states are on disk");
    assert.equal(await cached(server, 'b', `${story} Bob.`), 0, "bob's are not");
    assert.equal((await server.fetch('/metrics', as('b'))).status, 403);
    assert.equal((await server.fetch('/metrics', as('o'))).status, 200);
    assert.equal((await (await server.fetch('/cache', as('b'))).json()).totals, null);
  });
});

test('the file of keys is read again when it changes, and a bad one is not taken', async () => {
  const file = join(temporaryFolder(), 'keys');
  const put = (text) => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  put('first: sk-first\nsecond: sk-second\n');
  await withServer(['--api-key-file', file], async (server) => {
    const status = async (key) => (await server.fetch('/v1/models', as(key))).status;
    assert.equal(await status('sk-first'), 200);
    put('second: sk-second\nthird: sk-third: admin\n');
    await eventually(async () => (await status('sk-third')) === 200, 'the new key');
    assert.equal(await status('sk-first'), 401);
    assert.equal(await status('sk-second'), 200);
    put('second: sk-second: boss\n');
    await server.logged(/the file of API keys was not taken: line 1: 'boss' is neither a role/);
    assert.equal(await status('sk-third'), 200);
    await server.logged(/audit action="reload keys" keys=2 came=third went=first/);
    assert.doesNotMatch(server.log, /sk-/, 'no key is in the log');
  });
});

test('a limit of a key is a RateLimitError for its client and nobody else', async () => {
  const file = join(temporaryFolder(), 'keys');
  writeFileSync(file, 'slow: s: rate=1\nother: o\n');
  await withServer(['--api-key-file', file], async (server) => {
    await cached(server, 's', 'Hello!');
    await assert.rejects(cached(server, 's', 'Hello!'), (error) => {
      assert.ok(error instanceof OpenAI.RateLimitError, String(error));
      assert.match(error.message, /1 requests a minute/);
      assert.ok(Number(error.headers.get('retry-after')) > 0);
      return true;
    });
    const claude = new Anthropic({ baseURL: server.url, apiKey: 's', maxRetries: 0 });
    await assert.rejects(
      claude.messages.create({ model: 'm', max_tokens: 2, messages: [{ role: 'user', content: 'Hi' }] }),
      Anthropic.RateLimitError,
    );
    await cached(server, 'o', 'Hello!');
  });
});
