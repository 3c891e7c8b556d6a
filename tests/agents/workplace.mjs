// A workplace: a server, a proxy before it, and for one agent a home and a git repository, in
// folders of their own that go with the process.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { startServer, temporaryFolder, within } from '../clients/server.mjs';
import { startProxy, startTrap } from './proxy.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const scriptedServer =
  process.env.SCRIPTED_SERVER ?? join(root, 'build/tests/scripted_server');

// Far beyond what a turn takes, so that only a hang reaches it.
const turn_limit_ms = Number(process.env.AGENT_TURN_LIMIT_MS ?? 180_000);

// A pocket model that writes until its context is full would make a turn of minutes; the agents'
// prompts have up to 30,000 tokens.
const roomy = ['-c', '64k', '-np', '2'];

const groups = new Set();
process.on('exit', () => groups.forEach(endGroup));

function endGroup(leader) {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

function makeRepository(folder) {
  mkdirSync(folder);
  writeFileSync(join(folder, 'README.md'), '# A place to work in\n\nNothing is here yet.\n');
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', ...args], {
      cwd: folder,
    });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-q', '-m', 'Begin');
  return git;
}

// What reached the server in one turn of an agent, and what came of it.
class Turn {
  constructor(result, exchanges, agent) {
    Object.assign(this, result); // code, stdout, stderr
    this.exchanges = exchanges;
    this.asked = exchanges.filter((exchange) => exchange.endpoint === agent.endpoint);
  }

  // Share of all prompt tokens that were reused, by the server's receipts.
  get reuse() {
    const sum = (field) => this.asked.reduce((total, { receipt }) => total + receipt[field], 0);
    return sum('restored_tokens') / sum('prompt_tokens');
  }

  get summary() {
    const counts = this.asked.map(({ receipt }) => `${receipt.restored_tokens}/${receipt.prompt_tokens}`);
    return `${counts.join(', ')} reused`;
  }
}

export class Workplace {
  static async open(agent, { script, flags = [] } = {}) {
    const place = new Workplace();
    place.agent = agent;
    place.folder = temporaryFolder();
    place.home = join(place.folder, 'home');
    place.repository = join(place.folder, 'repository');
    mkdirSync(place.home);
    place.git = makeRepository(place.repository);
    place.flags = [...roomy, '--cache-dir', join(place.folder, 'cache'), ...flags];
    if (script) {
      place.program = scriptedServer;
      place.flags.push('--script', join(place.folder, 'script.json'));
      writeFileSync(join(place.folder, 'script.json'), JSON.stringify(script));
    }
    place.trap = await startTrap();
    place.proxy = await startProxy('');
    await place.startServer();
    agent.prepare?.(place.home, place.proxy.url);
    return place;
  }

  async startServer() {
    this.server = await startServer(this.flags, { program: this.program });
    this.proxy.target = this.server.url;
  }

  // The same folder of states, behind the same address.
  async restartServer() {
    await this.server.stop();
    await this.startServer();
  }

  // Runs the agent to its end.
  async turn(kind, prompt, session) {
    const result = await this.runAgent(this.agent[kind](prompt, session));
    const turn = new Turn(result, this.proxy.take(), this.agent);
    for (const exchange of turn.asked) await this.attachReceipt(exchange, turn);
    return turn;
  }

  async runAgent(args) {
    const { agent, home, proxy } = this;
    const child = spawn(agent.program, args, {
      cwd: this.repository,
      detached: true, // a group of its own, which goes with it
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
        HOME: home,
        LANG: 'C.UTF-8',
        TERM: 'dumb',
        CI: '1',
        ...this.trap.environment,
        ...agent.environment(proxy.url, home),
      },
    });
    groups.add(child.pid);
    const result = { code: null, stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text) => (result.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (result.stderr += text));
    const ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    try {
      result.code = await within(ended, `a turn of ${agent.name}`, turn_limit_ms);
    } catch (error) {
      throw new Error(`${error.message}\n${result.stdout}\n${result.stderr}\n${this.server.log}`);
    } finally {
      endGroup(child.pid);
      groups.delete(child.pid);
    }
    return result;
  }

  async attachReceipt(exchange, turn) {
    assert.equal(exchange.status, 200, `${exchange.text}\n${turn.stderr}`);
    exchange.receipt = await this.server.getJson(`/cache/receipts/${exchange.answerId}`);
    if (!exchange.usage) return;
    const { prompt_tokens, restored_tokens } = exchange.receipt;
    assert.deepEqual(exchange.usage, { prompt: prompt_tokens, cached: restored_tokens });
  }

  async close() {
    await this.server?.stop();
    this.proxy?.close();
    this.trap?.close();
  }
}
