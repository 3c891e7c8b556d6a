// `holdfast launch` with agents that are shell scripts: what they are given, what becomes of the
// server, and that nothing stays behind. (Real agents are tested elsewhere.)
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { holdfast, run, temporaryFolder, useServer, within } from './server.mjs';

const agents = ['claude', 'codex', 'opencode', 'pi', 'qwen', 'cline'];

// A folder with programs of these names, all of them `script`.
function programs(script) {
  const folder = temporaryFolder();
  for (const name of agents) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

// Launches on folders that hold nothing else, and looks at what is left there.
async function launch(args, script, extra = {}) {
  const home = temporaryFolder();
  const tmp = join(temporaryFolder(), 'tmp');
  mkdirSync(tmp);
  const path = script === null ? temporaryFolder() : `${programs(script)}:/bin:/usr/bin`;
  const ended = await run(['launch', ...args], {
    env: { HOME: home, TMPDIR: tmp, PATH: path, ...extra },
  });
  return { ...ended, left: [...readdirSync(home), ...readdirSync(tmp)] };
}

describe('on a server that runs', () => {
  const at = useServer(['-c', '4k', '-np', '1', '--alias', 'it\'s "small"']);

  for (const agent of agents) {
    test(`${agent} is told where it is`, async () => {
      const script = 'env; for a in "$@"; do echo "arg=$a"; done; '
        + 'for f in "${TMPDIR:-/tmp}"/*/*.js*; do cat "$f"; done; exit 3';
      const ended = await launch([agent, '--url', at.server.url, '--', '-x', 'a b'], script);
      assert.equal(ended.code, 3, 'the exit code of the agent');
      assert.ok(ended.stdout.includes(at.server.url));
      assert.ok(ended.stdout.includes('4096'), 'the size of the context');
      assert.match(ended.stdout, /arg=-x\narg=a b\n/);
      assert.match(ended.stderr, /4,096 tokens of context/);
      assert.equal(/start the server with a larger context/.test(ended.stderr), agent !== 'pi');
      assert.deepEqual(ended.left, []);
    });

    test(`${agent} --print, read by a shell, sets the same`, async () => {
      const show = 'env | grep -v "^_=" | sort; for a in "$@"; do echo "arg=$a"; done; true';
      const started = await launch([agent, '--url', at.server.url, '--', 'a b'], show);
      const printed = await launch([agent, '--url', at.server.url, '--print'], null);
      assert.equal(printed.code, 0, printed.stderr);
      const folder = programs(show);
      const inShell = await run(['-c', `${printed.stdout}\n${agent} 'a b'`], {
        program: '/bin/sh',
        env: { PATH: `${folder}:/bin:/usr/bin`, TMPDIR: temporaryFolder() },
      });
      assert.equal(inShell.code, 0, inShell.stderr);
      const settings = (text) => text.split('\n')
        .filter((line) => /^(arg=|[A-Z_]*(ANTHROPIC|CLAUDE|OPENAI|QWEN|CLINE|OPENCODE|HOLDFAST_AGENT_KEY|API_KEY))/.test(line))
        .map((line) => line.replace(/(=|")\/[^"]*\/([a-z.-]+)/, '$1FOLDER/$2'));
      assert.deepEqual(settings(inShell.stdout), settings(started.stdout));
    });
  }

  test('a model is not loaded where a server has one', async () => {
    const { port } = new URL(at.server.url);
    const ended = await launch(['pi', '--port', port, '-m', '/no/such.gguf'], 'exit 0');
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stderr, /-m \/no\/such\.gguf is not used/);
  });
});

describe('without a server', () => {
  test('one is started, and ends with the agent', async () => {
    const script = 'curl -sf "$OPENAI_BASE_URL/models" && env | grep "^OPENAI_BASE_URL"';
    const ended = await launch(['qwen', '--port', '0', '-c', '2k', '-np', '1', '-t', '1'], script);
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stdout, /"n_ctx": ?2048/);
    assert.deepEqual(ended.left, []);
    const [, url] = ended.stdout.match(/OPENAI_BASE_URL=(\S+)/);
    await assert.rejects(fetch(`${url}/models`), 'the server has ended');
  });

  test('one that fails says why, and the agent is not started', async () => {
    const ended = await launch(['qwen', '--port', '0', '-m', '/no/such.gguf'], 'echo started');
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /the server has ended:\n.*no\/such\.gguf/s);
    assert.equal(ended.stdout, '');
    assert.deepEqual(ended.left, []);
  });

  // As with a key at the terminal while a large model loads.
  test('a signal while it waits leaves nothing behind', async (t) => {
    const asked = Promise.withResolvers();
    const loading = createServer((request, response) => {
      response.writeHead(503, { 'Content-Type': 'application/json' }).end('{"progress":0.5}');
      asked.resolve();
    });
    t.after(() => loading.close());
    await new Promise((resolve) => loading.listen(0, '127.0.0.1', resolve));
    const tmp = temporaryFolder();
    const url = `http://127.0.0.1:${loading.address().port}`;
    const child = spawn(holdfast, ['launch', 'pi', '--url', url], {
      env: { PATH: programs('echo started'), TMPDIR: tmp }, stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    await within(asked.promise, 'the first question');
    child.kill('SIGINT');
    assert.equal(await within(ended, 'its end'), 130);
    assert.deepEqual(readdirSync(tmp), []);
  });

  test('a missing agent says how to install it, before anything is started', async () => {
    const ended = await launch(['claude', '--port', '0'], null);
    assert.equal(ended.code, 127);
    assert.match(ended.stderr, /npm install -g @anthropic-ai\/claude-code/);
  });

  test('--print and --url start none', async () => {
    for (const args of [['pi', '--print', '--port', '1'], ['pi', '--url', 'http://127.0.0.1:1']]) {
      const ended = await launch(args, 'echo started');
      assert.equal(ended.code, 1);
      assert.match(ended.stderr, /No server answers at http:\/\/127\.0\.0\.1:1/);
      assert.equal(ended.stdout, '');
    }
  });
});
