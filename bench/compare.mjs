// Do two runs say the same?
//
//   node bench/compare.mjs A.json B.json
//
// Files are the benchmarks.json or results.json that make bench writes. Two ratios agree when
// one lies within the noise that both state (the root of the sum of its squares) of the other;
// counts of tokens when they differ by no more than a thousandth of the oracle, or a tenth where
// chance or time decides what is known when. Ends with 1 if something claimed disagrees.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export function agreement(a, b) {
  if (!a.ratio || !b.ratio) {
    const apart = Math.max(Math.abs(a.ours.median - b.ours.median), Math.abs(a.theirs.median - b.theirs.median));
    const allowed = Math.max(a.oracle, b.oracle) / (a.chance || b.chance ? 10 : 1000);
    return { apart, allowed, agrees: apart <= allowed };
  }
  const apart = Math.abs(Math.log(a.ratio.median / b.ratio.median));
  const allowed = Math.hypot(a.noise, b.noise);
  return { apart, allowed, agrees: apart <= allowed };
}

// {rows: [{id, claim, a, b, apart, allowed, agrees, turned}], alone: [ids in one file only]};
// `turned` where one run says ahead and the other behind.
export function compareItems(first, second) {
  const others = new Map(second.map((item) => [item.id, item]));
  const rows = first.filter(({ id }) => others.has(id)).map((a) => {
    const b = others.get(a.id);
    const turned = [a.state, b.state].sort().join() === 'ahead,behind';
    return { id: a.id, claim: a.claim, a, b, ...agreement(a, b), turned };
  });
  const ids = new Set(first.map(({ id }) => id));
  const alone = [...first.filter(({ id }) => !others.has(id)), ...second.filter(({ id }) => !ids.has(id))].map(({ id }) => id);
  return { rows, alone };
}

const shown = ({ ratio, ours, theirs, noise }) =>
  (ratio ? `${ratio.median.toFixed(3)} (noise ${noise.toFixed(3)})` : `${ours.median} against ${theirs.median} tokens`);

export function compareText({ rows, alone }) {
  const claimed = rows.filter(({ claim }) => claim);
  const differing = rows.filter(({ agrees }) => !agrees);
  return [
    `${claimed.filter(({ agrees }) => agrees).length} of ${claimed.length} claimed comparisons agree within the stated noise ` +
      `(${rows.filter(({ agrees }) => agrees).length} of all ${rows.length}); ${rows.filter(({ turned }) => turned).length} turned from ahead to behind or back.`,
    ...differing.map(({ id, claim, a, b, apart, allowed, turned }) =>
      `${claim ? '' : '(not claimed) '}${id}: ${shown(a)}, then ${shown(b)}; apart ${apart.toFixed(3)}, allowed ${allowed.toFixed(3)}${turned ? '; TURNED' : ''}`),
    ...(alone.length > 0 ? [`${alone.length} are in one file only: ${alone.slice(0, 5).join('; ')}${alone.length > 5 ? '; ...' : ''}`] : []),
  ].join('\n');
}

function itemsIn(path) {
  const { items, format } = JSON.parse(readFileSync(path, 'utf8'));
  if (format === 1 && Array.isArray(items)) return items;
  throw new Error(`${path} is no result of make bench; give a benchmarks.json or results.json`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [first, second] = process.argv.slice(2);
  if (!first || !second) {
    console.error('node bench/compare.mjs A.json B.json: two results of make bench');
    process.exit(2);
  }
  try {
    const comparison = compareItems(itemsIn(first), itemsIn(second));
    console.log(compareText(comparison));
    process.exitCode = comparison.rows.some(({ claim, agrees }) => claim && !agrees) ? 1 : 0;
  } catch (error) {
    console.error(`compare: ${error.message}`);
    process.exitCode = 2;
  }
}
