// What the cache shows of itself: receipts in answers and by id, GET and DELETE
// /cache, /metrics, and `holdfast explain`.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import OpenAI from 'openai';

import { eventually, run, useServer } from './server.mjs';
import { ask, stream, user } from './talk.mjs';

const receiptFields = [
  'id', 'response', 'session', 'one_off', 'time', 'exact', 'slot', 'prompt_tokens', 'matched_tokens',
  'restorable_tokens', 'restored_tokens', 'restored_from', 'recomputed_tokens', 'reuse', 'bytes_restored',
  'bytes_fetched', 'bytes_kept', 'checkpoints', 'kept_tokens', 'prewarmed_tokens', 'history_tokens', 'answer_ids', 'difference',
  'missing', 'answer_limit', 'attribution_saved_tokens', 'notes', 'queued_ms', 'waited_for', 'fetch_ms',
  'restore_ms', 'prompt_ms', 'saved_ms', 'companion', 'proof', 'tokens_hash', 'prompt_hash', 'advice', 'complete',
];

function assertReceipt(receipt, answer) {
  assert.deepEqual(Object.keys(receipt), receiptFields);
  assert.equal(receipt.response, answer.id);
  assert.ok(Math.abs(Date.parse(receipt.time) - Date.now()) < 600_000, receipt.time);
  assert.equal(receipt.restored_tokens + receipt.recomputed_tokens, receipt.prompt_tokens);
  assert.ok(receipt.restored_tokens <= receipt.restorable_tokens);
  assert.equal(receipt.restored_tokens === 0, receipt.restored_from === 'nothing');
  assert.equal(receipt.complete, true);
}

const asked = { cache_receipt: true, max_tokens: 4 };

describe('receipts in answers', () => {
  const on = useServer(['--temp', '0']);

  test('are given only where asked for', async () => {
    assert.ok(!('cache_receipt' in (await ask(on.client, 'Hello!', { max_tokens: 2 }))));
  });

  test('a whole answer agrees with its usage', async () => {
    const answer = await ask(on.client, 'Hello!', asked);
    assertReceipt(answer.cache_receipt, answer);
    assert.equal(answer.cache_receipt.prompt_tokens, answer.usage.prompt_tokens);
    assert.equal(answer.cache_receipt.restored_tokens,
      answer.usage.prompt_tokens_details.cached_tokens);
  });

  for (const include_usage of [false, true]) {
    test(`a stream has it in its last chunk, include_usage ${include_usage}`, async () => {
      const { chunks } = await stream(on.client, 'Hello!', { ...asked, stream_options: { include_usage } });
      const carrying = chunks.filter((chunk) => chunk.cache_receipt);
      assert.deepEqual(carrying, [chunks.at(-1)]);
      assertReceipt(carrying[0].cache_receipt, carrying[0]);
    });
  }

  test("the SDK's stream helper keeps it", async () => {
    const helper = on.client.chat.completions.stream({
      model: 'pocket', messages: [user('Hello!')], ...asked,
    });
    const answer = await helper.finalChatCompletion();
    assertReceipt(answer.cache_receipt, answer);
  });

  test('several choices have one each, in their order', async () => {
    const answer = await ask(on.client, 'Hello!', { ...asked, n: 3 });
    assert.equal(answer.cache_receipt.length, 3);
    for (const receipt of answer.cache_receipt) assertReceipt(receipt, answer);
    const { chunks } = await stream(on.client, 'Hello!', { ...asked, n: 2 });
    assert.equal(chunks.at(-1).cache_receipt.length, 2);
  });

  test('plain completions have them too', async () => {
    const request = { model: 'pocket', ...asked };
    const one = await on.client.completions.create({ ...request, prompt: 'The capital of France' });
    assertReceipt(one.cache_receipt, one);
    const two = await on.client.completions.create({ ...request, prompt: ['One', 'Two'] });
    assert.equal(two.cache_receipt.length, 2);
  });

  test('where prompts part, both texts are quoted', async () => {
    const system = (text) => ({ messages: [{ role: 'system', content: text }, user('Hello!')] });
    const rules = 'Answer in few words. '.repeat(20);
    await ask(on.client, '', { ...asked, ...system(`It is 14:03:12 now. ${rules}`) });
    const { cache_receipt } = await ask(on.client, '', { ...asked, ...system(`It is 15:44:51 now. ${rules}`) });
    const { difference, advice } = cache_receipt;
    assert.equal(difference.position, cache_receipt.matched_tokens);
    assert.notEqual(difference.known_text, difference.sent_text);
    assert.equal(difference.role, 'system');
    assert.match(advice, /^messages\[0\] \(system\) holds something that changes/);
  });

  for (const [field, value] of [
    ['cache_salt', 5], ['cache_salt', ''], ['cache_salt', 'x'.repeat(257)], ['cache_receipt', 'yes'],
  ]) {
    test(`${field} ${JSON.stringify(value).slice(0, 20)} is a BadRequestError`, async () => {
      const wrong = { [field]: value };
      for (const send of [
        () => ask(on.client, 'Hello!', wrong),
        () => on.client.completions.create({ model: 'pocket', prompt: 'x', ...wrong }),
      ]) {
        await assert.rejects(send, (error) => {
          assert.ok(error instanceof OpenAI.BadRequestError, String(error));
          assert.equal(error.param, field);
          return true;
        });
      }
    });
  }
});

