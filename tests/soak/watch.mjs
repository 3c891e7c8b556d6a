// What the process takes, minute by minute, and whether it grows.
import { readdirSync } from 'node:fs';

import { memory_MiB, threads } from '../../bench/proc.mjs';
import { exchange } from './exchange.mjs';

const noDisk = { blobs: 0, bytes: 0, loaded: 0, quarantined: 0 };  // for the first moments of a server

// One reading; null while no server answers.
export async function reading(world) {
  try {
    const { pid, server } = world;
    const { memory, disk } = JSON.parse((await exchange(server, '/cache')).text);
    const { rss, anonymous } = memory_MiB(pid);
    const descriptors = readdirSync(`/proc/${pid}/fd`).length;
    const { snapshots, resident_bytes } = memory;
    return { rss, anonymous, descriptors, threads: threads(pid), snapshots, resident_bytes, disk: disk ?? noDisk };
  } catch {
    return null;
  }
}

// The rise of the straight line through these numbers, from its first to its last.
export function rise(values) {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let along = 0, across = 0;
  values.forEach((value, i) => {
    along += (i - middle) * (value - mean);
    across += (i - middle) ** 2;
  });
  return across === 0 ? 0 : (along / across) * (values.length - 1);
}

// What grew over the readings by more than `slack` of its mean and more than a few.
export function verdict(readings, slack = 0.03) {
  const few = { rss: 4, anonymous: 4, descriptors: 2, threads: 1 };
  return Object.entries(few).map(([name, least]) => {
    const values = readings.map((one) => one[name]);
    const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
    const grown = rise(values);
    return { name, mean, rise: grown, flat: values.length > 2 && grown <= Math.max(least, slack * mean) };
  });
}
