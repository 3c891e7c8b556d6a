// The program on its command line: help, mistakes, bad models, and `holdfast chat`.
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import {
  announcedServer, pocketModel, run, startServer, temporaryFolder, useServer, withServer,
} from './server.mjs';
import { ask, textOf } from './talk.mjs';

// The commit, the engine with the processor's features, the library that is chosen for it.
const isVersion = /^holdfast \d+\.\d+\.\d+ \([\w.+~-]+\)\nllama\.cpp \S+ \(.+\)\nCPU variant: \S+\n$/;

describe('help and mistakes', () => {
  for (const [args, expected] of [
    [['--help'], /holdfast serve.*holdfast chat/s],
    [['help'], /holdfast serve.*holdfast chat/s],
    [[], /holdfast serve.*holdfast chat/s],
    [['serve', '--help'], /--model.*--ctx-size.*--api-key/s],
    [['serve', '-h'], /--model/],
    [['chat', '--help'], /--url/],
    [['doctor', '--help'], /--json.*those of `holdfast serve`/s],
    [['manual', 'cache'], /^\.TH HOLDFAST.*\\-\\-cache\\-dir/s],
    [['completion', 'bash'], /complete .* holdfast\n$/],
    [['--version'], isVersion],
    [['version'], isVersion],
    [['serve', '--version'], isVersion],
  ]) {
    test(`holdfast ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await run(args);
      assert.equal(code, 0);
      assert.match(stdout, expected);
      assert.equal(stderr, '');
    });
  }

  for (const [args, expected] of [
    [['serv'], /did you mean 'serve'/],
    [['serve', '--prot', '1'], /did you mean --port/],
    [['serve', '--nonsense'], /--nonsense/],
    [['serve', '--port', '99999'], /--port/],
    [['serve', '--port'], /--port/],
    [['serve', '--ctx-size', 'many'], /--ctx-size/],
    [['serve', '--api-key-file', '/no/such/file'], /\/no\/such\/file/],
    [['serve', 'model.gguf'], /model\.gguf/],
    [['chat', '--nonsense'], /--nonsense/],
    [['manual', 'nonsense'], /no manual page for 'nonsense'/],
    [['completion', 'tcsh'], /bash, zsh or fish/],
  ]) {
    test(`holdfast ${args.join(' ')} is one sentence and exit code 2`, async () => {
      const { code, stdout, stderr } = await run(args);
      assert.equal(code, 2);
      assert.match(stderr, expected);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.equal(stdout, '');
    });
  }

  // What stands on a command line or in a file may come from somebody else.
  const nasty = 'x\x1b[31m\nforged';
  for (const args of [
    [nasty], ['serve', `--${nasty}`], ['serve', '--port', nasty], ['serve', '--config', `/no/${nasty}`],
    ['serve', '--log-file', `/no/${nasty}`], ['chat', `--${nasty}`], ['chat', '--url', nasty, 'hi'],
    ['explain', `--${nasty}`], ['explain', '--url', nasty], ['replay', `--${nasty}`],
    ['replay', `/no/${nasty}`], ['launch', nasty], ['manual', nasty], ['completion', nasty],
    ['doctor', `--${nasty}`], ['cache', nasty], ['cache', 'ls', '--cache-dir', `/no/${nasty}`],
  ]) {
    test(`no command writes control characters: ${JSON.stringify(args)}`, async () => {
      const { code, stderr } = await run(args);
      assert.notEqual(code, 0);
      assert.match(stderr, /forged/);
      assert.doesNotMatch(stderr, /[\x00-\x08\x0b-\x1f\x7f]|^forged/m, JSON.stringify(stderr));
    });
  }

  test('options come from the environment too, and the command line wins', async () => {
    const named = (flags, env) => startServer(flags, { env });
    for (const [flags, env, name] of [
      [[], { HOLDFAST_ALIAS: 'ours' }, 'ours'],
      [[], { LLAMA_ARG_ALIAS: 'theirs' }, 'theirs'],
      [['--alias', 'line'], { HOLDFAST_ALIAS: 'ours' }, 'line'],
    ]) {
      const server = await named(flags, env);
      assert.equal((await server.getJson('/props')).model_alias, name);
      await server.stop();
    }
  });

  test('a port in use is one line and exit code 1', async () => {
    await withServer([], async (server) => {
      const { port } = new URL(server.url);
      const { code, stderr } = await run(['serve', '--port', port]);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`^\\S+ error .*${port}.*in use\\n$`));
    });
  });
});

describe('models that are none', () => {
  const folder = temporaryFolder();
  const whole = readFileSync(pocketModel);

  function file(name, bytes) {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return path;
  }

  // The same noise in each run: what it does to the loader can be repeated.
  function noise(length) {
    const bytes = Buffer.alloc(length);
    for (let i = 0, state = 1; i < length; ++i) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      bytes[i] = state >>> 24;
    }
    return bytes;
  }

  function damaged(offset, length) {
    const copy = Buffer.from(whole);
    noise(length).copy(copy, offset);
    return copy;
  }

  const continued = (length, rest) => Buffer.concat([whole.subarray(0, length), noise(rest)]);

  const bad = [
    ['no such file', () => join(folder, 'missing.gguf')],
    ['a folder', () => folder],
    ['an empty file', () => file('empty.gguf', '')],
    ['a text', () => file('text.gguf', 'hello\n')],
    ['noise', () => file('noise.gguf', noise(5000))],
    ['noise that begins like a model', () => file('magic.gguf', continued(4, 5000))],
    ['noise after the version', () => file('version.gguf', continued(8, 100_000))],
    ['noise after the counts', () => file('counts.gguf', continued(24, 100_000))],
    ['noise in the metadata', () => file('metadata.gguf', damaged(200, 400))],
    ...[4, 20, 100, 5000, 100_000, 200_000, 1_000_000, whole.length - 1].map((length) => [
      `the first ${length} bytes of a model`,
      () => file(`cut-${length}.gguf`, whole.subarray(0, length)),
    ]),
  ];
  for (const [name, path] of bad) {
    test(`${name}: exit code 1 and a line that says why`, async () => {
      const model = path();
      const { code, signal, stderr } = await run(['serve', '--port', '0', '--model', model]);
      assert.deepEqual({ code, signal }, { code: 1, signal: null }, stderr);
      const errors = stderr.split('\n').filter((line) => /^\S+ error /.test(line));
      assert.equal(errors.length, 1, stderr);
      assert.ok(errors[0].includes(`Cannot load ${model}: `), errors[0]);
    });
  }

  test('a bad model is said in plain words, once', async () => {
    const model = file('cut.gguf', whole.subarray(0, 5000));
    const { stderr } = await run(['serve', '--port', '0', '--model', model]);
    assert.doesNotMatch(stderr, / warn |: done|gguf_init/);
  });
});

describe('ready means ready', () => {
  test('a request right after the line is answered', async () => {
    for (let i = 0; i < 5; ++i) {
      const server = await announcedServer();
      const status = (await server.fetch('/health')).status;
      await server.stop();
      assert.equal(status, 200);
    }
  });
});

describe('the log', () => {
  test('goes to a file, as JSON if asked, and tells of each request', async () => {
    const path = join(temporaryFolder(), 'log');
    closeSync(openSync(path, 'w'));
    await withServer(['--log-file', path], async (server) => ask(server.client(), 'Hello!'));
    assert.match(readFileSync(path, 'utf8'), /ready at .*request method=POST.*stopped/s);
    const { stderr } = await run(['serve', '--port', '0', '--log-format', 'json', '-m', '/no/such']);
    const lines = stderr.trim().split('\n').map((line) => JSON.parse(line));
    assert.ok(lines.some((line) => line.level === 'error'));
  });
});

describe('holdfast chat', () => {
  const on = useServer(['--temp', '0', '--api-key', 'sesame']);
  const chat = (args, options) =>
    run(['chat', '--url', on.server.url, '--api-key', 'sesame', ...args], options);

  async function assertAnswers(promise, expected) {
    const { code, stdout, stderr } = await promise;
    assert.equal(code, 0, stderr);
    assert.match(stdout, expected);
  }

  test('answers a question', () =>
    assertAnswers(chat(['What is the capital of France?']), /^The capital of France is Paris\.\n$/));

  test('joins the words of a question', () =>
    assertAnswers(chat(['What', 'is', 'the', 'capital', 'of', 'France?']), /Paris/));

  test('answers a question from standard input', () =>
    assertAnswers(chat([], { input: 'What is 12 + 30?\n' }), /^12 \+ 30 = 42\.\n$/));

  test('puts standard input where the dash is', () =>
    assertAnswers(chat(['Repeat after me:', '-'], { input: 'blue lamp river' }), /^blue lamp river\n$/));

  test('does not think when told so', () =>
    assertAnswers(chat(['--no-think', 'Hello!']), /^Hello! How can I help you today\?\n$/));

  test('is not longer than told', () =>
    assertAnswers(chat(['--no-think', '--max-tokens', '7', 'Count from 1 to 30.']), /^1, 2, 3\n$/));

  test('takes address and key from the environment', () => {
    const env = { HOLDFAST_URL: on.server.url, HOLDFAST_API_KEY: 'sesame' };
    return assertAnswers(run(['chat', 'Hello!'], { env }), /^Hello!/);
  });

  test('a wrong key and a missing server are one line and exit code 1', async () => {
    for (const [args, expected] of [
      [['--url', on.server.url, '--api-key', 'wrong', 'Hello!'], /key/],
      [['--url', 'http://127.0.0.1:1', 'Hello!'], /No server at/],
    ]) {
      const { code, stdout, stderr } = await run(['chat', ...args]);
      assert.equal(code, 1);
      assert.match(stderr, expected);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.equal(stdout, '');
    }
  });

  test('the server is there afterwards', async () => {
    assert.match(textOf(await ask(on.server.client({ apiKey: 'sesame' }), 'Hello!')), /^Hello!/);
  });
});
