// Writes the report of a run again from its raw numbers, with the verdict and the reasons as
// they are now:
//
//   node bench/retell.mjs RESULTS.json FOLDER
//
// RESULTS.json is build/bench/results.json as make bench left it; FOLDER gets benchmarks.md,
// benchmarks.json and charts.
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

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [file, into] = process.argv.slice(2);
  if (!into) {
    console.error('node bench/retell.mjs RESULTS.json FOLDER');
    process.exit(2);
  }
  const results = JSON.parse(readFileSync(file, 'utf8'));
  if (results.format !== 1 || !Array.isArray(results.sections)) {
    console.error(`retell: ${file} has no raw numbers of make bench; give build/bench/results.json`);
    process.exit(2);
  }
  writeReport(revived(results), into);
}
