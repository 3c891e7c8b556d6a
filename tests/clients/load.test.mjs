// Many clients at once, clients that leave, limits on time and queue, and the end.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import OpenAI from 'openai';

import { keepThoughts, useServer, withServer } from './server.mjs';
import { ask, collect, converse, endless, reasonOf, startEndless, textOf, user } from './talk.mjs';

// What differs when the numbers differ, not only when a word does.
const fingerprint = (completion) =>
  completion.choices[0].logprobs.content.map(({ id, logprob }) => [id, logprob]);

const settings = { logprobs: true, temperature: 0.7, seed: 5 };

describe('four conversations at once', () => {
  const on = useServer(['--deterministic', '--parallel', '4']);
  const conversations = [
    ['My name is Alice.', 'Tell me a story about a fox.', 'What is my name?'],
    ['My dog is called Rex.', 'Count from 1 to 30.', 'What is my dog called?'],
    ['The secret code of Lisbon is 48213.', 'Hello!', 'What is the secret code of Lisbon?'],
    ['I live in Oslo.', 'List the months of the year.', 'Where do I live?'],
  ];

  test('give the same answers, to the last bit, as one after the other', async () => {
    const talk = async (lines) => (await converse(on.client, lines, settings)).map(fingerprint);
    const alone = [];
    for (const lines of conversations) alone.push(await talk(lines));
    for (let round = 0; round < 2; ++round) {
      assert.deepEqual(await Promise.all(conversations.map(talk)), alone);
    }
  });

  test('run at the same time', async (t) => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => startEndless(t, on.client)));
    await on.server.writing(4);
    for (const { stop } of answers) stop();
    await on.server.idle();
  });
});

// Without --deterministic this fails: a turn then goes on from decoded states,
// which differ from those of a fresh prompt in their last bits.
describe('a conversation on a deterministic server', () => {
  const on = useServer(['--deterministic', '--chat-template-file', keepThoughts]);

  test('is the same, to the last bit, whatever the server remembers', async () => {
    const lines = ['My name is Alice.', 'Tell me a story about a fox.', 'Tell me a story about a lamp.'];
    const warm = await converse(on.client, lines, settings);
    const cold = await converse(on.client, lines, { ...settings, cache_prompt: false });
    assert.deepEqual(warm.map(fingerprint), cold.map(fingerprint));
  });
});

// Resolves when `count` of the promises have.
function settled(promises, count) {
  return new Promise((resolve) => {
    let left = count;
    for (const promise of promises) promise.then(() => --left === 0 && resolve());
  });
}

describe('more requests than slots', () => {
  const on = useServer(['--parallel', '1', '--queue-max', '2']);

  test('wait their turn, and beyond the queue are refused with Retry-After', async (t) => {
    const { stop } = await startEndless(t, on.client);
    const waiting = Array.from({ length: 8 }, () => ask(on.client, 'Hello!').then(textOf, (error) => error));
    await settled(waiting, 6);
    stop();
    const results = await Promise.all(waiting);
    const refused = results.filter((one) => one instanceof Error);
    assert.equal(refused.length, 6, 'two of eight could wait');
    for (const error of refused) {
      assert.equal(error.status, 503);
      assert.equal(error.code, 'unavailable');
      assert.match(error.headers.get('Retry-After'), /^\d+$/);
    }
    for (const text of results.filter((one) => typeof one === 'string')) assert.match(text, /^Hello!/);
  });

  test('a client that waits may leave', async (t) => {
    const { stop } = await startEndless(t, on.client);
    const impatient = new AbortController();
    const waiting = on.client.chat.completions.create(
      { model: 'pocket', messages: [user('Hello!')] }, { signal: impatient.signal });
    const left = assert.rejects(waiting, OpenAI.APIUserAbortError);
    impatient.abort();
    await left;
    stop();
    await on.server.idle();
    assert.match(textOf(await ask(on.client, 'Hello!')), /^Hello!/);
  });

  test('the SDK tries again, and gets its answer in the end', async (t) => {
    const { stop } = await startEndless(t, on.client);
    const others = Array.from({ length: 3 }, () => ask(on.client, 'Hello!').then(textOf, (error) => error));
    await settled(others, 1);  // one was refused, so the queue is full
    const statuses = [];
    const fetchAndNote = async (...request) => {
      const response = await fetch(...request);
      statuses.push(response.status);
      if (statuses.length === 1) stop();
      return response;
    };
    const patient = on.server.client({ maxRetries: 3, fetch: fetchAndNote });
    assert.match(textOf(await ask(patient, 'Hello!')), /^Hello!/);
    assert.deepEqual(statuses, [503, 200]);
    await Promise.all(others);
  });
});

