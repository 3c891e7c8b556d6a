// POST /slots/{id}?action=save|restore|erase: a conversation that outlives its server, and files
// that are not what they should be.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { eventually, holdfast, keepThoughts, pocketModel, startServer, temporaryFolder, useServer, withServer } from './server.mjs';
import { ask, cachedOf, messageOf, stream, textOf, user } from './talk.mjs';

const act = (server, slot, action, filename, headers) =>
  server.post(`/slots/${slot}?action=${action}`, filename === undefined ? '' : { filename }, headers);

async function done(server, slot, action, filename) {
  const { status, json } = await act(server, slot, action, filename);
  assert.equal(status, 200, JSON.stringify(json));
  assert.equal(json.id_slot, slot);
  assert.equal(json.filename, filename);
  return json;
}

const heldBy = async (server, slot) => (await server.getJson('/slots'))[slot].n_tokens;

const whole = ['--chat-template-file', keepThoughts, '--parallel', '2'];
const lines = ['Tell me a story about a fox.', 'Count from 1 to 12.', 'What is the capital of France?'];
const receipted = { cache_receipt: true };

// The messages so far, and what is said to the last of them.
async function say(client, messages, line, extra = {}) {
  messages.push(user(line));
  const completion = await ask(client, messages, { ...receipted, ...extra });
  messages.push(messageOf(completion));
  return completion;
}

for (const [name, flags] of Object.entries({
  'mtp': ['--spec', 'mtp'],
  'no drafts': ['--spec', 'off'],
  'draft model': ['--spec', 'draft', '--draft-model', pocketModel],
  'no memory': ['--cache-ram', '0'],
  'exact prompts': ['--exact', 'prompt'],
  'deterministic': ['--deterministic'],
})) {
  test(`${name}: saved, gone on, killed, restored: nothing is read again`, async () => {
    const folder = temporaryFolder();
    const all = [...whole, ...flags, '--slot-save-path', folder];
    const first = await startServer(all);
    const messages = [];
    let saved, expected;
    try {
      await say(first.client(), messages, lines[0], { id_slot: 1 });
      saved = await done(first, 1, 'save', 'fox.bin');
      expected = await say(first.client(), [...messages], lines[1], { id_slot: 1 });
      await say(first.client(), [], lines[2], { id_slot: 1 });
    } finally {
      first.signal('SIGKILL');
    }
    await first.exited();
    const { size, mode } = statSync(join(folder, 'fox.bin'));
    assert.equal(saved.n_written, size);
    assert.equal(mode & 0o777, 0o600);
    assert.ok(saved.n_saved > 8 && saved.timings.save_ms >= 0, JSON.stringify(saved));

    await withServer(all, async (next) => {
      const restored = await done(next, 0, 'restore', 'fox.bin');
      assert.equal(restored.n_restored, saved.n_saved);
      assert.equal(restored.n_read, size);
      assert.equal(await heldBy(next, 0), saved.n_saved);
      const answer = await say(next.client(), [...messages], lines[1]);
      assert.equal(textOf(answer), textOf(expected));
      assert.equal(cachedOf(answer), saved.n_saved);
      assert.equal(cachedOf(answer), cachedOf(expected), 'as the server that was not killed');
      assert.equal(answer.cache_receipt.restored_from, 'live slot');
      assert.equal(answer.cache_receipt.slot, 0);
      assert.equal(answer.cache_receipt.companion?.held_tokens, expected.cache_receipt.companion?.held_tokens);
      if (name === 'mtp') assert.equal(answer.cache_receipt.companion.held_tokens, saved.n_saved);
    });
  });
}

