import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { docs, overviewCharts } from '../overview.mjs';

const read = (file) => readFileSync(join(docs, file), 'utf8');
const results = JSON.parse(read('benchmarks.json'));

test('the charts of the page are those of the numbers beside it', () => {
  const charts = overviewCharts(results);
  assert.equal(charts.length, 2);
  for (const { file, svg } of charts) {
    assert.equal(read(join('charts', file)), svg, `${file} is stale: node bench/overview.mjs`);
    assert.match(read('benchmarks.md'), new RegExp(`\\(charts/${file}\\)`));
  }
});

test('the page is about the run whose numbers lie beside it', () => {
  const page = read('benchmarks.md').replace(/\s+/g, ' ');
  assert.ok(page.includes(`${results.run.date}, holdfast ${results.versions.holdfast}`),
    'benchmarks.md names another run than benchmarks.json: bring its figures up to date');
});

test('what is worst for Holdfast stands first, and nothing is drawn of a run without workloads', () => {
  const item = (scenario, measure, more) => ({ scenario, measure, variant: 'plain', state: 'equal', ...more });
  const side = (median) => ({ median });
  const items = [['near', 10, 1.1], ['far', 50, 2], ['ahead', 1, 0.5]].flatMap(([name, missed, ratio]) => [
    item(name, 'read again', { oracle: 100, ours: side(missed), theirs: side(5) }),
    item(name, 'first token p50', { ours: side(100 * ratio), theirs: side(100), ratio: side(ratio) })]);
  for (const { svg } of overviewCharts({ items })) {
    assert.deepEqual(svg.match(/>(near|far|ahead)</g), ['>far<', '>near<', '>ahead<']);
  }
  assert.deepEqual(overviewCharts({ items: [] }), []);
});