describe('receipts by id, and whose they are', () => {
  const on = useServer(['--temp', '0', '--api-key', 'one,two']);
  const client = (apiKey) => on.server.client({ apiKey });
  const get = (path, apiKey) =>
    on.server.fetch(path, { headers: { Authorization: `Bearer ${apiKey}` } });
  const list = async (apiKey, query = '') =>
    (await (await get(`/v1/cache/receipts${query}`, apiKey)).json()).data;

  test('the list is newest first, and each is found by both of its ids', async () => {
    const first = await ask(client('one'), 'Hello!', asked);
    const second = await ask(client('one'), 'What is 12 + 30?', asked);
    const receipts = await list('one', '?limit=2');
    assert.deepEqual(receipts.map((receipt) => receipt.response), [second.id, first.id]);
    for (const id of [first.id, first.cache_receipt.id]) {
      for (const prefix of ['', '/v1']) {
        const found = await get(`${prefix}/cache/receipts/${id}`, 'one');
        assert.equal(found.status, 200);
        assert.deepEqual(await found.json(), first.cache_receipt);
      }
    }
  });

  test('another key sees nothing of them', async () => {
    const mine = await ask(client('one'), 'A secret question.', asked);
    assert.deepEqual(await list('two'), []);
    assert.equal((await get(`/cache/receipts/${mine.id}`, 'two')).status, 404);
    assert.equal((await on.server.fetch(`/cache/receipts/${mine.id}`)).status, 401);
    const theirs = await ask(client('two'), 'A secret question.', asked);
    assert.equal(theirs.cache_receipt.matched_tokens, 0);
    assert.equal(theirs.cache_receipt.difference, null);
  });

  test('nor does another salt', async () => {
    const salted = await ask(client('one'), 'A salted question.', { ...asked, cache_salt: 'sea & co' });
    const plain = await ask(client('one'), 'A salted question.', asked);
    assert.ok(plain.cache_receipt.matched_tokens < plain.cache_receipt.prompt_tokens);
    const ids = async (query) => (await list('one', query)).map((receipt) => receipt.response);
    assert.deepEqual(await ids('?cache_salt=sea+%26+co'), [salted.id]);
    assert.ok(!(await ids('?limit=1000')).includes(salted.id));
    const again = await ask(client('one'), 'A salted question.', { ...asked, cache_salt: 'sea & co' });
    assert.ok(again.cache_receipt.matched_tokens >= plain.cache_receipt.matched_tokens);
  });

  test('an unknown id is a 404 that says how long receipts are kept', async () => {
    const missing = await get('/cache/receipts/chatcmpl-none', 'one');
    assert.equal(missing.status, 404);
    const { error } = await missing.json();
    assert.deepEqual([error.type, error.param], ['not_found_error', 'id']);
    assert.match(error.message, /chatcmpl-none.*are kept/);
  });

  for (const limit of ['0', 'x', '1001']) {
    test(`a limit of ${limit} is refused`, async () => {
      const refused = await get(`/cache/receipts?limit=${limit}`, 'one');
      assert.equal(refused.status, 400);
      assert.equal((await refused.json()).error.param, 'limit');
    });
  }

  test('holdfast explain shows the asker its own', async () => {
    const answer = await ask(client('one'), 'Hello!', asked);
    const explain = (key, ...args) =>
      run(['explain', '--url', on.server.url, '--api-key', key, ...args]);
    const latest = await explain('one');
    assert.equal(latest.code, 0, latest.stderr);
    assert.match(latest.stdout, new RegExp(`^${answer.id} at `));
    assert.match(latest.stdout, /\d+ of \d+ prompt tokens reused \(\d+\.\d%\), \d+ read in /);
    const json = await explain('one', answer.id, '--json');
    assert.deepEqual(JSON.parse(json.stdout), answer.cache_receipt);
    assert.equal((await explain('one', '--last', '2')).stdout.trim().split('\n').length, 2);
    const other = await explain('two', answer.id);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /no receipt/);
    const stranger = await run(['explain', '--url', on.server.url]);
    assert.equal(stranger.code, 1);
    assert.match(stranger.stderr, /--api-key/);
  });
});

