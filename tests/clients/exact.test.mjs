// `holdfast verify-exact`: in deterministic mode no prompt differs by a bit from a cold server's, whatever is
// reused; and where something does differ it is found.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { run, temporaryFolder, withServer } from './server.mjs';
import { user } from './talk.mjs';

const exact = ['--deterministic', '--threads', '1', '-c', '4k', '-np', '2'];

// What it says and, as JSON, what it found.
async function verify(args) {
  const path = join(temporaryFolder(), 'found.json');
  const { code, stdout, stderr } = await run(['verify-exact', '--json', path, ...args]);
  const found = code === 2 ? null : JSON.parse(readFileSync(path, 'utf8'));
  return { code, stdout, stderr, found };
}

describe('verify-exact', () => {
  test('made-up talks in deterministic mode, two clients, and a restart', async () => {
    const { code, stdout, found } = await verify(['--random', '60', '--clients', '2', '--seed', '4', ...exact]);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /No prompt of \d+ differs by a bit\./);
    assert.equal(found.restarts, 1);
    assert.equal(found.failed, 0);
    assert.equal(found.cold_reused, 0);
    assert.ok(found.all.requests + found.other_tokens >= 50, JSON.stringify(found.all));
    assert.equal(found.all.first_tokens_differing, 0, 'deterministic: not even its logprob');
    for (const reuse of ['nothing', 'live slot', 'memory']) {
      assert.ok(found.by_reuse[reuse]?.requests > 0, `${reuse}: ${Object.keys(found.by_reuse)}`);
    }
    for (const occasion of ['turn', 'branch', 'edit', 'the same again', 'fan-out']) {
      assert.ok(found.by_occasion[occasion]?.requests > 0, `${occasion}: ${Object.keys(found.by_occasion)}`);
    }
  });

  test('a server that computes otherwise is found', async () => {
    const flags = (more) => ['--deterministic', '-c', '4096', ...more];
    await withServer(flags(['-fa', 'on', '-ctk', 'q8_0', '-ctv', 'q8_0']), (other) =>
      withServer(flags(['-fa', 'on']), async (cold) => {
        const sides = ['--server', other.url, '--cold', cold.url];
        const { code, stdout, found } = await verify(['--random', '6', ...sides]);
        assert.equal(code, 1, stdout);
        assert.match(stdout, /prompts differ from cold ones/);
        assert.ok(found.all.prompts_differing > 0);
        assert.ok(found.differing.some((one) => one.running.prompt_hash !== one.cold.prompt_hash));
        // A control finds it, too: nothing has to be reused for it.
        assert.equal((await verify(['--random', '3', '--control', ...sides])).code, 1);
      }));
  });

  test('recorded requests, a line each, to servers that run', async () => {
    const line = (text, more) => JSON.stringify({ messages: [user(text)], max_tokens: 8, stream: true, ...more });
    const recorded = join(temporaryFolder(), 'recorded.jsonl');
    writeFileSync(recorded, [line('Count to 5.'), line('Count to 5.'), line('Hi!', { n: 2 })].join('\n'));
    const bad = join(temporaryFolder(), 'bad.jsonl');
    writeFileSync(bad, `${line('Hi!')}\n{"prompt": "Hi!"}\n`);
    await withServer(['--deterministic'], (one) => withServer(['--deterministic'], async (cold) => {
      const sides = ['--server', one.url, '--cold', cold.url];
      const { code, stdout, found } = await verify(['--conversations', recorded, ...sides]);
      assert.equal(code, 0, stdout);
      assert.equal(found.all.requests, 4);
      assert.ok(found.by_reuse.nothing.requests < 4, 'the second line is known');
      const refused = await verify(['--conversations', bad, ...sides]);
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, /line 2: no field `messages`/);
    }));
  });

  test('a ladder of needles: cold, warm and after a restart', async () => {
    const { code, stdout, found } = await verify(['--needles', '--needle-tokens', '256', ...exact]);
    assert.equal(code, 0, stdout);
    for (const arm of ['cold arm', 'warm arm', 'restart arm']) {
      const { requests, needles } = found.by_occasion[arm];
      assert.equal(requests, 38, arm);
      assert.equal(needles.found, needles.found_cold, arm);
      assert.ok(needles.found > 19, `${needles.found} found`);
    }
  });

  test('what cannot be compared is said, with code 2', async () => {
    const nobody = await verify(['--server', 'http://127.0.0.1:1', '--cold', 'http://127.0.0.1:1']);
    assert.equal(nobody.code, 2);
    assert.match(nobody.stderr, /No server answers at http:\/\/127\.0\.0\.1:1/);
    const half = await verify(['--server', 'http://127.0.0.1:1']);
    assert.equal(half.code, 2);
    assert.match(half.stderr, /--server and --cold go together/);
    const refused = await verify(['--no-such-option']);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /--no-such-option/);
  });
});
