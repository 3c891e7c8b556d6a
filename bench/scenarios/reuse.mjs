// What is read again although it was read before: the workloads of the reuse test,
// with the oracle that the client computes itself (tests/clients/reuse.mjs).
import { CountingClient, account } from '../../tests/clients/reuse.mjs';
import { keepingWorkloads, recordsOf, workloads } from '../../tests/clients/workloads.mjs';
import { settle } from '../rounds.mjs';
import { median } from '../stats.mjs';

// Time to the first token as its client sees it: what was not written in.
function summaryOf(records) {
  const first_ms = records.map((record) => record.first_ms).filter(Number.isFinite);
  return { ...account(records), first_ms_p50: median(first_ms) };
}

// Every server does the workload, one after the other: {name, by: {server: records}}.
async function runWorkload(workload, clients, servers, turned) {
  const by = {};
  for (const server of turned ? [...servers].reverse() : servers) {
    await settle(servers);
    by[server.name] = await recordsOf(workload, clients.get(server));
  }
  return { name: workload.name, by };
}

async function runWorkloads(bench, list, servers, slots) {
  const clients = new Map(servers.map((server) => [server, new CountingClient(`http://127.0.0.1:${server.port}`)]));
  const results = [];
  for (const workload of list.filter(({ long }) => !(bench.quick && long))) {
    bench.say(`reuse, ${slots} slot${slots === 1 ? '' : 's'}: ${workload.name}`);
    results.push(await runWorkload(workload, clients, servers, results.length % 2 === 1));
  }
  return results;
}

// The two parts need different templates, and so different servers.
export const reuse = (bench, servers, slots) => runWorkloads(bench, workloads, servers, slots);
export const reuseOfThoughts = (bench, servers, slots) => runWorkloads(bench, keepingWorkloads, servers, slots);

// --- the report --------------------------------------------------------------

const percent = (share) => `${(100 * share).toFixed(2)}%`;
const namesOf = (results) => Object.keys(results[0].by).sort();

function rowOf(name, by, names) {
  const sums = names.map((server) => summaryOf(by[server]));
  return [name, String(sums[0].requests), String(sums[0].oracle), ...sums.map(({ share }) => percent(share)),
    ...sums.map(({ oracle, reused }) => String(oracle - reused)), ...sums.map(({ first_ms_p50 }) => first_ms_p50.toFixed(0))];
}

function tableOf({ slots, results }) {
  const names = namesOf(results);
  const everything = Object.fromEntries(names.map((server) => [server, results.flatMap(({ by }) => by[server])]));
  const columns = (what) => names.map((server) => `${what}, ${server}`);
  return {
    title: `${slots} slot${slots === 1 ? '' : 's'}`,
    head: ['', 'requests', 'oracle', ...columns('reused'), ...columns('read again'), ...columns('first token p50, ms')],
    rows: [...results, { name: '**everything**', by: everything }].map(({ name, by }) => rowOf(name, by, names)),
  };
}

const dataOf = ({ slots, results }) => ({ slots, workloads: results.map(({ name, by }) =>
  ({ name, by: Object.fromEntries(Object.entries(by).map(([server, records]) => [server, summaryOf(records)])) })) });

// `parts` are {slots, results}.
export function reuseSection(bench, parts) {
  return {
    title: 'What is not read twice',
    text: 'Workloads of clients, greedy. The oracle of a request is the longest common prefix, in tokens, of its prompt ' +
      'with any earlier prompt and its answer, computed by the client from `/apply-template` and `/tokenize`. Of this ' +
      '"reused" is the share that the server says it took from its cache, and "read again" the rest, in tokens. ' +
      'With prompts that come at once one of them is expected to be read; of one that was given up, what the ' +
      'server had reported as read. Both servers have their default caches. The first token\'s time is the ' +
      'client\'s for the whole answer, less the server\'s for writing it; one run, so read no small difference.' +
      `${bench.quick ? ' A quick run leaves the two longest texts out.' : ''}`,
    plainTables: parts.map(tableOf),
    data: parts.map(dataOf),
  };
}
