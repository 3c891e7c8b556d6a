// The servers under measurement: how each is started, and that each is stopped.
//
// A contestant is {name, kind: 'holdfast' | 'llama-server', program, libraries, extra}.
// A running one is a Server. All contestants of a comparison get equal settings:
// {model, threads, slots, context, flash}; `context` is what one conversation holds.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { healthy, post } from './client.mjs';

const start_limit_ms = 300_000;
const stop_limit_ms = 20_000;

const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

// Starts a child that does not outlive this process. Its output goes to `log`.
export function launch(program, args, { log, env } = {}) {
  const output = log ? openSync(log, 'a') : 'ignore';
  const child = spawn(program, args, { stdio: ['ignore', output, output], env: env ?? process.env });
  if (log) closeSync(output);
  running.add(child);
  child.ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => resolve(`ended with ${signal ?? `code ${code}`}`));
  }).finally(() => running.delete(child));
  return child;
}

export async function stop(child) {
  const limit = setTimeout(() => child.kill('SIGKILL'), stop_limit_ms);
  child.kill('SIGTERM');
  await child.ended;
  clearTimeout(limit);
}

// --- command lines -----------------------------------------------------------

// holdfast's -c is the context of one slot, llama-server's that of all slots together.
export function argumentsFor(contestant, settings, port) {
  const { model, threads, slots, context, flash } = settings;
  const ours = contestant.kind === 'holdfast';
  return [
    ...(ours ? ['serve'] : []),
    '-m', model, '--host', '127.0.0.1', '--port', port, '-t', threads, '-np', slots,
    '-c', ours ? context : context * slots, '-b', 2048, '-ub', 512,
    '-fa', flash, '-ctk', 'f16', '-ctv', 'f16',
    ...(ours ? [] : ['--no-kv-unified', '--jinja', '--no-webui']),
    ...(contestant.extra ?? []),
  ].map(String);
}

// The contestants see what is written here, not the shell's own settings.
function environmentFor(contestant) {
  const kept = Object.entries(process.env).filter(([name]) => !/^(HOLDFAST_|LLAMA_|GGML_)/.test(name));
  const env = { ...Object.fromEntries(kept), HOLDFAST_CACHE_DIR: 'off' };
  if (contestant.libraries) env.LD_LIBRARY_PATH = contestant.libraries;
  return env;
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

// --- a running server --------------------------------------------------------

export class Server {
  #contestant;
  #settings;
  #log;

  static async start(contestant, settings, logFolder) {
    const server = new Server(contestant, settings, logFolder);
    await server.#launch();
    return server;
  }

  constructor(contestant, settings, logFolder) {
    this.name = contestant.name;
    this.kind = contestant.kind;
    this.#contestant = contestant;
    this.#settings = settings;
    this.#log = `${logFolder}/${contestant.name.replace(/[^a-z0-9]+/gi, '-')}.log`;
  }

  async #launch() {
    mkdirSync(dirname(this.#log), { recursive: true });
    this.port = await freePort();
    this.args = argumentsFor(this.#contestant, this.#settings, this.port);
    this.agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
    const began_ms = performance.now();
    this.child = launch(this.#contestant.program, this.args, { log: this.#log, env: environmentFor(this.#contestant) });
    this.pid = this.child.pid;
    await this.#waitUntilHealthy(began_ms, this.#log);
  }

  // A new process in the place of this one, on another port.
  async again() {
    await this.stop();
    await this.#launch();
  }

  answer(body) {
    return post(this, '/v1/completions', body);
  }

  async #waitUntilHealthy(began_ms, log) {
    let end = null;
    this.child.ended.then((how) => { end = how; });
    while (!(await healthy(this))) {
      if (end) throw new Error(`${this.name} ${end}:\n${lastLines(log)}`);
      if (performance.now() - began_ms > start_limit_ms) {
        await stop(this.child);
        throw new Error(`${this.name} was not ready in time; its log is ${log}`);
      }
      await sleep(20);
    }
    this.ready_ms = performance.now() - began_ms;
  }

  async stop() {
    this.agent.destroy();
    await stop(this.child);
  }
}

function lastLines(path) {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
}

// Starts all contestants, one after the other, runs `work`, and stops them.
export async function withServers(contestants, settings, logFolder, work) {
  const servers = [];
  try {
    for (const contestant of contestants) {
      servers.push(await Server.start(contestant, settings, logFolder));
    }
    return await work(servers);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}
