// A Holdfast server, started for tests and stopped after them.
//
// Every process that startServer() or run() starts is killed when this process
// exits, whatever the reason, so that a failed test leaves nothing behind.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import OpenAI from 'openai';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const holdfast = process.env.HOLDFAST_BIN ?? join(root, 'build/holdfast');
// Makes tiny models (tools/genmodel).
export const generator = process.env.GENMODEL ?? join(root, 'build/holdfast-genmodel');
export const keepThoughts = fileURLToPath(new URL('keep_thoughts.jinja', import.meta.url));
export const strictSystem = fileURLToPath(new URL('strict_system.jinja', import.meta.url));
export const pocketModel = join(root, 'models/holdfast-pocket-q8_0.gguf');

// Far beyond what anything here takes, so that only a hang reaches it.
export const patience_ms = 120_000;

// One thread is enough for the pocket model, and two that wait for each other
// are many times slower on a machine that is busy with other things.
const calm = ['--threads', '1'];

const running = new Set();
const folders = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

// The tests decide what the program sees, not the shell they are run from.
function cleanEnvironment(extra = {}) {
  const kept = Object.entries(process.env).filter(([name]) => !/^(HOLDFAST_|LLAMA_)/.test(name));
  // The engine is checked where that is tested (engine.test.mjs): it would be at every start.
  return {
    ...Object.fromEntries(kept), HOLDFAST_CACHE_DIR: 'off', HOLDFAST_CHECK_ENGINE: 'off', ...extra,
  };
}

function launch(args, { env, program = holdfast, ...options } = {}) {
  const child = spawn(program, args, { env: cleanEnvironment(env), ...options });
  running.add(child);
  child.exited = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal });
    });
  });
  child.exited.catch(() => {});
  return child;
}

export async function within(promise, what, limit_ms = patience_ms) {
  const timer = new AbortController();
  const late = sleep(limit_ms, null, { signal: timer.signal }).then(() => {
    throw new Error(`${what} took longer than ${limit_ms} ms`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    late.catch(() => {});
    timer.abort();
  }
}

// Asks again and again until `probe` answers something true.
export async function eventually(probe, what) {
  const deadline = Date.now() + patience_ms;
  for (;;) {
    const answer = await probe();
    if (answer) return answer;
    assert.ok(Date.now() < deadline, `${what} did not happen within ${patience_ms} ms`);
    await sleep(10);
  }
}

// A folder that goes when the tests of this file are over.
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  folders.add(folder);
  return folder;
}

// Runs the program to its end. Standard input is `input`, or nothing at all.
export async function run(args, { input = '', env, program } = {}) {
  const child = launch(args, { env, program });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (output.stderr += text));
  child.stdin.on('error', () => {}).end(input);
  try {
    return { ...output, ...(await within(child.exited, `holdfast ${args.join(' ')}`)), ...output };
  } finally {
    child.kill('SIGKILL');
  }
}

class Server {
  constructor(child, lines) {
    this.child = child;
    this.lines = lines;
  }

  get log() {
    return this.lines.join('\n');
  }

  // Does not retry, so that a test sees each answer of the server.
  client(options = {}) {
    return new OpenAI({ baseURL: `${this.url}/v1`, apiKey: 'none', maxRetries: 0, ...options });
  }

  fetch(path, options) {
    return fetch(this.url + path, options);
  }

  async getJson(path) {
    const response = await this.fetch(path);
    assert.equal(response.status, 200, `GET ${path}`);
    return response.json();
  }

  // The answer's body is parsed; `status` and `headers` come along.
  async post(path, body, headers = {}) {
    const response = await this.fetch(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, json: await response.json() };
  }

  async assertAlive() {
    assert.equal((await this.getJson('/health')).status, 'ok');
  }

  // Waits until this many slots write an answer. The list of slots is a little
  // behind the answers.
  async writing(count) {
    const writers = async () =>
      (await this.getJson('/slots')).filter((slot) => slot.next_token[0].n_decoded > 0).length;
    await eventually(async () => (await writers()) === count, `${count} slots at work`);
  }

  // Waits until no slot is at work.
  async idle() {
    const resting = async () => (await this.getJson('/slots')).every((slot) => !slot.is_processing);
    await eventually(resting, 'all slots idle');
  }

  // Waits until a line of the log matches.
  async logged(pattern) {
    await eventually(() => this.lines.some((line) => pattern.test(line)), `the line ${pattern}`);
  }

  signal(name) {
    this.child.kill(name);
  }

  exited() {
    return within(this.child.exited, 'the end of the server');
  }

  async stop() {
    this.signal('SIGTERM');
    try {
      const { code, signal } = await this.exited();
      assert.deepEqual({ code, signal }, { code: 0, signal: null }, this.log);
    } finally {
      this.child.kill('SIGKILL');
    }
  }
}

async function readyUrl(child, lines) {
  const reader = createInterface({ input: child.stderr });
  const ready = new Promise((resolve) => {
    reader.on('line', (line) => {
      lines.push(line);
      const found = line.match(/ready at (https?:\/\/\S+)/);
      if (found) resolve(found[1]);
    });
  });
  const ended = child.exited.then(({ code, signal }) => {
    throw new Error(`the server ended (${code ?? signal}) before it was ready:\n${lines.join('\n')}`);
  });
  ended.catch(() => {});
  return within(Promise.race([ready, ended]), 'starting the server');
}

// Starts `holdfast serve` on a free port and waits until it says that it is ready.
export async function announcedServer(flags = [], { env, program } = {}) {
  const child = launch(['serve', '--port', '0', ...calm, ...flags], {
    env,
    program,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines = [];
  const server = new Server(child, lines);
  try {
    server.url = await readyUrl(child, lines);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return server;
}

// The same, and it is: see the test "ready means ready".
export async function startServer(flags, options) {
  const server = await announcedServer(flags, options);
  await eventually(async () => (await server.fetch('/health')).ok, 'health');
  return server;
}

// One server for all tests of a suite; to be called inside describe().
export function useServer(flags) {
  const holder = {};
  before(async () => {
    holder.server = await startServer(flags);
    holder.client = holder.server.client();
  });
  after(() => holder.server?.stop());
  return holder;
}

// A server for one test.
export async function withServer(flags, body) {
  const server = await startServer(flags);
  try {
    await body(server);
    if (server.child.exitCode === null) await server.stop();
  } finally {
    server.child.kill('SIGKILL');
  }
}
