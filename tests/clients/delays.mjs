// How long a short request waits while another client sends bodies that are expensive to prepare.
//
// Run by hand, because no test asserts times:
//   node tests/clients/delays.mjs [--rounds N] [--only NAME] [FLAG OF THE SERVER ...]
//
// "hello" with a key of its own is asked again and again, by turns alone and while one other key
// sends one kind of body without a pause, two at a time. Prints a row of docs/testing.md for each
// kind: the answer to the body, how long it took, and the times of "hello" without it and with it.
// On a machine that others use too, only the two together say something.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { pocketModel, startServer } from './server.mjs';

const args = process.argv.slice(2);
const option = (name, otherwise) => {
  const at = args.indexOf(name);
  return at < 0 ? otherwise : args.splice(at, 2)[1];
};
const rounds = Number(option('--rounds', '100'));
const only = option('--only', '');

const MiB = 1024 * 1024;
const chat = (fields) => JSON.stringify({ model: 'x', max_tokens: 4, temperature: 0, ...fields });
const user = (content) => ({ role: 'user', content });
const words = (bytes) => 'the cat sat on a mat '.repeat(Math.ceil(bytes / 21)).slice(0, bytes);
const tool = (i, description, parameters = { type: 'object', properties: {} }) =>
  ({ type: 'function', function: { name: `f${i}`, description, parameters } });
const nested = (depth) => {
  let schema = { type: 'string' };
  for (let i = 0; i < depth; ++i) schema = { type: 'object', properties: { a: schema } };
  return schema;
};
const alternating = (count, content) => Array.from({ length: count }, (_, i) =>
  ({ role: i % 2 ? 'assistant' : 'user', content })).concat(user('x'));

const bodies = {
  'one message of 60 MiB': () => chat({ messages: [user(words(60 * MiB))] }),
  'one message of 60 MiB of spaces': () => chat({ messages: [user(' '.repeat(60 * MiB))] }),
  'an answer of 60 MiB': () => chat({
    messages: [user('x'), { role: 'assistant', content: words(60 * MiB) }, user('x')] }),
  'thoughts of 60 MiB': () => chat({ messages: [user('x'),
    { role: 'assistant', content: 'y', reasoning_content: words(60 * MiB) }, user('x')] }),
  'one message of 1 MiB': () => chat({ messages: [user(words(MiB))] }),
  '500,000 messages of a letter': () => chat({ messages: alternating(500_000, 'a') }),
  '500,000 empty answers': () => chat({
    messages: Array.from({ length: 500_000 }, () => ({ role: 'assistant', content: '' }))
      .concat(user('x')) }),
  '5,000 messages of a letter': () => chat({ messages: alternating(5_000, 'a'), max_tokens: 0 }),
  '500,000 parts of one message': () => chat({
    messages: [user(Array.from({ length: 500_000 }, () => ({ type: 'text', text: 'a' })))] }),
  '60 tools of 1 MiB': () => chat({ messages: [user('x')],
    tools: Array.from({ length: 60 }, (_, i) => tool(i, words(MiB))) }),
  '300,000 tools': () => chat({ messages: [user('x')],
    tools: Array.from({ length: 300_000 }, (_, i) => tool(i, 'a')) }),
  '2,000 tools': () => chat({ messages: [user('x')],
    tools: Array.from({ length: 2_000 }, (_, i) => tool(i, 'a')) }),
  '2,000 tools, nested 20 deep': () => chat({ messages: [user('x')],
    tools: Array.from({ length: 2_000 }, (_, i) => tool(i, 'a', nested(20))) }),
  'template arguments of 60 MiB': () => chat({ messages: [user('x')],
    chat_template_kwargs: { x: words(60 * MiB) } }),
  'a million template arguments': () => chat({ messages: [user('x')],
    chat_template_kwargs: Object.fromEntries(Array.from({ length: 1_000_000 }, (_, i) => [`k${i}`, 1])) }),
};

const folder = mkdtempSync(join(tmpdir(), 'holdfast-delays-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const keyFile = join(folder, 'keys');
writeFileSync(keyFile, 'hello: sk-hello\nbooks: sk-books\nops: sk-ops: admin\n');

async function post(server, key, body) {
  const begun = performance.now();
  const response = await server.fetch('/v1/chat/completions', {
    method: 'POST', body, headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
  });
  const text = await response.text();
  return { status: response.status, text, ms: performance.now() - begun };
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
const hello = chat({ messages: [user('hello')] });

async function helloTimes(server, count) {
  const times = [];
  for (let i = 0; i < count; ++i) {
    const { status, text, ms } = await post(server, 'sk-hello', hello);
    if (status !== 200) throw new Error(`hello was answered ${status}: ${text}`);
    times.push(ms);
  }
  times.sort((a, b) => a - b);
  return { median: quantile(times, 0.5), p95: quantile(times, 0.95), most: times.at(-1) };
}

// Other processes (curl) send the file over and over, so that their work is not in our times.
async function under(server, file, action) {
  let going = true;
  const answers = [];
  const send = async () => {
    do answers.push(await upload(server, file)); while (going);
  };
  const senders = [send(), send()];
  const result = await action();
  going = false;
  await Promise.all(senders);
  return { ...result, answers };
}

async function upload(server, file) {
  const { stdout } = await promisify(execFile)('curl', ['-s', '-H', 'Authorization: Bearer sk-books',
    '-H', 'Expect:', '--data-binary', `@${file}`, '-w', '\n%{http_code} %{time_total}',
    `${server.url}/v1/chat/completions`]);
  const lines = stdout.split('\n');
  const [status, seconds] = lines.pop().split(' ');
  return { status, ms: 1000 * Number(seconds), text: lines.join('\n') };
}

const show = (ms) => ms.toFixed(ms < 100 ? 1 : 0);
const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);

const server = await startServer(
  ['--model', pocketModel, '--api-key-file', keyFile, '--parallel', '4', ...args]);
await helloTimes(server, 10);
row('what another client sends', 'answered', 'after, median', 'hello alone: median, p95', 'beside it: median, p95',
  'longest');
row('---', '---', '--:', '--:', '--:', '--:');
for (const [name, make] of Object.entries(bodies)) {
  if (only && !name.includes(only)) continue;
  const file = join(folder, 'body');
  writeFileSync(file, make());
  const alone = await helloTimes(server, rounds);
  const times = await under(server, file, () => helloTimes(server, rounds));
  const took = times.answers.map((one) => one.ms).sort((a, b) => a - b);
  const first = times.answers[0];
  if (process.env.VERBOSE) console.log(first.text.slice(0, 400));
  row(name, `${first.status} (${times.answers.length} times)`, `${show(quantile(took, 0.5))} ms`,
    `${show(alone.median)}, ${show(alone.p95)}`, `${show(times.median)}, ${show(times.p95)}`, show(times.most));
}
await server.stop();
process.exit(0);
