// Resident memory and time to be ready, with equal settings.
import { memory_MiB, threads } from '../proc.mjs';
import { Samples } from '../rounds.mjs';

export function memoryReadings(servers) {
  return Object.fromEntries(servers.map((server) =>
    [server.name, { ...memory_MiB(server.pid), threads: threads(server.pid), ready_ms: server.ready_ms }]));
}

const MiB = (value) => value.toFixed(1);

function rowOf(name, start, end) {
  return [name, MiB(start.rss), MiB(start.anonymous), MiB(start.file), String(start.threads),
    start.ready_ms.toFixed(0), MiB(end.rss), MiB(end.peak)];
}

function samplesOf(atStart) {
  const samples = new Samples(Object.keys(atStart));
  for (const [name, { rss, ready_ms }] of Object.entries(atStart)) samples.add(name, { rss, ready_ms });
  return samples;
}

// `atStart` and `atEnd` are readings: after the start, and after the speed scenarios.
export function memory(atStart, atEnd) {
  const names = Object.keys(atStart);
  return {
    name: 'memory',
    title: 'Memory',
    text: 'Resident memory in MiB from `/proc/PID/status`; "file" is mostly the mapped model. At the end the ' +
      'servers have done the last round above.',
    tables: [{ unit: 'MiB', better: 'lower', topic: 'no reuse', claim: true, counted: true,
      rows: [{ label: 'after start', samples: samplesOf(atStart), metric: 'rss' }] }],
    plainTables: [{
      head: ['', 'after start', 'own', 'file', 'threads', 'ready after, ms', 'at the end', 'peak'],
      rows: names.map((name) => rowOf(name, atStart[name], atEnd[name])),
    }],
    data: { atStart, atEnd },
  };
}
