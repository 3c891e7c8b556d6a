// Turns results into Markdown. A section is {title, text, tables, plainTables, data}:
// a table has rows of {label, samples, metric}, a plain one rows of texts.
import { percentile } from './stats.mjs';

function tableText(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? ':--' : '--:'))), ...rows.map(line)].join('\n');
}

function digits(value) {
  if (!Number.isFinite(value)) return '-';
  const places = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(places);
}

const withSpread = ({ median, mad }) => `${digits(median)} ± ${digits(mad)}`;
const ratioText = ({ median, mad, min, max }) =>
  `**${median.toFixed(2)}** ± ${mad.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;

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

// --- what was measured, where ------------------------------------------------

const percent = (share) => `${(100 * share).toFixed(1)}%`;

function disturbanceText(sections) {
  const sets = new Set(sections.flatMap((section) => section.tables ?? [])
    .flatMap((table) => table.rows).map((row) => row.samples));
  const all = [...sets].flatMap((samples) => samples.disturbances);
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
  return [
    `* ${machine.cpu}, ${machine.cores} cores, ${machine.memory_GiB.toFixed(0)} GiB; ${machine.system}; ${versions.compiler}`,
    `* holdfast ${versions.holdfast}; llama-server ${versions.llama}; node ${machine.node}`,
    `* Engine: ${versions.engine}.${sameEngine
      ? ' The running servers had the same engine libraries in memory (checked by hash).' : ''}`,
    `* Model: \`${run.model}\`, ${run.threads} threads, ${run.slots} slots of ${run.context} tokens each`,
    `* ${run.rounds} rounds${run.quick ? ' (a quick run)' : ''}, seed ${run.seed}, ${run.date}, ${run.minutes.toFixed(0)} minutes`,
  ];
}

const how = `Every number is the median over the rounds ± the median absolute deviation. In a round each server does the
same work, one after the other, in an order that is turned round each time; the others idle. A ratio is
the first column / the other, formed round by round: its median ± deviation, and in brackets the least and the
largest. A ratio whose range includes 1 shows no difference; with few rounds the deviation is itself a guess.`;

const peers = `"llama-server" runs as documented, with its prompt caches (\`--cache-ram 8192\`, \`--ctx-checkpoints 32\` are its
defaults): it then copies states and cuts prompts near their end even when a request says \`cache_prompt\` false.
"llama-server, caches off" adds \`--cache-ram 0 --ctx-checkpoints 0\`, which leaves that work out.`;

export function markdown(results) {
  const { sections, commands, run } = results;
  return `${[
    '# Benchmarks',
    'Written by `make bench` (scripts/bench.sh, bench/run.mjs); do not edit. All numbers: `build/bench/results.json`.',
    [...setUpText(results), ...disturbanceText(sections)].join('\n'),
    how, peers,
    ...sections.map(sectionText),
    '## Commands',
    `\`\`\`\n${[run.command, '', ...commands].join('\n')}\n\`\`\``,
  ].join('\n\n')}\n`;
}
