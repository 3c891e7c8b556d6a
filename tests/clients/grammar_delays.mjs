// What other clients feel of hostile grammars and schemas (hostile_grammars.mjs).
//
// Run by hand, because no test asserts times:
//   node tests/clients/grammar_delays.mjs MODEL.gguf [FLAG OF THE SERVER ...]
// tools/genmodel/widen_vocabulary.py makes a model with a vocabulary of real size.
//
// One key streams without a pause and another asks short questions, first alone, then while a third
// sends one hostile request after the other. Prints the longest gap between two pieces of the stream
// and the longest short call for each, what memory grew by, and a summary.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { hostile } from './hostile_grammars.mjs';
import { startServer } from './server.mjs';

const [model, ...flags] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'holdfast-delays-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, 'keys'), 'stream: sk-stream\nshort: sk-short\nhostile: sk-hostile\nops: sk-ops: admin\n');
const server = await startServer(['--model', model, '--api-key-file', join(folder, 'keys'), '--parallel', '4', ...flags]);

const chat = (fields) => JSON.stringify({ model: 'x', temperature: 0, messages: [{ role: 'user', content: 'hello' }], ...fields });
const ask = (key, body) => server.fetch('/v1/chat/completions',
  { method: 'POST', body, headers: { Authorization: `Bearer sk-${key}` } });

let going = true;
let longestGap = 0;
let longestCall = 0;
async function stream() {
  while (going) {
    const response = await ask('stream', chat({ stream: true, max_tokens: 1000, ignore_eos: true }));
    let last;
    for await (const piece of response.body) {
      const now = performance.now();
      if (last && piece.length > 0) longestGap = Math.max(longestGap, now - last);
      last = now;
      if (!going) break;
    }
  }
}
async function callShort() {
  while (going) {
    const begun = performance.now();
    await (await ask('short', chat({ max_tokens: 2 }))).text();
    longestCall = Math.max(longestCall, performance.now() - begun);
  }
}
function takeLongest() {
  const longest = { gap: longestGap, call: longestCall };
  longestGap = 0;
  longestCall = 0;
  return longest;
}
const memory = (name) => {
  const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
  return Number(status.match(new RegExp(`${name}:\\s+(\\d+)`))[1]) / 1024;
};
async function send(one) {
  const file = join(folder, 'body');
  writeFileSync(file, chat({ max_tokens: 12, ...one.fields }));
  const { stdout } = await promisify(execFile)('curl', ['-s', '-m', '120', '-H', 'Authorization: Bearer sk-hostile',
    '--data-binary', `@${file}`, '-w', '\n%{http_code} %{time_total}', `${server.url}/v1/chat/completions`]);
  const lines = stdout.split('\n');
  const [status, seconds] = lines.pop().split(' ');
  const steps = lines.join('').match(/"predicted_per_token_ms":([\d.]+)/);
  return { status, ms: Number(seconds) * 1000, step: steps ? Number(steps[1]) : 0 };
}
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const others = [stream(), callShort()];
await pause(1500);
takeLongest();
const quiet = [];
for (let i = 0; i < 20; ++i) {
  await pause(300);
  quiet.push(takeLongest());
}
const highest = (rows, name) => Math.max(...rows.map((row) => row[name])).toFixed(0);
const median = (rows, name) => rows.map((row) => row[name]).sort((a, b) => a - b)[rows.length >> 1].toFixed(0);
console.log(`alone: gap ${median(quiet, 'gap')}, at most ${highest(quiet, 'gap')} ms;`,
  `call ${median(quiet, 'call')}, at most ${highest(quiet, 'call')} ms`);
const rows = [];
for (const one of hostile) {
  writeFileSync(`/proc/${server.child.pid}/clear_refs`, '5');
  const before = memory('VmRSS');
  takeLongest();
  const answer = await send(one);
  const row = { ...one, ...answer, ...takeLongest(), grew: memory('VmHWM') - before };
  rows.push(row);
  console.log(`${row.name}: ${row.status} after ${row.ms.toFixed(0)} ms, ${row.step.toFixed(0)} ms a token,`,
    `gap ${row.gap.toFixed(0)} ms, call ${row.call.toFixed(0)} ms, memory +${row.grew.toFixed(0)} MiB`);
}
for (const name of ['gap', 'call', 'grew', 'step', 'ms']) {
  console.log(`${name}: median ${median(rows, name)}, at most ${highest(rows, name)}`);
}
going = false;
await Promise.all(others);
await server.stop();
process.exit(0);
