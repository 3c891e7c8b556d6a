// Runs one workload on each contestant, round by round. In every round a server is started
// for it and stopped after it, so that caches begin empty, a peak of memory belongs to this
// workload, and the others do not even idle beside it.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { account } from '../../tests/clients/reuse.mjs';
import { post } from '../client.mjs';
import { memory_MiB } from '../proc.mjs';
import { goesOn, measured, Samples, settle } from '../rounds.mjs';
import { Server } from '../servers.mjs';
import { percentile, sum } from '../stats.mjs';
import { Talker } from '../talker.mjs';
import { withTemporaryFolder } from '../temporary.mjs';

const alone = { agent: false }; // a server may close a connection that the next request is about to use

// --- a server that may be started again ------------------------------------------------

// How each keeps its state over a restart: Holdfast by itself, llama-server by a file that
// the client asks for before, and asks to be read after.
const keepers = {
  holdfast: {
    flags: (folder) => ['--cache-dir', folder],
    before: () => {},
    after: () => 0,
  },
  'llama-server': {
    flags: (folder) => ['--slot-save-path', folder],
    before: (server) => post(server, '/slots/0?action=save', { filename: 'slot.bin' }, alone),
    after: async (server) => {
      const { sent_ms, ended_ms } = await post(server, '/slots/0?action=restore', { filename: 'slot.bin' }, alone);
      return ended_ms - sent_ms;
    },
  },
};

class Life {
  server = null;
  peak_MiB = 0;

  constructor(contestant, settings, logs, folder) {
    Object.assign(this, { contestant, settings, logs, keeper: folder ? keepers[contestant.kind] : null });
    const states = folder && join(folder, contestant.name);
    if (states) mkdirSync(states, { recursive: true });
    this.extra = [...(contestant.extra ?? []), ...(this.keeper?.flags(states) ?? [])];
  }

  async begin() {
    this.server = await Server.start({ ...this.contestant, extra: this.extra }, this.settings, this.logs);
    // Nobody's first request is about the machine; it shares no more than a template's opening.
    const chat = { messages: [{ role: 'user', content: '!' }], max_tokens: 2, temperature: 0 };
    await post(this.server, '/v1/chat/completions', chat, alone);
    return this.server;
  }

  async end() {
    if (!this.server) return;
    const { server } = this;
    this.server = null;
    try {
      this.peak_MiB = Math.max(this.peak_MiB, memory_MiB(server.pid).peak);
    } catch {
      this.peak_MiB = NaN; // it is gone already; what it was asked tells why
    }
    await server.stop();
  }

  async again() {
    await this.keeper.before(this.server);
    await this.end();
    const server = await this.begin();
    return { server, late_ms: await this.keeper.after(server) };
  }
}

// --- one round of one contestant ----------------------------------------------------------

async function filled_MiB(server) {
  if (server.kind !== 'holdfast') return NaN;
  const { memory } = await (await fetch(`http://127.0.0.1:${server.port}/cache`)).json();
  return memory.peak_bytes / 2 ** 20;
}

// What can be reused is expected at once; what is new takes its time.
function metricsOf(talker, { peak_MiB, fill_MiB }) {
  const { records, busy_ms } = talker;
  const { requests, oracle, reused, share, computed } = account(records);
  const answered = records.filter(({ first_ms }) => Number.isFinite(first_ms));
  const times = (list) => list.map(({ first_ms }) => first_ms);
  const judged = records.slice(talker.counted_from).filter(({ first_ms }) => Number.isFinite(first_ms));
  const warm_ms = times(judged.filter((record) => record.oracle > 0));
  const cold_ms = times(answered.filter((record) => record.oracle === 0));
  const written = sum(records.map((record) => record.written));
  return { requests, oracle, missed: oracle - reused, share, computed, written,
    warm_p50_ms: percentile(warm_ms, 0.5), warm_p95_ms: percentile(warm_ms, 0.95), cold_p50_ms: percentile(cold_ms, 0.5),
    wall_s: busy_ms / 1000, written_per_s: (1000 * written) / busy_ms, peak_MiB, fill_MiB,
    first_ms: answered.map(({ first_ms }) => Math.round(10 * first_ms) / 10) };
}

async function once(contestant, workload, { settings, logs, tokens, folder, text_share }) {
  const life = new Life(contestant, settings, logs, folder);
  try {
    const server = await life.begin();
    await settle([server]);
    const talker = new Talker(server, { tokens, restart: () => life.again() });
    talker.textShare = text_share;
    const { disturbance } = await measured([server], 0, () => workload.run(talker));
    const fill_MiB = await filled_MiB(talker.server);
    const { args, kind, name } = talker.server;
    await life.end();
    return { metrics: metricsOf(talker, { peak_MiB: life.peak_MiB, fill_MiB }), disturbance, command: { args, kind, name } };
  } catch (error) {
    throw await blamed(error, life);
  } finally {
    await life.end();
  }
}

// A server that ended by itself is the cause of whatever its client saw.
async function blamed(error, { server }) {
  if (!server) return error;
  const how = await Promise.race([server.child.ended, sleep(200, null)]);
  return new Error(`${server.name}${how ? ` ${how}` : ''}: ${error.message}`);
}

// --- all rounds ------------------------------------------------------------------------------

// {samples, commands} with the metrics above, for each of `contestants`. `turn` 1: the last one begins.
export async function runWorkload(contestants, workload, { rounds, settings, logs, turn = 0, text_share = 1 }) {
  const samples = new Samples(contestants.map(({ name }) => name));
  const commands = [];
  const tokens = new Map();
  const began_ms = performance.now();
  for (let round = 0; goesOn(rounds, round, (performance.now() - began_ms) / 1000); ++round) {
    for (const contestant of (round + turn) % 2 === 0 ? contestants : [...contestants].reverse()) {
      const run = (folder) => once(contestant, workload, { settings, logs, tokens, folder, text_share });
      const { metrics, disturbance, command } = workload.restarts ? await withTemporaryFolder(run) : await run(null);
      samples.add(contestant.name, metrics);
      if (disturbance) samples.disturbances.push(disturbance);
      if (round === 0) commands.push(command);
    }
  }
  return { samples, commands };
}
