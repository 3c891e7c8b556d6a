// What exact prompts cost: --exact prompt beside --exact off, clients that answer at once and clients that think.
//
//   node bench/exact.mjs PROGRAM [--model FILE] [--clients 1,4,16] [--pauses 0,2] [--rounds 3] [--serve=FLAGS]
//
// Every client has a conversation of four turns; a grammar gives answers their length and their end, because those that are
// cut short are not read ahead. The two servers are measured by
// turns, each round with texts of its own and an empty cache. Printed are medians over the rounds: the time to the
// first token from the second turn on, tokens written in a second of the whole run (without its pauses), and
// prompt tokens read while a client waited, and ahead of it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const modes = ['off', 'prompt'];
const turns = 4;
const answerLetters = 360;

const { values: wish, positionals: [program] } = parseArgs({
  allowPositionals: true,
  options: {
    model: { type: 'string' },
    clients: { type: 'string', default: '1,4,16' },
    pauses: { type: 'string', default: '0,2' },
    rounds: { type: 'string', default: '3' },
    serve: { type: 'string', default: '' },
  },
});
if (!program) {
  console.error('usage: node bench/exact.mjs PROGRAM [--model FILE] [--clients 1,4,16] [--pauses 0,2] [--rounds 3] [--serve=FLAGS]');
  process.exit(2);
}
const list = (text) => text.split(',').map(Number);
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const words = 'the a sea ship wind house red blue old small man woman child runs sleeps over under hill river not because then two three stone light'.split(' ');
function talker(seed) {
  let state = seed;
  const next = () => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) >>> 8;
  return (count) => Array.from({ length: count }, () => words[next() % words.length]).join(' ');
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

async function start(mode, slots) {
  const port = await freePort();
  const model = wish.model ? ['-m', wish.model] : [];
  const flags = ['--exact', mode, '-np', String(slots), '-c', '4096', '--cache-dir', 'off', '--no-ui', ...wish.serve.split(' ').filter(Boolean)];
  const child = spawn(program, ['serve', ...model, '--port', String(port), ...flags], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 600; ++tries) {
    if (child.exitCode !== null) throw new Error(`the server with --exact ${mode} ended`);
    const ready = await fetch(`${url}/health`).then((answer) => answer.ok, () => false);
    if (ready) return { url, stop: () => (child.kill('SIGTERM'), once(child, 'exit')) };
    await sleep(200);
  }
  throw new Error('the server did not start');
}

// One turn: when the first token came, what was said, and the receipt.
async function turn(url, messages) {
  const began = performance.now();
  const grammar = `root ::= [a-z ]{${answerLetters}}`;
  const body = { messages, stream: true, stream_options: { include_usage: true }, temperature: 0.7, seed: 1, grammar, cache_receipt: true,
    chat_template_kwargs: { enable_thinking: false } };
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
  const decoder = new TextDecoder();
  let [text, rest, first, receipt, tokens] = ['', '', null, null, 0];
  for await (const bytes of answer.body) {
    rest += decoder.decode(bytes, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const chunk = JSON.parse(line.slice(6));
      const delta = chunk.choices?.[0]?.delta ?? {};
      const said = (delta.content ?? '') + (delta.reasoning_content ?? '');
      if (said !== '' && first === null) first = performance.now() - began;
      text += delta.content ?? '';
      receipt ??= chunk.cache_receipt ?? null;
      tokens = chunk.usage?.completion_tokens ?? tokens;
    }
  }
  return { text, tokens, first: first ?? performance.now() - began, receipt };
}

async function talk(url, seed, pause) {
  const say = talker(seed);
  const messages = [{ role: 'system', content: talker(1)(160) }, { role: 'user', content: say(120) }];
  const done = [];
  for (let i = 0; i < turns; ++i) {
    if (i > 0 && pause > 0) await sleep(1000 * pause);
    const one = await turn(url, messages);
    done.push(one);
    messages.push({ role: 'assistant', content: one.text }, { role: 'user', content: say(30) });
  }
  return done;
}

async function run(server, clients, pause, seed) {
  await fetch(`${server.url}/cache`, { method: 'DELETE' });
  const began = performance.now();
  const all = (await Promise.all(Array.from({ length: clients }, (_, i) => talk(server.url, seed + 100 * i, pause)))).flat();
  const seconds = (performance.now() - began) / 1000 - pause * (turns - 1);
  const later = all.filter((_, i) => i % turns > 0);
  await sleep(1500);  // what it still reads ahead is not the other's loss
  return {
    first: median(later.map((one) => one.first)),
    speed: sum(all.map((one) => one.tokens)) / seconds,
    read: sum(later.map((one) => one.receipt?.recomputed_tokens ?? 0)) / later.length,
    ahead: sum(later.map((one) => one.receipt?.prewarmed_tokens ?? 0)) / later.length,
  };
}

const servers = {};
for (const mode of modes) servers[mode] = await start(mode, Math.max(...list(wish.clients)));
try {
  await sleep(8000);  // the rest of the engine's check
  for (const mode of modes) await run(servers[mode], 1, 0, 7);
  console.log('| clients | pause | first token, ms: off | prompt | ratio | tokens/s: off | prompt | ratio | read a turn: off | prompt | ahead: off | prompt |');
  console.log('|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|');
  for (const pause of list(wish.pauses)) {
    for (const clients of list(wish.clients)) {
      const seen = { off: [], prompt: [] };
      for (let round = 0; round < Number(wish.rounds); ++round) {
        for (const mode of round % 2 ? [...modes].reverse() : modes) {
          seen[mode].push(await run(servers[mode], clients, pause, 1000 * (round + 1) + 10 * clients + pause));
        }
      }
      const of = (mode, what) => median(seen[mode].map((one) => one[what]));
      const ratios = (what) => seen.off.map((one, i) => seen.prompt[i][what] / one[what]);
      const ratio = (what) => `${median(ratios(what)).toFixed(2)} [${Math.min(...ratios(what)).toFixed(2)}, ${Math.max(...ratios(what)).toFixed(2)}]`;
      console.log(`| ${clients} | ${pause} s | ${of('off', 'first').toFixed(0)} | ${of('prompt', 'first').toFixed(0)} | ${ratio('first')} ` +
        `| ${of('off', 'speed').toFixed(0)} | ${of('prompt', 'speed').toFixed(0)} | ${ratio('speed')} ` +
        `| ${of('off', 'read').toFixed(0)} | ${of('prompt', 'read').toFixed(0)} | ${of('off', 'ahead').toFixed(0)} | ${of('prompt', 'ahead').toFixed(0)} |`);
    }
  }
} finally {
  for (const server of Object.values(servers)) await server.stop();
}
