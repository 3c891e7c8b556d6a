// The two charts of docs/benchmarks.md, from the comparisons in benchmarks.json:
//
//   node bench/overview.mjs        draws them again from docs/benchmarks.json
//
// The page itself is written by hand; a test sees that it is about the run whose numbers lie beside it.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { pairChart } from './charts.mjs';
import { digits } from './report.mjs';

export const docs = join(dirname(fileURLToPath(import.meta.url)), '..', 'docs');

const names = ['Holdfast', 'llama-server'];
const workloadItems = (items, measure) => items.filter((item) => item.variant === 'plain' && item.measure === measure);

// What is worst for Holdfast stands first.
const worstFirst = (rows) => rows.sort((a, b) => b.loss - a.loss || a.label.localeCompare(b.label));

const reusedPercent = ({ oracle }, side) => 100 * (1 - side.median / oracle);

function reuseRow(item) {
  const [ours, theirs] = [reusedPercent(item, item.ours), reusedPercent(item, item.theirs)];
  return { label: item.scenario, ours, theirs, loss: theirs - ours, note: `${ours.toFixed(1)} / ${theirs.toFixed(1)}`, state: item.state };
}

function firstTokenRow({ scenario, ours, theirs, ratio, state }) {
  return { label: scenario, ours: ours.median, theirs: theirs.median, loss: ratio.median, note: `${digits(ours.median)} / ${digits(theirs.median)}`, state };
}

// [{file, svg}]; nothing where the run had no workloads.
export function overviewCharts({ items }) {
  const reuse = worstFirst(workloadItems(items, 'read again').map(reuseRow));
  const firstToken = worstFirst(workloadItems(items, 'first token p50').map(firstTokenRow));
  if (reuse.length === 0 || firstToken.length === 0) return [];
  return [
    { file: 'overview-reuse.svg', svg: pairChart({ title: 'Known prompt tokens that were not read again', names, rows: reuse, unit: '%', high: 100,
      subtitle: 'percent of the tokens known from earlier requests; more is better; at the right: Holdfast / llama-server' }) },
    { file: 'overview-first-token.svg', svg: pairChart({ title: 'Time to the first token when part of the prompt is known', names, rows: firstToken,
      unit: '', log: true, subtitle: 'median in ms, logarithmic; less is better; at the right: Holdfast / llama-server, grey: no difference beyond noise' }) },
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const results = JSON.parse(readFileSync(join(docs, 'benchmarks.json'), 'utf8'));
  for (const { file, svg } of overviewCharts(results)) writeFileSync(join(docs, 'charts', file), svg);
}
