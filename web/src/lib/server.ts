// What the page knows about the server as a whole: its model, and whether it answers.
import { signal } from '@preact/signals';

import { Failure, getJson, key } from './api';
import type { Props } from './types';

export const props = signal<Props | null>(null);
export const trouble = signal('');

let timer = 0;

// Asks until the model is there; while it loads, every second.
export async function learnProps(): Promise<void> {
  clearTimeout(timer);
  try {
    props.value = await getJson<Props>('/props');
    trouble.value = '';
  } catch (error) {
    trouble.value = (error as Error).message;
    const status = error instanceof Failure ? error.status : 0;
    if (status === 503 || status === 0) timer = window.setTimeout(() => void learnProps(), status ? 1000 : 4000);
  }
}

key.subscribe(() => void learnProps());

// Calls `look` now and every `ms` while the page is seen; nothing is asked by a hidden one.
export function whileSeen(look: () => Promise<void>, ms: number): () => void {
  let next = 0;
  let ended = false;
  const turn = async () => {
    clearTimeout(next);
    if (ended || document.hidden) return;
    await look();
    if (!ended) next = window.setTimeout(() => void turn(), ms);
  };
  const onChange = () => void turn();
  document.addEventListener('visibilitychange', onChange);
  void turn();
  return () => {
    ended = true;
    clearTimeout(next);
    document.removeEventListener('visibilitychange', onChange);
  };
}
