// Turns results into Markdown. The verdict comes first, and is computed from the same items
// that anybody can read in the JSON (verdict.mjs).
//
// A section is {name, title, text, tables, plainTables, data}: a table has rows of
// {label, samples, metric}, a plain one rows of texts.
import { variants } from './contestants.mjs';
import { reasonFor } from './exceptions.mjs';
import { grouped, highest, lowest, median, percentile, sum } from './stats.mjs';
import { countsOf, exceptionsOf, overallOf, unclaimedBehindOf, unseenOf } from './verdict.mjs';

export function tableText(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? ':--' : '--:'))), ...rows.map(line)].join('\n');
}

export function digits(value) {
  if (!Number.isFinite(value)) return '-';
  const places = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(places);
}

const percent = (share, places = 1) => `${(100 * share).toFixed(places)}%`;
const withSpread = ({ median: middle, mad }) => `${digits(middle)} ± ${digits(mad)}`;
const ratioText = ({ median: middle, mad, min, max }) =>
  `**${middle.toFixed(2)}** ± ${mad.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;

// A ratio, and between what it may lie.
const withRange = (ratio, noise, places = 2) =>
  `${ratio.toFixed(places)} [${lowest(ratio, noise).toFixed(places)}, ${highest(ratio, noise).toFixed(places)}]`;

// --- the verdict -----------------------------------------------------------------------------

function figureOf({ ratio, ours, theirs, oracle, unit, noise }) {
  const both = `${digits(ours.median)} against ${digits(theirs.median)} ${unit}`;
  return ratio ? `${withRange(ratio.median, noise)} (${both})` : `${both}, of ${digits(oracle)} known`;
}

const placeOf = ({ scenario, variant, measure, peer }) =>
  `${scenario}${variant && variant !== 'plain' ? ` (${variant})` : ''}: ${measure}${peer === 'llama-server' ? '' : `, against ${peer}`}`;

function exceptionsText(all) {
  const exceptions = exceptionsOf(all);
  if (exceptions.length === 0) return 'Holdfast is behind in nothing that is claimed.';
  return ['Where Holdfast is behind by more than the noise (in brackets: the confidence interval of the ratio), and why:',
    ...[...grouped(exceptions, reasonFor)].map(([reason, items]) =>
      [`${reason ?? 'No reason known.'}`, '', ...items.map((item) => `* **${placeOf(item)}**: ${figureOf(item)}`)].join('\n'))].join('\n\n');
}

function unclaimedText(items) {
  const behind = unclaimedBehindOf(items);
  if (behind.length === 0) return '';
  return `Behind, in measures about which nothing is claimed: ${behind.map((item) => `${placeOf(item)} ${withRange(item.ratio.median, item.noise)}`).join('; ')}.`;
}

function overallText(items) {
  const states = { ahead: 'ahead', equal: 'no difference seen', behind: '**behind**' };
  const rows = overallOf(items).map(({ kind, peer, better, mean, noise, count, state }) =>
    [kind, peer, count, withRange(mean, noise, 3), better, states[state]]);
  if (rows.length === 0) return '';
  return ['All set-ups of a kind together, Holdfast / the other: the geometric mean, and in brackets its confidence interval over the set-ups of this run:',
    tableText(['', 'against', 'set-ups', 'ratio', 'better is', ''], rows)].join('\n\n');
}

export function verdictText(items) {
  const counts = countsOf(items);
  const total = (state) => sum(counts.map((count) => count[state]));
  const all = total('ahead') + total('equal') + total('behind');
  const whom = items.some(({ peer }) => peer.startsWith('llama-server')) ? 'llama-server' : 'itself';
  const rows = counts.filter(({ ahead, equal, behind }) => ahead + equal + behind > 0).map(({ topic, title, ahead, equal, behind }) => {
    const unseen = unseenOf(items, topic);
    return [title, ahead, equal, behind, Number.isFinite(unseen) ? percent(unseen, 0) : '0.1% of what was known; 10% where chance decides'];
  });
  return [`**Of ${all} comparisons with ${whom} Holdfast is ahead in ${total('ahead')} and behind in ${total('behind')}; in ${total('equal')} no difference was seen.**`,
    tableText(['', 'ahead', 'no difference seen', 'behind', 'median detectable difference'], rows), overallText(items), exceptionsText(items),
    unclaimedText(items)].filter(Boolean).join('\n\n');
}

function failuresText({ times }) {
  const failed = times.filter(({ error }) => error);
  if (failed.length === 0) return '';
  return ['Not measured, because something failed:', '', ...failed.map(({ name, error }) => `* **${name}**: ${error.split('\n')[0]}`)].join('\n');
}

// --- workloads ---------------------------------------------------------------------------------

const columns = ['', 'requests', 'oracle', 'reused', 'peer', 'first token p50, ms', 'peer', 'ratio', 'p95, ms', 'peer', 'wall, s', 'peer',
  'tokens/s', 'peer', 'peak, MiB', 'peer'];

function workloadRow(entry, items) {
  const { name, slots, model, samples, error, budget_MiB } = entry;
  const label = `${name}${slots === 4 || /slot/.test(name) ? '' : `, ${slots} slot`}${model === 'pocket' || name.includes(model) ? '' : `, ${model}`}` +
    `${budget_MiB ? ` (${budget_MiB} MiB)` : ''}`;
  if (error) return [label, 'failed', ...columns.slice(2).map(() => '-')];
  const [ours, theirs] = samples.names;
  const of = (server, metric) => median(samples.values(server, metric).filter(Number.isFinite));
  const pair = (metric, form = digits) => [form(of(ours, metric)), form(of(theirs, metric))];
  const ratio = items.find((item) => item.scenario === name && item.variant === entry.variant && item.measure === 'first token p50');
  return [label, of(ours, 'requests'), of(ours, 'oracle'), ...pair('share', (share) => percent(share, 2)), ...pair('warm_p50_ms'),
    ratio ? withRange(ratio.ratio.median, ratio.noise) : '-', ...pair('warm_p95_ms'), ...pair('wall_s'),
    ...pair('written_per_s'), ...pair('peak_MiB')];
}

const workloadsIntro = `Each server is started for a workload and stopped after it, in every round. The oracle of a request is the longest
common prefix, in tokens, of its prompt with any earlier prompt and its answer, computed by the client from
\`/apply-template\` and \`/tokenize\`; "reused" is the share of it that the server did not read again. Of prompts that
arrive together, one is expected to be read. Of a cancelled prompt, the part that the server had reported as read counts
as known. The time to the first token is the client's, by streaming, over requests of which something was known (after a
restart, those after it; llama-server's then includes restoring its slot file). Wall time is the time with at least one
request under way; tokens/s are written tokens in that time, with logprobs on, from which the client knows the ids.
"peer" is llama-server.`;

