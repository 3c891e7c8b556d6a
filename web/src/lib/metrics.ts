// The server's figures over the last hour, asked for by the page itself while it is seen.
import { signal } from '@preact/signals';

import { Failure, ask, key } from './api';
import { whileSeen } from './server';

export type Figures = Map<string, number>;  // by name and labels: 'a_total{kind="x"}'

export interface Sample {
  at: number;  // milliseconds
  figures: Figures;
}

const everyMs = 5000;
const keptMs = 3_600_000;

export const samples = signal<Sample[]>([]);
export const figuresTrouble = signal('');

export function parseFigures(text: string): Figures {
  const figures: Figures = new Map();
  for (const line of text.split('\n')) {
    if (!line || line.startsWith('#')) continue;
    const cut = line.lastIndexOf(' ');
    figures.set(line.slice(0, cut), Number(line.slice(cut + 1)));
  }
  return figures;
}

export const figure = (figures: Figures, name: string): number => figures.get(name) ?? 0;

// The sum over all labels of a family.
export function total(figures: Figures, family: string): number {
  let sum = 0;
  for (const [name, value] of figures) if (name === family || name.startsWith(`${family}{`)) sum += value;
  return sum;
}

async function look(): Promise<void> {
  try {
    const figures = parseFigures(await (await ask('/metrics')).text());
    const at = Date.now();
    samples.value = [...samples.value.filter((sample) => at - sample.at < keptMs), { at, figures }];
    figuresTrouble.value = '';
  } catch (error) {
    figuresTrouble.value = (error as Error).message;
    // A key that may not see them will not see them in five seconds either.
    if (error instanceof Failure && (error.status === 401 || error.status === 403)) endWatching();
  }
}

let endWatching = () => {};

export function watchFigures(): void {
  key.subscribe(() => {
    endWatching();
    samples.value = [];
    endWatching = whileSeen(look, everyMs);
  });
}

// --- what is made of them --------------------------------------------------------------

export interface Point {
  at: number;
  value: number | null;  // null: nothing is known there
}

// Per second, between each sample and the one before. A counter that fell began again.
export function rates(value: (figures: Figures) => number): Point[] {
  return samples.value.slice(1).map((sample, i) => {
    const before = samples.value[i];
    const grown = value(sample.figures) - value(before.figures);
    const seconds = (sample.at - before.at) / 1000;
    return { at: sample.at, value: grown < 0 || seconds > 60 ? null : grown / seconds };
  });
}

export const levels = (value: (figures: Figures) => number): Point[] =>
  samples.value.map((sample) => ({ at: sample.at, value: value(sample.figures) }));

const bucket = /^holdfast_step_gap_seconds_bucket\{between="work",le="([^"]+)"\}$/;

// The bound below which 95% of the gaps of this hour lie, in seconds; null: there were none.
export function gapsP95(): number | null {
  const [first, last] = [samples.value[0], samples.value.at(-1)];
  if (!first || !last) return null;
  const counts = [...last.figures].flatMap(([name, value]) => {
    const found = bucket.exec(name);
    if (!found) return [];
    const was = figure(first.figures, name);
    return [{ bound: found[1] === '+Inf' ? Infinity : Number(found[1]), value: value >= was ? value - was : value }];
  }).sort((a, b) => a.bound - b.bound);
  const all = counts.at(-1)?.value ?? 0;
  return all > 0 ? counts.find(({ value }) => value >= 0.95 * all)!.bound : null;
}
