// Thousands of greedy requests against a cold server, in several settings: the figures of docs/testing.md.
//
//   node tests/exactness/campaign.mjs [--out FOLDER] [--requests N] [--pause S] [--control] [--only NAME] [-- FLAGS]
//
// FLAGS are those of `holdfast serve` that say how exact it is to be (--deterministic, ...). N is 2,000 if not said
// otherwise. The result is a table; FOLDER gets the JSON. With --only the other settings are taken from
// there, so that a campaign can be made in pieces.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const holdfast = process.env.HOLDFAST_BIN ?? join(root, 'build/holdfast');

// Memory in MiB: of the pocket model's states 24 hold little more than one conversation. `share` of all requests.
const settings = [
  { name: '1 client, ample memory', share: 0.1, clients: 1, flags: ['-np', '1', '--cache-ram', '1024'] },
  { name: '2 clients, tight memory', share: 0.2, clients: 2, flags: ['-np', '2', '--cache-ram', '24'] },
  { name: '4 clients, ample memory', share: 0.3, clients: 4, flags: ['-np', '4', '--cache-ram', '1024'] },
  { name: '8 clients, 4 slots, tight memory', share: 0.4, clients: 8, flags: ['-np', '4', '--cache-ram', '24'] },
];

function parse(args) {
  const asked = { requests: 2000, pause: 0, control: false, only: '', flags: [], out: '' };
  while (args.length > 0) {
    const name = args.shift();
    if (name === '--') return { ...asked, flags: args };
    if (name === '--control') asked.control = true;
    else if (name === '--requests' || name === '--pause') asked[name.slice(2)] = Number(args.shift());
    else if (name === '--only' || name === '--out') asked[name.slice(2)] = args.shift();
    else throw new Error(`what is ${name}?`);
  }
  return asked;
}

function measure(setting, number, asked, folder) {
  const path = join(folder, `${number}.json`);
  const args = [
    'verify-exact', '--random', Math.ceil(asked.requests * setting.share), '--seed', 100 + number,
    '--clients', setting.clients, '--pause', asked.pause, '--restarts', asked.control ? 0 : 2, '--json', path,
    ...(asked.control ? ['--control'] : []), '--threads', 1, '-c', '4k', ...setting.flags, ...asked.flags,
  ].map(String);
  if (setting.name.includes(asked.only)) {
    const { status } = spawnSync(holdfast, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (status === null) throw new Error(`${holdfast} did not end by itself`);
  }
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
}

function row(name, sum) {
  const least = sum.first_logprob_apart_max === 0 ? '0' : sum.first_logprob_apart_max.toPrecision(2);
  const cells = [name, sum.requests, sum.prompts_differing, sum.first_tokens_differing, least, sum.texts_differing];
  return `| ${cells.join(' | ')} |`;
}

function add(sums, name, more) {
  const sum = (sums[name] ??= {
    requests: 0, prompts_differing: 0, first_tokens_differing: 0, first_logprob_apart_max: 0, texts_differing: 0,
  });
  for (const field of Object.keys(sum)) {
    sum[field] = field.endsWith('_max') ? Math.max(sum[field], more[field]) : sum[field] + more[field];
  }
}

const asked = parse(process.argv.slice(2));
const folder = asked.out || mkdtempSync(join(tmpdir(), 'holdfast-exactness-'));
mkdirSync(folder, { recursive: true });
const sums = {};
const lines = [];
let troubles = 0;
for (const [number, setting] of settings.entries()) {
  const found = measure(setting, number, asked, folder);
  if (found === null) continue;
  lines.push(row(setting.name, found.all));
  for (const [reuse, sum] of Object.entries(found.by_reuse)) add(sums, reuse, sum);
  add(sums, 'all', found.all);
  troubles += found.failed + found.cold_reused + (found.complete ? 0 : 1);
  console.error(`${setting.name}: ${found.failed} failed, ${found.other_tokens} as other tokens, ` +
    `${Math.round(found.seconds)} s`);
}
console.log(`flags: ${asked.flags.join(' ') || 'none'}; pause ${asked.pause} s; ${asked.control ? 'control, ' : ''}JSON in ${folder}\n`);
console.log('| | requests | prompts differing | first logprob differing | by at most | texts differing |');
console.log('|---|--:|--:|--:|--:|--:|');
console.log([...lines, ...Object.entries(sums).map(([name, sum]) => row(name, sum))].join('\n'));
process.exitCode = troubles > 0 ? 2 : sums.all?.prompts_differing > 0 ? 1 : 0;