function workloadsText({ workloads, items }) {
  if (workloads.length === 0) return [];
  const named = Object.keys(variants).filter((variant) => workloads.some((entry) => entry.variant === variant));
  return ['## Workloads', workloadsIntro, ...named.flatMap((variant) => [`### ${variants[variant].title}`, variants[variant].text,
    tableText(columns, workloads.filter((entry) => entry.variant === variant).map((entry) => workloadRow(entry, items)))])];
}

// --- sections ------------------------------------------------------------------------------------

function ratioCells({ samples, metric }) {
  const [ours, ...others] = samples.names;
  return [withSpread(samples.summary(ours, metric)), ...others.flatMap((name) =>
    [withSpread(samples.summary(name, metric)), ratioText(samples.ratio(name, metric))])];
}

function ratioTable({ title, unit, better, rows }) {
  if (rows.length === 0) return '';
  const [ours, ...others] = rows[0].samples.names;
  const head = [`${unit}, ${better} is better`, ours, ...others.flatMap((name) => [name, 'ratio'])];
  const text = tableText(head, rows.map((row) => [row.label, ...ratioCells(row)]));
  return title ? `${title}:\n\n${text}` : text;
}

function plainTable({ title, head, rows }) {
  const text = tableText(head, rows);
  return title ? `${title}:\n\n${text}` : text;
}

function sectionText(section) {
  const parts = [`## ${section.title}`, section.text,
    ...(section.tables ?? []).map(ratioTable), ...(section.plainTables ?? []).map(plainTable)];
  return parts.filter(Boolean).join('\n\n');
}

// --- what was measured, where ----------------------------------------------------------------------

function disturbanceText({ sections, workloads }) {
  const sets = new Set([...sections.flatMap((section) => section.tables ?? []).flatMap((table) => table.rows).map((row) => row.samples),
    ...workloads.map(({ samples }) => samples)]);
  const all = [...sets].filter(Boolean).flatMap((samples) => samples.disturbances);
  if (all.length === 0) return [];
  const line = (label, key) => {
    const shares = all.map((one) => one[key]);
    return `${label} ${percent(percentile(shares, 0.5))} (median), ${percent(percentile(shares, 0.95))} (95th percentile)`;
  };
  return [`* Processor time of the machine during the ${all.length} measurements: ` +
    `${line('other processes', 'foreign')}; ${line('servers that should idle', 'idle_servers')}; ` +
    `${line('the client', 'client')}. Where other processes take more than a few percent, read no ratio closely.`];
}

