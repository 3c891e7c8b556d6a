// Stored responses, kept in the cache folder: they survive a restart, and what must not be there is
// not. The model follows a script (../agents/script.h), behind the real server.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';

import OpenAI from 'openai';

import { eventually, holdfast, run, startServer, temporaryFolder } from './server.mjs';
import { scriptedServer } from '../agents/workplace.mjs';

const script = {
  rules: [
    { when: 'called?', with: 'called Minka', say: 'Minka.' },
    { when: 'called?', say: 'I do not know.' },
  ],
};
const model = 'any';
const secret = 'My cat is called Minka.';

let servers = [];
afterEach(() => {
  for (const server of servers) server.child.kill('SIGKILL');
  servers = [];
});

async function serverOn(folder, flags = []) {
  const path = join(temporaryFolder(), 'script.json');
  writeFileSync(path, JSON.stringify(script));
  const server = await startServer(['--script', path, '--cache-dir', folder, ...flags], {
    program: scriptedServer,
  });
  servers.push(server);
  return server;
}

const filesIn = (folder) => {
  const responses = join(folder, 'responses');
  return existsSync(responses) ? readdirSync(responses).map((name) => join(responses, name)) : [];
};

// On a folder of their own: a conversation's first turn, then `meanwhile`, then another server.
async function acrossRestart(meanwhile = (server) => server.stop(), flags = []) {
  const folder = join(temporaryFolder(), 'cache');
  const server = await serverOn(folder, flags);
  const first = await server.client().responses.create({ model, input: secret });
  await meanwhile(server, first, folder);
  return { first, folder, server: await serverOn(folder, flags) };
}

const isGone = (server, id) =>
  assert.rejects(server.client().responses.retrieve(id), OpenAI.NotFoundError);

describe('stored responses', () => {
  test('a conversation goes on after a restart', async () => {
    const { first, folder, server } = await acrossRestart();
    const client = server.client();
    const { output_text, ...retrieved } = await client.responses.retrieve(first.id);
    const { output_text: said, ...original } = first;
    assert.deepEqual(retrieved, original);
    assert.equal(output_text, said);
    const stream = client.responses.stream({
      model, input: 'What is my cat called?', previous_response_id: first.id,
    });
    const second = await stream.finalResponse();
    assert.equal(second.output_text, 'Minka.');
    const reference = { type: 'item_reference', id: first.output.at(-1).id };
    await client.responses.inputTokens.count({ input: [reference] });
    await client.responses.delete(first.id);
    await server.stop();
    const next = await serverOn(folder);
    await isGone(next, first.id);
    assert.equal((await next.client().responses.retrieve(second.id)).id, second.id);
  });

  test('and after a crash', async () => {
    const { first, server } = await acrossRestart(async (crashing, _, folder) => {
      await eventually(() => filesIn(folder).length === 1, 'the response is on disk');
      crashing.signal('SIGKILL');
      await crashing.exited();
    });
    assert.equal((await server.client().responses.retrieve(first.id)).id, first.id);
  });

  test('what is not to be stored is not written', async () => {
    const folder = join(temporaryFolder(), 'cache');
    const server = await serverOn(folder);
    const { id } = await server.client().responses.create({ model, input: secret, store: false });
    await server.stop();
    assert.deepEqual(filesIn(folder), []);
    await isGone(await serverOn(folder), id);
  });

  test('without a folder they go with the server', async () => {
    const flags = ['--cache-dir', 'off'];
    const { first, folder, server } = await acrossRestart(undefined, flags);
    assert.ok(!existsSync(folder));
    await isGone(server, first.id);
  });

  test('each key sees its own', async () => {
    const flags = ['--api-key', 'one', '--api-key', 'two'];
    const folder = join(temporaryFolder(), 'cache');
    const before = await serverOn(folder, flags);
    const { id } = await before.client({ apiKey: 'one' }).responses.create({ model, input: secret });
    await before.stop();
    const after = await serverOn(folder, flags);
    assert.equal((await after.client({ apiKey: 'one' }).responses.retrieve(id)).id, id);
    const other = after.client({ apiKey: 'two' }).responses.retrieve(id);
    await assert.rejects(other, OpenAI.NotFoundError);
  });

  test('DELETE /cache forgets them', async () => {
    const { first, folder, server } = await acrossRestart(async (clearing, { id }, path) => {
      const cleared = await clearing.fetch('/cache', { method: 'DELETE' });
      assert.equal(cleared.status, 200);
      assert.deepEqual(filesIn(path), []);
      await isGone(clearing, id);
      await clearing.stop();
    });
    assert.deepEqual(filesIn(folder), []);
    await isGone(server, first.id);
  });

  test('holdfast cache rm --all forgets them', async () => {
    const { first, server } = await acrossRestart(async (stopping, _, folder) => {
      await stopping.stop();
      assert.equal(filesIn(folder).length, 1);
      const removed = await run(['cache', 'rm', '--all', '--yes', '--cache-dir', folder], { program: holdfast });
      assert.equal(removed.code, 0, removed.stderr);
      assert.match(removed.stdout, /of responses/);
    });
    await isGone(server, first.id);
  });

  test('a damaged one is left out, and the log says so', async () => {
    const { first, folder, server } = await acrossRestart(async (stopping, _, path) => {
      await stopping.client().responses.create({ model, input: 'Hello!' });
      await stopping.stop();
      const [file] = filesIn(path).sort();
      const bytes = readFileSync(file);
      bytes[bytes.length - 1] ^= 1;
      writeFileSync(file, bytes);
    });
    await isGone(server, first.id);
    assert.match(server.log, /1 stored response in .* was damaged/);
    assert.equal(filesIn(folder).length, 1);
  });
});