describe('a client that leaves', () => {
  const on = useServer(['--parallel', '2']);

  test('frees its slot, in the middle of a stream', async (t) => {
    const { stop } = await startEndless(t, on.client);
    await on.server.writing(1);
    stop();
    await on.server.idle();
    await on.server.logged(/status=200 .*the client left/);
    assert.match(textOf(await ask(on.client, 'Hello!')), /^Hello!/);
  });

  test('frees its slot, before the whole answer', async () => {
    const leaving = new AbortController();
    const waiting = on.client.chat.completions.create(
      { model: 'pocket', messages: [user('Hello!')], ...endless }, { signal: leaving.signal });
    const left = assert.rejects(waiting, OpenAI.APIUserAbortError);
    await on.server.writing(1);
    leaving.abort();
    await left;
    await on.server.idle();
  });
});

describe('a limit on time', () => {
  const on = useServer(['--timeout', '2']);

  test('ends a whole answer with an error', async () => {
    await assert.rejects(ask(on.client, 'Hello!', endless), { status: 504, code: 'timeout' });
    await on.server.idle();
    assert.match(textOf(await ask(on.client, 'Hello!')), /^Hello!/);
  });

  test('ends a stream with an error', async (t) => {
    const { rest } = await startEndless(t, on.client);
    await assert.rejects(collect(rest), (error) => {
      assert.ok(error instanceof OpenAI.APIError, String(error));
      assert.equal(error.code, 'timeout');
      return true;
    });
    await on.server.idle();
  });

  test('may be shorter for one request', async () => {
    await assert.rejects(ask(on.client, 'Hello!', { ...endless, timeout_ms: 50 }), { status: 504 });
  });
});

describe('the end of a server', () => {
  const flags = ['--parallel', '1'];

  test('SIGTERM lets a stream finish', async (t) => {
    await withServer(flags, async (server) => {
      const { rest } = await startEndless(t, server.client(), { max_tokens: 600 });
      server.signal('SIGTERM');
      const { choices, usage } = await collect(rest);
      assert.equal(choices[0].finish, 'length');
      assert.equal(usage, null);
      assert.deepEqual(await server.exited(), { code: 0, signal: null });
    });
  });

  test('SIGTERM lets a whole answer finish, and takes no new ones', async () => {
    await withServer(flags, async (server) => {
      const answer = ask(server.client(), 'Hello!', { ignore_eos: true, max_tokens: 1500 });
      await server.writing(1);
      server.signal('SIGTERM');
      await server.logged(/finishing/);
      await assert.rejects(ask(server.client(), 'Hello!'), OpenAI.APIError);
      assert.equal(reasonOf(await answer), 'length');
      assert.deepEqual(await server.exited(), { code: 0, signal: null });
    });
  });

  test('SIGTERM twice cuts the stream short', async (t) => {
    await withServer(flags, async (server) => {
      const { rest } = await startEndless(t, server.client());
      server.signal('SIGTERM');
      await server.logged(/finishing/);
      server.signal('SIGTERM');
      await assert.rejects(collect(rest), (error) => /shutting down|terminated/.test(String(error)));
      assert.deepEqual(await server.exited(), { code: 0, signal: null });
    });
  });

  test('SIGINT ends an idle server', async () => {
    await withServer(flags, async (server) => {
      await ask(server.client(), 'Hello!');
      server.signal('SIGINT');
      assert.deepEqual(await server.exited(), { code: 0, signal: null });
    });
  });
});