function setUpText({ machine, versions, run, sameEngine }) {
  const { speed, often, slow, workloads: { plain, tight, mtp } } = run.rounds;
  const many = ({ least, most, seconds }) => (least === most ? `${least}` : `${least} to ${most} (as ${seconds} s allow)`);
  return [
    `* ${machine.cpu}, ${machine.cores} cores, ${machine.memory_GiB.toFixed(0)} GiB; ${machine.system}; ${versions.compiler}`,
    `* holdfast ${versions.holdfast}; llama-server ${versions.llama}; node ${machine.node}`,
    `* Engine: ${versions.engine}.${sameEngine
      ? ' The running servers had the same engine libraries in memory (checked by hash).' : ''}`,
    `* Model: \`${run.model}\` unless said otherwise, ${run.threads} threads, ${run.slots} slots of ${run.context} tokens each unless said otherwise`,
    `* Rounds: ${many(speed)} of speed, ${many(often)} of drafts, ${many(slow)} with larger models, ${many(plain)}, ${many(tight)} and ${many(mtp)} of workloads ` +
      '(plain, tight, MTP); fewer of what takes minutes' +
      `${run.quick ? ' (a quick run)' : ''}; seed ${run.seed}; ${run.date}; ` +
      `${run.runs > 1 ? `${run.runs} runs together, ` : ''}${run.minutes.toFixed(0)} minutes`,
  ];
}

const how = `In a round each server does the same work, one after the other, in an order that is reversed each time. A ratio is
Holdfast / the other, formed round by round: its median, and in brackets its 99% confidence interval. So of a hundred
comparisons one may be ahead or behind by chance. The width of an interval follows from the deviation of its rounds and,
because a few rounds cannot estimate that well, from the deviation of all comparisons of the kind, which counts like five
more rounds (Student's t). Less than 3% never counts as a difference. Servers are restarted for each round; where they
learn (drafts), for every fifth; for the disk and draft-mtp not at all. Rounds of the same processes count as one,
because identical servers differ by some 10% for as long as they run. \`ITSELF=1 make bench\` shows what this method
reports where there is no difference. In tables ± is the median absolute deviation, and brackets hold the least and the
largest. \`node bench/compare.mjs A.json B.json\` says whether two runs agree.`;

const peers = `"llama-server" runs as documented, with its prompt caches (\`--cache-ram 8192\`, \`--ctx-checkpoints 32\`,
\`--checkpoint-min-step 8192\`, \`--cache-idle-slots\` and \`--slot-prompt-similarity 0.10\` are its defaults): it then copies
states and divides prompts near their end even when a request says \`cache_prompt\` false. "llama-server, caches off" adds
\`--cache-ram 0 --ctx-checkpoints 0\`, which avoids that work.`;

function timesText({ times, run }) {
  const all = sum(times.filter(({ inner }) => !inner).map(({ seconds }) => seconds));
  const rows = times.map(({ name, seconds, error, inner }) => [`${inner ? '- ' : ''}${name}`, seconds.toFixed(0), error ? 'failed' : '']);
  const whole = run.runs > 1 ? `the last of ${run.runs} runs` : `${run.minutes.toFixed(1)} in all`;
  return [`## Time`, `${(all / 60).toFixed(1)} minutes of scenarios, ${whole}. In seconds:`,
    tableText(['', 's', ''], rows)].join('\n\n');
}

export function markdown(results, charts) {
  const { sections, commands, run, items } = results;
  return `${[
    '# Benchmarks: all tables',
    'Every comparison with llama-server, written by `make bench` (scripts/bench.sh, bench/run.mjs) or from its raw numbers (bench/retell.mjs); do not edit. [benchmarks.md](benchmarks.md) is the page to read first; `benchmarks.json` has the same numbers.',
    verdictText(items), failuresText(results),
    ...charts.map(({ file, title }) => `![${title}](charts/${file})`),
    '## How it was measured',
    [...setUpText(results), ...disturbanceText(results)].join('\n'),
    how, peers,
    ...workloadsText(results),
    ...sections.map(sectionText),
    timesText(results),
    '## Commands',
    `\`\`\`\n${[run.command, '', ...commands].join('\n')}\n\`\`\``,
  ].filter(Boolean).join('\n\n')}\n`;
}

// --- numbers to keep -----------------------------------------------------------------------------------

const rounded = (_, value) => (typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value);

// What compare.mjs needs, one item a line so that a difference can be read.
export function compact({ format, machine, versions, run, sameEngine, items, times }) {
  const lines = (list) => `[\n${list.map((one) => JSON.stringify(one, rounded)).join(',\n')}\n]`;
  const head = JSON.stringify({ format, machine, versions, run, sameEngine }, rounded);
  return `${head.slice(0, -1)},\n"times": ${lines(times)},\n"items": ${lines(items)}}`;
}
