// A server in the hands of its operator: signals, limits of the system, restricted CPUs, a batch that
// never ends.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import {
  announcedServer, eventually, holdfast, run, startServer, temporaryFolder, withServer,
} from './server.mjs';

const hello = { messages: [{ role: 'user', content: 'Hello!' }], temperature: 0, max_tokens: 16 };

async function answers(server) {
  const { status, json } = await server.post('/v1/chat/completions', hello);
  assert.equal(status, 200, JSON.stringify(json));
}

// A program that starts the server in a setting of the shell's.
function wrapped(folder, before) {
  const path = join(folder, 'holdfast.sh');
  writeFileSync(path, `#!/bin/sh\n${before} "${holdfast}" "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

// What GET gives through a UNIX socket.
function getThrough(socketPath, path) {
  return new Promise((resolve, reject) => {
    get({ socketPath, path }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode));
    }).on('error', reject);
  });
}

test('a server has several ways in, all below one path', async () => {
  const socket = join(temporaryFolder(), 'holdfast.sock');
  await withServer(['--host', `127.0.0.1,127.0.0.2,${socket}`, '--api-prefix', '/llm'], async (server) => {
    const { origin, port, pathname } = new URL(server.url);
    assert.equal(pathname, '/llm');
    await answers(server);
    assert.equal((await fetch(`http://127.0.0.2:${port}/llm/health`)).status, 200);
    assert.equal(await getThrough(socket, '/llm/health'), 200);
    assert.equal(await getThrough(socket, '/health'), 404);
    // The page finds its parts below the path too.
    const page = await (await fetch(`${origin}/llm/`, { headers: { Accept: 'text/html' } })).text();
    const [, script] = page.match(/src="([^"]+[.]js)"/);
    assert.equal((await fetch(new URL(script, `${origin}/llm/`))).status, 200);
    assert.match(server.log, /ready at http:\/\/127[.]0[.]0[.]1:\d+\/llm and http:\/\/127[.]0[.]0[.]2:\d+\/llm and /);
  });
  assert.ok(!existsSync(socket), 'the socket goes with the server');
});

describe('signals', () => {
  test('SIGHUP opens the log file again, and nothing else happens', async () => {
    const file = join(temporaryFolder(), 'log');
    await withServer(['--log-file', file], async (server) => {
      assert.equal(statSync(file).mode & 0o777, 0o600);
      renameSync(file, `${file}.1`);
      server.signal('SIGHUP');
      await server.logged(/loaded again: the log file/);
      await answers(server);
      await eventually(() => readFileSync(file, 'utf8').includes('/v1/chat/completions'), 'a line there');
    });
  });

  test('SIGHUP without anything to load, SIGUSR1 and SIGUSR2 do not end it', async () => {
    await withServer([], async (server) => {
      server.signal('SIGHUP');
      await server.logged(/there is nothing to load again/);
      server.signal('SIGUSR2');
      server.signal('SIGUSR1');
      await server.logged(/status slots_busy=0 slots=4 waiting=0/);
      await answers(server);
    });
  });
});

describe('limits of the system', () => {
  test('a file that grows beyond `ulimit -f` costs states, not the server', async () => {
    const folder = temporaryFolder();
    const states = join(folder, 'states');
    const server = await startServer(['--cache-dir', states, '--cache-rest', '0'],
      { program: wrapped(folder, 'ulimit -f 64; exec') });  // 32 or 64 KiB
    await answers(server);
    await server.logged(/could not be written to .*File too large; answers are not affected/);
    await answers(server);
    await server.stop();
  });

  test('in a CPU set of one, one thread computes', { skip: !canPin() }, async () => {
    const folder = temporaryFolder();
    const { stdout } = await run(['doctor', '--json', '--cache-dir', 'off'],
      { program: wrapped(folder, 'exec taskset -c 0') });
    assert.match(JSON.parse(stdout).machine.usable_cores, /^1 of \d+ CPUs/);
  });

  test('an empty key refuses to start', async () => {
    for (const variable of ['HOLDFAST_API_KEY', 'LLAMA_API_KEY', 'LLAMA_ARG_API_KEY']) {
      const ended = await run(['serve', '--port', '0'], { env: { [variable]: '' } });
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, new RegExp(`${variable} needs at least one item that is not empty`));
    }
  });
});

function canPin() {
  try {
    execFileSync('taskset', ['-c', '0', 'true']);
    return true;
  } catch {
    return false;
  }
}