describe('with a folder', () => {
  const folder = temporaryFolder();
  const on = useServer([...whole, '--slot-save-path', folder]);

  test('two slots are two conversations, whichever they come back to', async () => {
    const talks = [[], []];
    for (const slot of [0, 1]) await say(on.client, talks[slot], lines[slot], { id_slot: slot });
    const saved = [];
    for (const slot of [0, 1]) saved.push(await done(on.server, slot, 'save', `talk ${slot}.bin`));
    const expected = [];
    for (const slot of [0, 1]) expected.push(textOf(await say(on.client, [...talks[slot]], lines[2], { id_slot: slot })));
    await on.server.fetch('/cache', { method: 'DELETE' });
    for (const slot of [0, 1]) await done(on.server, slot, 'restore', `talk ${1 - slot}.bin`);
    for (const slot of [0, 1]) {
      const answer = await say(on.client, talks[slot], lines[2]);
      assert.equal(textOf(answer), expected[slot]);
      assert.equal(cachedOf(answer), saved[slot].n_saved);
      assert.equal(answer.cache_receipt.slot, 1 - slot);
    }
  });

  test('an erased conversation is read again, by this server and by the next', async () => {
    const states = temporaryFolder();
    const flags = ['--cache-dir', states, '--cache-rest', '0', '-np', '2'];
    const line = 'Tell me all about the erased slot, please.';
    await withServer(flags, async (server) => {
      const first = await ask(server.client(), line, { id_slot: 1 });
      assert.ok(cachedOf(await ask(server.client(), line, { id_slot: 1 })) > 0);
      await eventually(async () => (await server.getJson('/cache')).disk.blobs > 0, 'states on disk');
      assert.equal((await act(server, 1, 'erase')).status, 200);
      const again = await ask(server.client(), line, { id_slot: 1 });
      assert.equal(cachedOf(again), 0);
      assert.equal(textOf(again), textOf(first));
      await server.idle();
      await act(server, 1, 'erase');
    });
    await withServer(flags, async (server) => {
      assert.equal(cachedOf(await ask(server.client(), line)), 0, 'nor from disk');
    });
  });

  test('erase empties a slot, and says how much it was', async () => {
    await ask(on.client, lines[0], { id_slot: 0 });
    const held = await heldBy(on.server, 0);
    const { status, json } = await act(on.server, 0, 'erase');
    const { note, ...counts } = json;
    assert.deepEqual({ status, counts }, { status: 200, counts: { id_slot: 0, n_erased: held } });
    assert.match(note, /DELETE \/cache/);
    assert.equal(await heldBy(on.server, 0), 0);
    assert.equal((await act(on.server, 0, 'erase')).json.n_erased, 0);
    assert.equal((await act(on.server, 0, 'save', 'empty.bin')).status, 404);
    assert.ok(!readdirSync(folder).includes('empty.bin'));
  });

  test('a slot at work is waited for', async () => {
    const busy = stream(on.client, 'Tell me a story about a fox.', { id_slot: 0, ignore_eos: true, max_tokens: 300 });
    await on.server.writing(1);
    const { n_saved } = await done(on.server, 0, 'save', 'busy.bin');
    assert.ok(n_saved >= 300, String(n_saved));
    await busy;
  });

  test('a file that is not what it should be is refused, and the slot stays as it was', async () => {
    const messages = [];
    await say(on.client, messages, lines[0], { id_slot: 0 });
    const { n_saved } = await done(on.server, 0, 'save', 'good.bin');
    const good = readFileSync(join(folder, 'good.bin'));
    const put = (name, bytes) => writeFileSync(join(folder, name), bytes);
    const flipped = (at) => Buffer.from(good).fill(good[at] ^ 1, at, at + 1);
    put('nothing.bin', '');
    put('words.bin', 'not a state at all. '.repeat(1000));
    put('half.bin', good.subarray(0, good.length >> 1));
    put('cut.bin', good.subarray(0, good.length - 1));
    put('longer.bin', Buffer.concat([good, Buffer.from([0])]));
    for (let i = 0; i < 20; ++i) put(`flipped${i}.bin`, flipped(Math.floor((good.length * i) / 20)));
    put('sparse.bin', good);
    truncateSync(join(folder, 'sparse.bin'), 2 ** 40);
    put('huge.bin', Buffer.concat([good.subarray(0, 8), Buffer.from('ffffffffffffff7f', 'hex'), good.subarray(16)]));
    mkdirSync(join(folder, 'folder.bin'));
    symlinkSync(join(folder, 'good.bin'), join(folder, 'link.bin'));
    symlinkSync('/dev/zero', join(folder, 'zero.bin'));
    execFileSync('mkfifo', [join(folder, 'pipe.bin')]);
    for (const name of readdirSync(folder).filter((one) => /^(nothing|words|half|cut|longer|flipped|sparse|huge|folder|link|zero|pipe)/.test(one))) {
      const { status, json } = await act(on.server, 0, 'restore', name);
      assert.equal(status, name.startsWith('flipped') && json.error.code === 'not_found' ? 404 : 400, `${name}: ${JSON.stringify(json)}`);
      assert.equal(json.error.param, 'filename');
      assert.match(json.error.message, /^'.*' cannot be restored: .*\. Slot 0 is as it was\.$/);
    }
    for (const name of ['words.bin', 'folder.bin', 'link.bin', 'pipe.bin']) {
      assert.equal((await act(on.server, 0, 'save', name)).status, 400, 'what is no saved slot is not replaced');
    }
    rmSync(join(folder, 'sparse.bin'));  // it would count for the folder's quota
    assert.deepEqual(readFileSync(join(folder, 'good.bin')), good);
    assert.equal(cachedOf(await say(on.client, messages, lines[1])), n_saved);
    await on.server.assertAlive();
  });

  test('nothing outside the folder is reached', async () => {
    for (const name of ['../out.bin', '/tmp/out.bin', 'a/b', '..', '.', '.hidden', 'a\0b', 'a\nb', 'x'.repeat(201), '', 7, null, ['x']]) {
      for (const action of ['save', 'restore']) {
        const { status, json } = await act(on.server, 0, action, name);
        assert.equal(status, 400, JSON.stringify(name));
        assert.equal(json.error.param, 'filename');
      }
    }
  });

  test('a server with other settings refuses the file and says why', async () => {
    await ask(on.client, lines[0], { id_slot: 0 });
    await done(on.server, 0, 'save', 'f16.bin');
    await withServer([...whole, '--slot-save-path', folder, '--ubatch-size', '256'], async (other) => {
      const { status, json } = await act(other, 0, 'restore', 'f16.bin');
      assert.equal(status, 400);
      assert.match(json.error.message, /of another model, or of a server with other settings/);
    });
  });

  test('only whole files are there', () => {
    assert.deepEqual(readdirSync(folder).filter((name) => name.endsWith('.part')), []);
  });
});