describe('the cache as a whole', () => {
  const on = useServer(['--temp', '0']);

  test('explain has nothing to show before the first request', async () => {
    const { code, stderr } = await run(['explain', '--url', on.server.url]);
    assert.equal(code, 1);
    assert.match(stderr, /^No request has been answered yet\. .*holdfast chat/);
  });

  // The status is a little behind the answers, as that of the slots is.
  const statusWhere = (holds, what) => eventually(async () => {
    const status = await on.server.getJson('/v1/cache');
    return holds(status) && status;
  }, what);

  test('GET /cache counts', async () => {
    await ask(on.client, 'Hello!', { max_tokens: 2 });
    await ask(on.client, 'Hello!', { max_tokens: 2 });
    const { object, hit_share, memory, totals, summary } =
      await statusWhere((status) => status.totals.requests === 2, 'two requests in the status');
    assert.equal(object, 'cache');
    assert.equal(hit_share, totals.restored_tokens / totals.prompt_tokens);
    assert.equal(memory.resident_bytes, memory.extent_bytes + memory.snapshot_bytes);
    assert.ok(summary.length > 10);
  });

  test('GET /cache shows bytes per conversation, and no text', async () => {
    const rules = { role: 'system', content: 'Answer in few words. '.repeat(20) };
    for (const text of ['What is a falcon?', 'What is a harbour?']) {
      await ask(on.client, '', { max_tokens: 2, messages: [rules, user(text)] });
    }
    await on.server.idle();
    const status = await statusWhere(({ conversations }) => conversations?.count >= 3, 'conversations in the status');
    const { memory, conversations: { count, own_bytes, shared_bytes, latest } } = status;
    assert.equal(own_bytes + shared_bytes, memory.resident_bytes);
    assert.equal(latest.length, Math.min(count, 32));
    for (const one of latest) {
      assert.deepEqual(Object.keys(one), ['tokens', 'bytes', 'own_row_bytes', 'own_snapshots', 'own_snapshot_bytes',
        'shared_bytes', 'shared_snapshots', 'idle_seconds', 'slot', 'disk_tokens']);
      assert.ok(one.tokens > 0 && one.bytes <= memory.resident_bytes && one.idle_seconds >= 0);
    }
    assert.ok(latest[0].shared_bytes > 0, 'the system block is held once for both');
    assert.ok(latest[0].idle_seconds <= latest[1].idle_seconds);
    assert.doesNotMatch(JSON.stringify(status), /falcon|harbour|few words/);
  });

  test('DELETE /cache empties it, and answers go on', async () => {
    await ask(on.client, 'Hello!', { max_tokens: 2 });
    await on.server.idle();
    const cleared = await on.server.fetch('/v1/cache', { method: 'DELETE' });
    assert.equal(cleared.status, 200);
    const { object, freed_bytes } = await cleared.json();
    assert.equal(object, 'cache.cleared');
    assert.ok(freed_bytes > 0);
    const status = await (await on.server.fetch('/cache')).json();
    assert.equal(status.memory.resident_bytes, 0);
    const { cache_receipt } = await ask(on.client, 'Hello!', { max_tokens: 2, cache_receipt: true });
    assert.equal(cache_receipt.restored_tokens, 0);
    assert.equal(cache_receipt.matched_tokens, 0, 'nobody can tell that it was said before');
    assert.equal(cache_receipt.missing, null);
  });

  test('/cache takes GET and DELETE', async () => {
    const wrong = await on.server.post('/cache', {});
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.get('Allow'), 'GET, DELETE');
  });

  // Every line of the text format, as strictly as its description is.
  function parseMetrics(text) {
    const samples = new Map();
    const histograms = new Set();
    let family;
    for (const line of text.trimEnd().split('\n')) {
      const [, keyword, name] = line.match(/^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) ./) ?? [];
      if (keyword) {
        if (keyword === 'TYPE') assert.equal(name, family, line);
        if (line.endsWith(' histogram')) histograms.add(name);
        family = name;
        continue;
      }
      const [, sample, labels = '', value] =
        line.match(/^([a-zA-Z_:][\w:]*)(\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? (\S+)$/) ?? assert.fail(line);
      const of = histograms.has(family) ? sample.replace(/_(bucket|sum|count)$/, '') : sample;
      assert.equal(of, family, line);
      assert.ok(!samples.has(sample + labels), line);
      assert.ok(Number.isFinite(Number(value)), line);
      samples.set(sample + labels, Number(value));
    }
    return samples;
  }

  test('/metrics is what Prometheus reads, with the names of llama-server', async () => {
    await ask(on.client, 'Hello!', { max_tokens: 2 });
    await on.server.idle();
    const { totals } = await on.server.getJson('/cache');
    const answer = await on.server.fetch('/metrics');
    assert.equal(answer.headers.get('Content-Type'), 'text/plain; version=0.0.4');
    const metrics = parseMetrics(await answer.text());
    for (const name of ['prompt_tokens_total', 'prompt_seconds_total', 'tokens_predicted_total',
      'tokens_predicted_seconds_total', 'prompt_tokens_seconds', 'predicted_tokens_seconds']) {
      assert.ok(metrics.get(`llamacpp:${name}`) > 0, name);
    }
    assert.equal(metrics.get('llamacpp:requests_processing'), 0);
    assert.equal(metrics.get('holdfast_cache_requests_total'), totals.requests);
  });
});

describe('holdfast explain without a server', () => {
  test('says what to do', async () => {
    const { code, stderr } = await run(['explain', '--url', 'http://127.0.0.1:1']);
    assert.equal(code, 1);
    assert.match(stderr, /^No server at http:\/\/127\.0\.0\.1:1\. .*holdfast serve.*--url/);
  });

  for (const [args, expected] of [[['--lst'], /--last/], [['a', 'b'], /one ID/]]) {
    test(`holdfast explain ${args.join(' ')} is one sentence and exit code 2`, async () => {
      const { code, stdout, stderr } = await run(['explain', ...args]);
      assert.equal(code, 2);
      assert.match(stderr, expected);
      assert.equal(stdout, '');
    });
  }

  test('--help teaches', async () => {
    const { code, stdout } = await run(['explain', '--help']);
    assert.equal(code, 0);
    assert.match(stdout, /Examples:.*--last.*--json.*cache_receipt/s);
  });
});
