// Which charts a result gives: [{file, title, svg}]. A chart with nothing to show is left out.
import { barChart, lineChart, ratioChart } from './charts.mjs';
import { variants } from './contestants.mjs';
import { median } from './stats.mjs';

const named = (item) => ({ label: item.scenario, ratio: item.ratio, state: item.state });

// Ratios of one measure of all workloads, by variant.
function workloadRatios(items, measure) {
  return Object.entries(variants).flatMap(([variant, { title }]) => {
    const rows = items.filter((item) => item.variant === variant && item.measure === measure).map(named);
    return rows.length === 0 ? [] : [{ heading: title }, ...rows];
  });
}

function firstTokenChart({ items }) {
  const rows = workloadRatios(items, 'first token p50');
  if (rows.length === 0) return null;
  const title = 'Time to the first token, where something is known';
  return { file: 'first-token.svg', title, svg: ratioChart({ title, rows, better: 'lower',
    subtitle: 'Holdfast / llama-server, median over requests and rounds; lines span all rounds; less is better' }) };
}

function reuseChart({ workloads }) {
  const measured = workloads.filter(({ samples, variant }) => samples && variant === 'plain');
  if (measured.length === 0) return null;
  const rows = measured.map(({ name, samples }) => ({ label: name,
    values: samples.names.map((server) => 100 * median(samples.values(server, 'share'))) }));
  const title = 'What is not read twice';
  return { file: 'reuse.svg', title, svg: barChart({ title, rows, series: measured[0].samples.names, high: 100, unit: '%', digits: 1,
    subtitle: 'Share of the tokens known from earlier requests (the oracle, 100%) that the server did not read again' }) };
}

function tightReuseChart({ workloads }) {
  const measured = workloads.filter(({ samples, variant }) => samples && variant === 'tight');
  if (measured.length === 0) return null;
  const rows = measured.map(({ name, samples, budget_MiB }) => ({ label: `${name} (${budget_MiB} MiB)`,
    values: samples.names.map((server) => 100 * median(samples.values(server, 'share'))) }));
  const title = 'What is not read twice, with a tenth of the memory';
  return { file: 'reuse-tight.svg', title, svg: barChart({ title, rows, series: measured[0].samples.names, high: 100, unit: '%', digits: 1,
    subtitle: 'Share of the oracle; both servers have --cache-ram of a tenth of what the workload fills' }) };
}

// Of several clocks for the same thing one is shown.
const speeds = [['decode', 'Writing', /server's timings/], ['prefill', 'Reading', /client's clock/],
  ['sizes', 'Models of other sizes', /./], ['throughput', 'Many clients', /./]];

function speedChart({ items }) {
  const rows = speeds.flatMap(([scenario, heading, clock]) => {
    const these = items.filter((item) => item.scenario === scenario && item.better === 'higher' && clock.test(item.measure));
    const peer = these[0]?.peer;
    const shown = these.filter((item) => item.peer === peer).map((item) => ({ ...named(item), label: item.measure.replace(/, \w+'s .*/, '') }));
    return shown.length === 0 ? [] : [{ heading: `${heading}, against ${peer}` }, ...shown];
  });
  if (rows.length === 0) return null;
  const title = 'Speed where nothing can be reused';
  return { file: 'speed.svg', title, svg: ratioChart({ title, rows, better: 'higher',
    subtitle: 'tokens/s, Holdfast / the other; lines span all rounds; more is better' }) };
}

// The second query on a long text: what people come for.
function secondQueryChart({ workloads }) {
  const found = workloads.filter(({ name, variant, samples }) => samples && variant === 'plain' && name.startsWith('second query'));
  if (found.length < 2) return null;
  const servers = found[0].samples.names;
  const of = (metric) => (server) => found.map(({ samples }) => median(samples.values(server, metric).filter(Number.isFinite)) / 1000);
  const lines = servers.flatMap((server, colour) => [
    { name: `${server}, first query`, values: of('cold_p50_ms')(server), dashed: true, colour },
    { name: `${server}, second query`, values: of('warm_p50_ms')(server), colour }]);
  const title = 'Another question on the same long text';
  return { file: 'second-query.svg', title, svg: lineChart({ title, steps: found.map(({ name }) => name.replace('second query on ', '')), lines,
    unit: ' s', log: true, subtitle: 'Seconds to the first token by length of the text; logarithmic. 128K: a tiny model' }) };
}

function clientsChart({ sections }) {
  const section = sections.find(({ name }) => name === 'throughput');
  if (!section) return null;
  const rows = section.tables[0].rows.filter(({ metric }) => metric === 'all_per_s');
  const lines = rows[0].samples.names.map((server) => ({ name: server, values: rows.map(({ samples }) => samples.summary(server, 'all_per_s').median) }));
  const title = 'Tokens read and written per second by all clients';
  return { file: 'clients.svg', title, svg: lineChart({ title, steps: rows.map(({ label }) => label.split(',')[0]), lines, unit: '',
    subtitle: 'Fresh prompts and answers of mixed length on 4 slots; tokens/s' }) };
}

function memoryChart({ workloads }) {
  const measured = workloads.filter(({ samples, variant, model }) => samples && variant === 'plain' && model === 'pocket');
  if (measured.length === 0) return null;
  const rows = measured.map(({ name, samples }) => ({ label: name,
    values: samples.names.map((server) => median(samples.values(server, 'peak_MiB'))) }));
  const title = 'Peak of memory';
  return { file: 'memory.svg', title, svg: barChart({ title, rows, series: measured[0].samples.names, unit: '',
    subtitle: 'Largest resident memory during each workload, in MiB, caches as they come' }) };
}

export function chartsOf(results) {
  return [firstTokenChart, reuseChart, tightReuseChart, secondQueryChart, speedChart, clientsChart, memoryChart]
    .map((chart) => chart(results)).filter(Boolean);
}
