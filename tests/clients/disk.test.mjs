// The cache folder under a running server: damaged files, a second server, folders that are
// not ours, no room. Whatever is wrong with it costs time, never an answer.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, before, describe, test } from 'node:test';

import { eventually, temporaryFolder, useServer } from './server.mjs';
import {
  assertIntact, blobsIn, bytesIn, coldTurns, conversation, copyOf, diskOf, interrupt, killRest, newFolder, quarantineOf,
  say, serverOn, walk, written,
} from './states.mjs';

const cold = {};
const left = newFolder();  // by a server that was stopped after the first turn

describe('a cache folder', () => {
  afterEach(killRest);
  const on = useServer([]);
  before(async () => {
    cold.turns = await coldTurns(on.server, conversation(11, 60), 3);
    const server = await serverOn(left);
    await say(server, cold.turns[0]);
    await interrupt(server);
  });

  damage();
  company();
  oddFolders();
  noRoom();

  test('is private', async () => {
    const modes = walk(left).map(({ path, stat }) => [path, stat.isDirectory() ? 0o700 : 0o600, stat.mode & 0o7777]);
    for (const [path, expected, mode] of modes) assert.equal(mode, expected, path);
    assert.ok(modes.length > 10);
  });

  test('is emptied by DELETE /cache', async () => {
    const folder = copyOf(left);
    const server = await serverOn(folder);
    await say(server, cold.turns[1]);
    await written(server);
    assert.equal((await server.fetch('/cache', { method: 'DELETE' })).status, 200);
    await eventually(async () => (await diskOf(server)).blobs === 0, 'no blobs');
    assert.equal(bytesIn(folder), 0);
    assert.equal((await say(server, cold.turns[1])).restored_tokens, 0);
    await interrupt(server);
    assert.ok(blobsIn(folder).length > 0);
  });

  test('that is deleted under a server is created again, and missed by nobody', async () => {
    const folder = copyOf(left);
    const server = await serverOn(folder);
    rmSync(folder, { recursive: true });
    for (const turn of cold.turns) await say(server, turn);
    await server.logged(/had gone and was created again/);
    assert.ok((await written(server)).stored > 0);
    assert.match((await diskOf(server)).last_failure, /No such file/);
    assert.ok(blobsIn(folder).length > 0);
    await interrupt(server);
    const next = await serverOn(folder);
    assert.equal((await say(next, cold.turns.at(-1))).restored_from, 'disk');
    await interrupt(next);
  });
});

// --- damaged files -------------------------------------------------------------------------

function flipByte({ path, stat }) {
  const bytes = readFileSync(path);
  bytes[Math.floor(stat.size / 2)] ^= 1;
  writeFileSync(path, bytes);
}

function replaceBy(make) {
  return ({ path }) => {
    rmSync(path);
    make(path);
  };
}

function damage() {
  const outside = join(temporaryFolder(), 'letter.txt');
  const wounds = [
    ['a byte differs in three', [flipByte, flipByte, flipByte], true],
    ['a byte differs in all', Array(99).fill(flipByte), true],
    ['one is cut off', [({ path, stat }) => truncateSync(path, stat.size - 100)], true],
    ['one is hardly there', [({ path }) => truncateSync(path, 100)], true],
    ['one is a folder', [replaceBy((path) => mkdirSync(path))], false],
    ['one is a link', [replaceBy((path) => symlinkSync(outside, path))], false],
  ];

  for (const [what, hands, seenWhenRead] of wounds) {
    test(`damaged blobs, ${what}: the answers of a cold server`, async () => {
      writeFileSync(outside, 'Dear reader');
      const folder = copyOf(left);
      const blobs = blobsIn(folder).sort((a, b) => a.path.localeCompare(b.path));
      hands.slice(0, blobs.length).forEach((hand, i) => hand(blobs[i]));
      const server = await serverOn(folder);
      for (const turn of cold.turns) await say(server, turn);
      const { quarantined, last_failure } = await diskOf(server);
      assert.equal(quarantined > 0, seenWhenRead, last_failure);
      assert.equal(quarantineOf(folder).some((name) => name.endsWith('.why')), seenWhenRead);
      if (seenWhenRead) assert.ok(last_failure.length > 10);
      await server.assertAlive();
      await interrupt(server);
      assert.equal(readFileSync(outside, 'utf8'), 'Dear reader');
    });
  }

  test('what was damaged is written again', async () => {
    const folder = copyOf(left);
    blobsIn(folder).slice(0, 2).forEach(flipByte);
    for (const turn of [1, 2]) {
      const server = await serverOn(folder);
      await say(server, cold.turns[turn]);
      await interrupt(server);
    }
    const server = await serverOn(folder);
    assert.equal((await say(server, cold.turns[2])).restored_from, 'disk');
    await interrupt(server);
  });

  test('a damaged index is rebuilt', async () => {
    const folder = copyOf(left);
    writeFileSync(join(folder, 'index.sqlite'), 'This is not a database.'.repeat(500));
    const server = await serverOn(folder);
    assert.equal((await say(server, cold.turns[1])).restored_from, 'disk');
    await interrupt(server);
  });
}

// --- two servers ---------------------------------------------------------------------------

