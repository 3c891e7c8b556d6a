// Writes the report of a run again from its raw numbers, with the verdict and the reasons as
// they are now, or one report of several runs, whose rounds are then put together:
//
//   node bench/retell.mjs FOLDER RESULTS.json...
//
// RESULTS.json is build/bench/results.json as make bench left it; FOLDER gets
// benchmarks-tables.md, benchmarks.json and charts. What is not compared (plain tables, times) is the last run's.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

import { writeReport } from './report_files.mjs';
import { Samples } from './rounds.mjs';
import { itemsOf } from './verdict.mjs';

// The results with every `samples` as an object again; tables that shared one share one.
export function revived(results) {
  const known = new Map();
  const samplesOf = (written) => {
    const key = JSON.stringify(written);
    if (!known.has(key)) known.set(key, Samples.from(written));
    return known.get(key);
  };
  const alive = (value) => {
    if (Array.isArray(value)) return value.map(alive);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, name === 'samples' && one ? samplesOf(one) : alive(one)]));
  };
  const workloads = alive(results.workloads);
  const sections = alive(results.sections);
  return { ...results, workloads, sections, items: itemsOf({ workloads, sections }) };
}

// --- several runs ------------------------------------------------------------------------------

// Rounds of both. Those of different runs never share a sitting.
function joinedSamples(first, second) {
  const both = new Samples(first.names);
  both.sitting = first.sitting;
  both.disturbances = [...first.disturbances, ...second.disturbances];
  for (const name of first.names) {
    const [before, after] = [first, second].map((samples) => samples.rounds(name));
    const filled = Number.isFinite(first.sitting) ? Math.ceil(before.length / first.sitting) * first.sitting : before.length;
    [...before, ...Array(filled - before.length).fill({}), ...after].forEach((metrics) => both.add(name, metrics));
  }
  return both;
}

// `entry` of the last run with the rounds of the one before, where both have some of the same contestants.
function joinedEntry(entry, before) {
  if (!before?.samples || !entry.samples || String(before.samples.names) !== String(entry.samples.names)) return entry;
  return { ...entry, samples: joinedSamples(before.samples, entry.samples) };
}

function joined(first, second) {
  const workloads = second.workloads.map((entry) =>
    joinedEntry(entry, first.workloads.find(({ name, variant }) => name === entry.name && variant === entry.variant)));
  const sections = second.sections.map((section) => {
    const before = first.sections.find(({ name }) => name === section.name);
    return { ...section, tables: section.tables?.map((table, i) => ({ ...table, rows: table.rows.map((row) =>
      joinedEntry(row, before?.tables?.[i]?.rows.find(({ label, metric }) => label === row.label && metric === row.metric))) })) };
  });
  const run = { ...second.run, minutes: first.run.minutes + second.run.minutes, runs: (first.run.runs ?? 1) + 1 };
  return { ...second, run, workloads, sections };
}

// All runs as one. REQUIRES: revived ones, of which there is at least one.
export function together(runs) {
  const all = runs.reduce(joined);
  return { ...all, items: itemsOf(all) };
}

function read(file) {
  const results = JSON.parse(readFileSync(file, 'utf8'));
  if (results.format === 1 && Array.isArray(results.sections)) return revived(results);
  throw new Error(`${file} has no raw numbers of make bench; give build/bench/results.json`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [into, ...files] = process.argv.slice(2);
  if (files.length === 0) {
    console.error('node bench/retell.mjs FOLDER RESULTS.json...');
    process.exit(2);
  }
  try {
    writeReport(together(files.map(read)), into);
  } catch (error) {
    console.error(`retell: ${error.message}`);
    process.exitCode = 2;
  }
}
