// Servers over one cache folder: conversations with known answers, and a look at the folder.
import assert from 'node:assert/strict';
import { cpSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { haystack } from './haystack.mjs';
import { eventually, run, startServer, temporaryFolder } from './server.mjs';
import { ask, textOf, user } from './talk.mjs';

export const newFolder = () => join(temporaryFolder(), 'states');

// Starts a server over a folder; MTP is on, as it is by default.
const started = new Set();
export async function serverOn(folder, ...flags) {
  const server = await startServer(['--parallel', '2', '--cache-dir', folder, '--cache-rest', '0', ...flags]);
  started.add(server);
  return server;
}

// For afterEach: a test that failed leaves its servers behind.
export async function killRest() {
  for (const server of started) server.signal('SIGKILL');
  await Promise.all([...started].map((server) => server.exited()));
  started.clear();
}

// The opening of a conversation, of about 11 tokens a sentence, and what is asked then.
// The pocket model finds each answer in the opening.
export function conversation(seed, sentences) {
  const { text, codes } = haystack({ seed, sentences });
  const question = (city) => `What is the secret code of ${city}?`;
  const cities = ['Oslo', 'Cairo', 'Dublin', 'Prague'];
  return { codes, lines: cities.map((city, i) => (i === 0 ? `${text}\n${question(city)}` : question(city))) };
}

// What is sent in each turn, and what is answered: by a server that computes every prompt.
export async function coldTurns(server, { lines }, count = lines.length) {
  const turns = [];
  const messages = [];
  for (const line of lines.slice(0, count)) {
    messages.push(user(line));
    const sent = [...messages];
    const answer = textOf(await ask(server.client(), sent, { cache_prompt: false }));
    turns.push({ messages: sent, answer });
    messages.push({ role: 'assistant', content: answer });
  }
  return turns;
}

// Sends a turn; the receipt. The answer must be that of the cold server.
export async function say(server, { messages, answer }, extra = {}) {
  const completion = await ask(server.client(), messages, { cache_receipt: true, ...extra });
  assert.equal(textOf(completion), answer);
  return completion.cache_receipt;
}

export const diskOf = async (server) => (await server.getJson('/cache')).disk;

// Waits until nothing waits to be written. What an answered request leaves waits before its
// answer is out; only what its slot holds beyond the prompt comes later.
export function written(server) {
  return eventually(async () => {
    const disk = await diskOf(server);
    return disk.waiting_conversations === 0 && disk;
  }, 'everything written');
}

// Stopped as by Ctrl-C.
export async function interrupt(server) {
  server.signal('SIGINT');
  assert.deepEqual(await server.exited(), { code: 0, signal: null }, server.log);
}

// --- the folder --------------------------------------------------------------------------

// Everything below: {path, stat}.
export function walk(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => ({ path: join(folder, name), stat: lstatSync(join(folder, name)) }));
}

export const blobsIn = (folder) => walk(join(folder, 'blobs')).filter(({ stat }) => stat.isFile());
export const quarantineOf = (folder) => readdirSync(join(folder, 'quarantine'));

// What the budget is about.
export function bytesIn(folder) {
  const files = ['blobs', 'quarantine'].flatMap((name) => walk(join(folder, name)));
  return files.filter(({ stat }) => stat.isFile()).reduce((sum, { stat }) => sum + stat.size, 0);
}

export function copyOf(folder) {
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true, mode: 0 });
  return copy;
}

export async function assertIntact(folder) {
  const { code, stdout, stderr } = await run(['cache', 'verify', '--cache-dir', folder]);
  assert.equal(code, 0, stdout + stderr);
}