function company() {
  test('a second server reads, and writes nothing', async () => {
    const folder = copyOf(left);
    const first = await serverOn(folder);
    const second = await serverOn(folder);
    assert.match(second.log, /another server writes to .*only reads/);
    assert.equal((await diskOf(first)).writes, true);
    assert.equal((await diskOf(second)).writes, false);
    const names = () => walk(join(folder, 'blobs')).map(({ path }) => path).sort();
    const there = names();
    assert.equal((await say(second, cold.turns[1])).restored_from, 'disk');
    await say(second, cold.turns[2]);
    assert.equal((await written(second)).stored, 0);
    await interrupt(second);
    assert.deepEqual(names(), there);
    // What the first one writes later is found by a third.
    await say(first, cold.turns[1]);
    await written(first);
    const third = await serverOn(folder);
    assert.equal((await say(third, cold.turns[2])).restored_from, 'disk');
    await interrupt(third);
    await interrupt(first);
    await assertIntact(folder);
  });
}

// --- folders that are not ours ---------------------------------------------------------------

function oddFolders() {
  const put = (name, text) => (folder) => {
    mkdirSync(folder);
    writeFileSync(join(folder, name), text);
  };
  const odd = [
    ['of another format', put('FORMAT', 'holdfast cache 9\n')],
    ['with things of somebody else in it', put('letter.txt', 'Dear reader')],
    ['that is a file', (folder) => writeFileSync(folder, 'Dear reader')],
    ['below a file', (folder) => writeFileSync(folder, 'Dear reader'), '/below'],
    ['that cannot be made', () => {}, '', '/proc/holdfast'],
    ['that is a link to nowhere', (folder) => symlinkSync('/nonexistent/place', folder)],
  ];
  if (process.getuid() !== 0) {
    odd.push(['that may not be written', (folder) => {
      mkdirSync(folder);
      chmodSync(folder, 0o500);
    }]);
  }

  for (const [what, prepare, below = '', elsewhere] of odd) {
    test(`a folder ${what} is left alone, and the server serves`, async () => {
      const folder = elsewhere ?? newFolder();
      prepare(folder);
      const contents = () => execFileSync('sh', ['-c', 'find "$1" -exec stat -c "%n %f %s %Y" {} + 2>/dev/null || true',
        'sh', folder], { encoding: 'utf8' });
      const seen = contents();
      const server = await serverOn(folder + below);
      assert.match(server.log, /warn .*no states on disk: /);
      assert.equal(await diskOf(server), null);
      await say(server, cold.turns[0]);
      await interrupt(server);
      if (!elsewhere) assert.equal(contents(), seen);
    });
  }

  test('off means off', async () => {
    const server = await serverOn('off');
    assert.doesNotMatch(server.log, /disk/);
    assert.equal(await diskOf(server), null);
    await interrupt(server);
  });
}

// --- no room -------------------------------------------------------------------------------

// A small file system of its own, or nothing where this is not allowed.
function mountSmall(options) {
  const folder = temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'holdfast-test', folder], { stdio: 'ignore' });
  } catch {
    return null;
  }
  const unmount = () => execFileSync('umount', ['--lazy', folder], { stdio: 'ignore' });
  return { folder, unmount,
    remount: (more) => execFileSync('mount', ['-o', `remount,${more}`, folder], { stdio: 'ignore' }) };
}

function noRoom() {
  // A snapshot and its rows fit the second one only, and half a conversation is not kept.
  for (const mib of [1, 2]) test(`a budget of ${mib} MiB is held`, async () => {
    const folder = newFolder();
    const server = await serverOn(folder, '--cache-disk', `${mib}`);
    const budget = mib << 20;
    for (const turn of cold.turns) {
      await say(server, turn);
      assert.ok(bytesIn(folder) <= budget);
    }
    const disk = await written(server);
    assert.equal(disk.budget_bytes, budget);
    assert.ok(disk.dropped + disk.declined > 0, JSON.stringify(disk));
    assert.ok(bytesIn(folder) === disk.bytes && disk.bytes <= budget);
    if (mib > 1) assert.ok(disk.bytes > 0, JSON.stringify(disk));
    await interrupt(server);
    await assertIntact(folder);
  });

  test('a smaller budget than before is held from the start', async () => {
    const folder = copyOf(left);
    const server = await serverOn(folder, '--cache-disk', '1');
    assert.ok(bytesIn(folder) <= 1 << 20);
    await say(server, cold.turns[1]);
    await interrupt(server);
    assert.ok(bytesIn(folder) <= 1 << 20);
  });

  test('the last GiB of a volume is left free', async (t) => {
    const volume = mountSmall('size=1026m');
    if (!volume) return t.skip('tmpfs cannot be mounted here');
    t.after(volume.unmount);
    const folder = join(volume.folder, 'states');
    const server = await serverOn(folder, '--cache-disk', '100');
    await say(server, cold.turns[0]);
    const { blobs, declined } = await written(server);
    assert.ok(blobs > 0 && declined > 0, `${blobs} blobs, ${declined} declined`);
    await interrupt(server);
  });

  test('a full disk is reported, costs no answer, and is used again when there is room', async (t) => {
    const volume = mountSmall('size=1100m,nr_inodes=24');
    if (!volume) return t.skip('tmpfs cannot be mounted here');
    t.after(volume.unmount);
    const folder = join(volume.folder, 'states');
    const server = await serverOn(folder, '--cache-disk', '100');
    await say(server, cold.turns[0]);
    await server.logged(/a state could not be written to .*No space left/);
    const { failed, last_failure } = await diskOf(server);
    assert.ok(failed > 0);
    assert.match(last_failure, /No space left/);
    volume.remount('nr_inodes=1000');
    await say(server, cold.turns[1]);
    await interrupt(server);
    const next = await serverOn(folder, '--cache-disk', '100');
    assert.equal((await say(next, cold.turns[2])).restored_from, 'disk');
    await interrupt(next);
    await assertIntact(folder);
  });
}