describe('a batch that never ends', { skip: !process.env.PLANTED_FAULTS }, () => {
  test('does not keep SIGTERM from ending the server, and the folder is whole', async () => {
    const folder = temporaryFolder();
    const states = join(folder, 'states');
    const when = join(folder, 'hang-now');
    // What is read ahead would be a batch, too.
    const flags = ['--cache-dir', states, '--cache-rest', '0', '--stop-timeout', '1', '--prewarm', 'off'];
    const server = await announcedServer(flags, {
      env: { LD_PRELOAD: process.env.PLANTED_FAULTS, HOLDFAST_PLANTED_FAULT: 'hangs', HOLDFAST_PLANTED_WHEN: when },
    });
    await answers(server);
    writeFileSync(when, '');
    const lost = server.post('/v1/completions', { prompt: 'Something else', max_tokens: 64 }).catch(() => 'lost');
    // A long step is not a stuck one yet.
    const busy = async () => /reading|writing/.test((await server.getJson('/health')).scheduler.doing);
    await eventually(busy, 'a step under way');
    server.signal('SIGTERM');
    const { code, signal } = await server.exited();
    assert.deepEqual({ code, signal }, { code: 1, signal: null }, server.log);
    assert.match(server.log, /did not stop in time and ends now.* scheduler="?(reading|writing) \d+ tokens.* request=\S+/);
    assert.equal(await lost, 'lost');
    rmSync(when);
    const verified = await run(['cache', 'verify', '--cache-dir', states]);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
    const again = await startServer(['--cache-dir', states]);
    await answers(again);
    await again.stop();
  });
});

describe('a crash', { skip: !process.env.PLANTED_FAULTS }, () => {
  const cats = Array.from({ length: 20 }, (_, i) => `Cat number ${i} is called Minka ${i * 7}.`).join(' ');
  const opening = { role: 'user', content: `${cats} What is cat number 3 called?` };

  // How a server with that fault ends; what it wrote; what the server after it restores.
  async function crash(fault, strike) {
    const folder = temporaryFolder();
    const states = join(folder, 'states');
    const when = join(folder, 'crash-now');
    const server = await announcedServer(['--cache-dir', states, '--cache-rest', '0'], {
      env: { LD_PRELOAD: process.env.PLANTED_FAULTS, HOLDFAST_PLANTED_FAULT: fault, HOLDFAST_PLANTED_WHEN: when },
    });
    try {
      return await struck(server, { states, when }, strike);
    } finally {
      server.child.kill('SIGKILL');
    }
  }

  async function struck(server, { states, when }, strike) {
    const { json: first } = await server.post('/v1/chat/completions', { ...hello, messages: [opening] });
    const latest = (await server.getJson('/cache/receipts')).data[0];
    const isWritten = async () => {
      const { disk } = await server.getJson('/cache');
      return disk.blobs > 0 && disk.waiting_conversations === 0;
    };
    await eventually(isWritten, 'a state on disk');
    const { build_info } = await server.getJson('/props');
    await strike(server, when);
    const ended = await server.exited();
    const verified = await run(['cache', 'verify', '--cache-dir', states]);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
    await withServer(['--cache-dir', states], async (again) => {
      const messages = [opening, first.choices[0].message, { role: 'user', content: 'And cat number 4?' }];
      const { json } = await again.post('/v1/chat/completions', { ...hello, messages, cache_receipt: true });
      assert.equal(json.cache_receipt.restored_from, 'disk');
      assert.ok(json.cache_receipt.restored_tokens > 150, `${json.cache_receipt.restored_tokens} tokens`);
    });
    return { ended, log: server.log, latest, build_info };
  }

  // A prompt during which the fault strikes.
  const during = async (server, when) => {
    writeFileSync(when, '');
    await server.post('/v1/completions', { prompt: 'Something else', max_tokens: 64 }).catch(() => 'lost');
  };

  test('says build, model, request and stack, ends by its signal, and loses no state', async () => {
    const { ended, log, build_info } = await crash('crashes', during);
    assert.deepEqual(ended, { code: null, signal: 'SIGSEGV' });
    assert.match(log, /^holdfast: crash: SIGSEGV, address not mapped: 0x0000000000000008$/m);
    assert.match(log, /^ {2}model {5}\S*holdfast-pocket-q8_0[.]gguf$/m);
    assert.match(log, /^ {2}doing {5}reading a prompt$/m);
    assert.match(log, /^ {2}request {3}gen-\w+$/m);
    assert.match(log, /_ZN8holdfast\w*serve\w*Loop\w*/, 'functions of ours by name');
    // The same name of the build everywhere.
    const { stdout } = await run(['--version']);
    const [build] = stdout.split('\n');
    const doctor = JSON.parse((await run(['doctor', '--json', '--ctx-size', '1024'])).stdout);
    assert.ok(log.includes(`  build     ${build}, llama.cpp `), log);
    assert.equal(build_info, build);
    assert.equal(doctor.program, build);
  });

  test('an abort of the engine is reported too', async () => {
    const { ended, log } = await crash('aborts', during);
    assert.deepEqual(ended, { code: null, signal: 'SIGABRT' });
    assert.match(log, /^holdfast: crash: SIGABRT$/m);
  });

  test('so is a signal from elsewhere, with the request that was the last one', async () => {
    const { ended, log, latest } = await crash('none', (server) => server.signal('SIGBUS'));
    assert.deepEqual(ended, { code: null, signal: 'SIGBUS' });
    assert.match(log, new RegExp(`^holdfast: crash: SIGBUS, sent by process ${process.pid}$`, 'm'));
    assert.match(log, /^ {2}doing {5}(resting|idle work|taking requests in)$/m);
    assert.ok(log.includes(`  request   ${latest.id}\n`), `${latest.id} in ${log}`);
  });
});
