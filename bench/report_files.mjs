// The files of a report: benchmarks-tables.md, benchmarks.json and charts beside them. The page that
// people read first, docs/benchmarks.md, is written by hand from these.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { overviewCharts } from './overview.mjs';
import { chartsOf } from './pictures.mjs';
import { compact, markdown } from './report.mjs';

function writeCharts(charts, into) {
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  for (const { file, svg } of charts) writeFileSync(join(into, file), svg);
}

export function writeReport(results, into) {
  const charts = chartsOf(results);
  mkdirSync(into, { recursive: true });
  writeCharts([...charts, ...overviewCharts(results)], join(into, 'charts'));
  writeFileSync(join(into, 'benchmarks.json'), `${compact(results)}\n`);
  writeFileSync(join(into, 'benchmarks-tables.md'), markdown(results, charts));
}