describe('with keys', () => {
  const on = useServer([...whole, '--slot-save-path', temporaryFolder(), '--api-key', 'one,two']);
  const key = (name) => ({ Authorization: `Bearer ${name}` });

  test('a conversation and its file are the key\'s own', async () => {
    const messages = [];
    await say(on.server.client({ apiKey: 'one' }), messages, lines[0], { id_slot: 0 });
    assert.equal((await act(on.server, 0, 'save', 'mine.bin', key('two'))).status, 404);
    assert.equal((await act(on.server, 0, 'erase', undefined, key('two'))).status, 404);
    assert.equal((await act(on.server, 0, 'save', 'mine.bin')).status, 401);
    const { status, json } = await act(on.server, 0, 'save', 'mine.bin', key('one'));
    assert.equal(status, 200);
    const missing = await act(on.server, 1, 'restore', 'none.bin', key('two'));
    const theirs = await act(on.server, 1, 'restore', 'mine.bin', key('two'));
    assert.equal(theirs.status, 404);
    assert.equal(theirs.json.error.message.replace('mine', 'none'), missing.json.error.message);
    await ask(on.server.client({ apiKey: 'two' }), lines[1], { id_slot: 1 });
    assert.equal((await act(on.server, 1, 'save', 'mine.bin', key('two'))).status, 400);
    assert.equal((await act(on.server, 1, 'restore', 'mine.bin', key('one'))).json.n_restored, json.n_saved);
  });
});

test('without --slot-save-path only erase works', () => withServer([], async (server) => {
  for (const action of ['save', 'restore']) {
    const { status, json } = await act(server, 0, action, 'x.bin');
    assert.equal(status, 501);
    assert.match(json.error.message, /--slot-save-path/);
  }
  assert.equal((await act(server, 0, 'erase')).json.n_erased, 0);
}));

test('a folder that cannot be made is said at once', async () => {
  assert.throws(() => execFileSync(holdfast, ['serve', '--port', '0', '--slot-save-path', '/proc/none/slots'],
    { stdio: 'pipe', timeout: 60_000 }), (error) => {
    assert.match(String(error.stderr), /--slot-save-path: the folder .* cannot be made/);
    return true;
  });
});
