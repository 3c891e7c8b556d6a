// serve --record and replay: what a server did with real states, done again without its model.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { holdfast, run, startServer, temporaryFolder } from './server.mjs';
import { ask, brief, converse, endless, user } from './talk.mjs';

const few = { max_tokens: 12 };
const secret = 'Rumpelstilzchen';
const policy = join(dirname(holdfast), 'holdfast-policy');

// Talks side by side that share a beginning, one that changes it, one that is broken off, one without
// reuse; on two slots with little memory.
async function traffic(server) {
  const client = server.client();
  const system = { role: 'system', content: 'You keep the books of a mill. '.repeat(20) };
  const talk = async (name) => {
    const messages = [system];
    for (const line of ['Who are you?', `My name is ${name} and I spin straw.`, 'And now?']) {
      messages.push(user(line));
      const completion = await ask(client, messages, few);
      messages.push(completion.choices[0].message);
    }
  };
  await Promise.all([talk(secret), talk('Anna'), talk('Berta')]);
  for (const second of [1, 2]) {
    const clock = { role: 'system', content: `It is 14:03:0${second}. ` + system.content };
    await ask(client, [clock, user('What time is it?')], few);
  }
  await ask(client, [system, user('Once more, from the beginning.')], { ...few, cache_prompt: false });
  const story = await client.chat.completions.create({ ...brief, ...endless, stream: true,
    messages: [system, user('Tell me a long story.')] });
  await server.writing(1);
  story.controller.abort();
  await converse(client, ['One.', 'Two.'], few);
  await server.idle();
}

const replayed = async (file, ...more) => {
  const answer = await run(['replay', file, '--json', ...more]);
  return { ...answer, json: answer.stdout ? JSON.parse(answer.stdout) : undefined };
};

for (const [name, flags] of Object.entries({
  'drafts and a cache folder': ['--spec', 'mtp', '--cache-rest', '0'],
  'deterministic': ['--deterministic'],
  'private': ['--record-private'],
})) {
  test(`${name}: the replay gives the same receipts`, async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'today.hfrec');
    const disk = name.includes('folder') ? ['--cache-dir', join(folder, 'states')] : [];
    const server = await startServer(['--parallel', '2', '--cache-ram', '4', '--record', file, ...disk, ...flags]);
    await traffic(server);
    const receipts = (await server.getJson('/cache/receipts?limit=1000')).data;
    await server.stop();
    await server.logged(/recorded .*requests=/);
    assert.equal(statSync(file).mode & 0o777, 0o600);

    const page = join(folder, 'today.html');
    const { code, json, stderr } = await replayed(file, '--report', page);
    assert.equal(code, 0, stderr + JSON.stringify(json?.notes));
    assert.equal(json.identical && json.whole, true);
    assert.equal(json.requests.length, receipts.length);
    assert.ok(json.requests.every((request) => request.identical));
    assert.ok(json.requests.some((request) => request.end === 'cancelled'));
    assert.ok(json.requests.some((request) => request.restored > 0));
    assert.ok(json.requests.some((request) => request.missing === 'reuse_off'));
    const hidden = flags.includes('--record-private');
    if (!hidden) {
      for (const receipt of receipts) {
        const request = json.requests.find(({ id }) => id === receipt.id);
        assert.equal(request?.restored, receipt.restored_tokens, receipt.id);
      }
      assert.match(JSON.stringify(json.advice), /14:03:0|changes/);
    }
    // Other caches on the same traffic, with this server's states and budget.
    const compared = await run(['--policy', 'holdfast,llama-server,oracle', file, '--json'], { program: policy });
    assert.equal(compared.code, 0, compared.stderr);
    const cells = JSON.parse(compared.stdout);
    assert.deepEqual(cells.map(({ policy }) => policy), ['holdfast', 'llama-server', 'oracle']);
    assert.ok(cells.every(({ requests, budget_bytes }) => requests > 10 && budget_bytes === 4 << 20));
    const html = readFileSync(page, 'utf8');
    assert.match(html, /receipts are identical/);
    assert.doesNotMatch(html, /<script|https?:/);
    if (hidden) assert.equal(readFileSync(file).includes(secret), false);
    assert.equal(JSON.stringify(json).includes(receipts[0].id), !hidden);
  });
}

test('a server that is killed leaves what it had written', async () => {
  const file = join(temporaryFolder(), 'killed.hfrec');
  const server = await startServer(['--record', file]);
  await converse(server.client(), ['One.', 'Two.', 'Three.'], few);
  await server.idle();
  server.signal('SIGKILL');
  await server.exited();
  const { code, json } = await replayed(file);
  assert.equal(code, 1);
  assert.equal(json.whole, false);
  assert.equal(json.identical, true);
  assert.match(json.trouble, /no end|cut off/);
  assert.ok(json.requests.length >= 2);
});

test('mistakes are named', async () => {
  const folder = temporaryFolder();
  const there = join(folder, 'there');
  writeFileSync(there, 'precious');
  const over = await run(['serve', '--port', '0', '--record', there]);
  assert.equal(over.code, 1);
  assert.match(over.stderr, /there already.*another name/);
  assert.equal(readFileSync(there, 'utf8'), 'precious');

  const alone = await run(['serve', '--record-private']);
  assert.equal(alone.code, 2);
  assert.match(alone.stderr, /--record FILE/);

  const none = await run(['replay', there]);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /does not begin with HFREC/);
  assert.match((await run(['replay', join(folder, 'nowhere')])).stderr, /cannot read/);
  assert.equal((await run(['replay'])).code, 2);
  assert.match((await run(['replay', '--help'])).stdout, /--report/);
  const moved = await run(['replay', '--policy', 'all', '--trace', there]);
  assert.equal(moved.code, 2);
  assert.match(moved.stderr, /^[^\n]*holdfast-policy, with the same options[^\n]*\n$/);
  assert.equal(existsSync(join(folder, 'nowhere')), false);
});
