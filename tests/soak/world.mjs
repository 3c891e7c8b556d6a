// The server under load, the cold one beside it, and the folder that both a disk and other hands may spoil.
//
// The folder is a small file system of its own where the system lets us mount one (root on Linux); elsewhere the
// disk is never full, and the report says so.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { startServer, temporaryFolder } from '../clients/server.mjs';
import { walk } from '../clients/states.mjs';

// The server leaves 1024 MiB of a volume to others, and stops writing states before that.
const disk_MiB = 1024 + 128;
const states_MiB = 64;
const common = ['--deterministic', '--ctx-size', '8192', '--latency-target', '50'];

export class World {
  slots = 3;
  compareEvery = 3;
  lives = 0;

  constructor(random, book) {
    this.random = random;
    this.book = book;
    this.root = temporaryFolder();
    this.disk = join(this.root, 'disk');
    mkdirSync(this.disk);
    this.limited = this.mount();
    this.excuse = null;
  }

  mount() {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${disk_MiB}m`, 'tmpfs', this.disk], { stdio: 'ignore' });
    } catch {
      return false;
    }
    process.prependListener('exit', () => execFileSync('umount', ['-l', this.disk]));  // before it is removed
    return true;
  }

  get states() {
    return join(this.disk, 'states');
  }

  get pid() {
    return this.server.child.pid;
  }

  async start() {
    this.cold ??= await startServer([...common, '--parallel', '1', '--cache-ram', '0', '--no-token-history']);
    this.keepsIds = this.lives++ % 2 === 1;
    this.server = await startServer([
      ...common, '--parallel', String(this.slots), '--cache-ram', '48', '--cache-dir', this.states,
      '--cache-disk', String(states_MiB), '--cache-rest', '500', '--prove', '0.05',
      '--slot-save-path', join(this.disk, 'slots'), '--slot-save-max', '16',
      this.keepsIds ? '--token-history' : '--no-token-history',
    ]);
    this.watchEnd(this.server);
  }

  // An end that nobody planned is a crash.
  watchEnd(server) {
    server.child.exited.then(({ code, signal }) => {
      if (server.planned) return;
      this.book.trouble('crash', `the server ended (${code ?? signal}):\n${server.lines.slice(-20).join('\n')}`);
      this.crashed = true;
    });
  }

  // Whether what fails just now is explained.
  expecting() {
    return this.excuse !== null;
  }

  // --- faults ------------------------------------------------------------------------------------------------

  async plan(fault, what) {
    this.book.count(fault);
    this.excuse = fault;
    try {
      await what();
    } finally {
      this.excuse = null;
    }
  }

  // kill -9 under load, or a stop by a signal; whatever `between` does to the folder; another life.
  async restart(signal, load, between = () => {}) {
    await this.plan(`restarts by ${signal}`, async () => {
      const busy = Promise.all([load.round(), load.round(), load.round()]);
      await sleep(this.random.below(1500));
      this.server.planned = true;
      this.server.signal(signal);
      await Promise.all([busy, this.server.exited()]);
      await between();
      await this.start();
    });
  }

  async fullDisk(load) {
    await this.plan('times of a full disk', async () => {
      const filler = join(this.disk, 'filler');
      try {
        for (;;) writeFileSync(filler, Buffer.alloc(4 << 20), { flag: 'a' });
      } catch (error) {
        if (error.code !== 'ENOSPC') throw error;
      }
      for (let rounds = 8; rounds > 0; --rounds) await load.round();
      rmSync(filler);
    });
  }

  // Files that are cut, changed or gone: under the running server, or while there is none.
  damage() {
    // Without FORMAT a folder is not ours, and no server would use it again.
    const files = this.everything().filter(({ stat, path }) => stat.isFile() && !/lock$|FORMAT$/.test(path));
    for (let left = Math.min(files.length, 1 + this.random.below(6)); left > 0; --left) {
      this.hurt(this.random.pick(files));
      this.book.count('damaged files');
    }
  }

  // While the folder is looked at, a running server removes files of its own.
  everything() {
    for (;;) {
      try {
        return walk(this.disk);
      } catch (error) {
        if (error.code !== 'ENOENT') throw error;
      }
    }
  }

  hurt({ path, stat }) {
    const index = /index|sqlite|\.db/.test(path);
    if (index && !this.server.planned) return;  // under a running server nobody but SQLite writes there
    try {
      const bytes = readFileSync(path);
      if (this.random.once(3)) return rmSync(path);
      if (this.random.once(2)) return truncateSync(path, this.random.below(stat.size + 1));
      if (bytes.length > 0) bytes[this.random.below(bytes.length)] ^= 1 << this.random.below(8);
      writeFileSync(path, bytes, { flag: 'r+' });
    } catch (error) {
      if (error.code !== 'ENOENT' && error.code !== 'ENOSPC') throw error;
    }
  }

  async end() {
    for (const server of [this.server, this.cold]) {
      server.planned = true;
      await server.stop();
    }
  }
}
