// What happens to requests and states: those at work now, and what has happened since the page was opened.
import { signal } from '@preact/signals';

import type { CacheEvent } from '../lib/events';
import { bytes, clock, count, duration } from '../lib/format';

// --- requests at work ----------------------------------------------------------------------

interface Running {
  slot: number;
  prompt: number;
  reused: number;
  processed: number;
}

const running = signal<Record<string, Running>>({});

function follow({ name, data }: CacheEvent): void {
  const { [data.request]: known, ...others } = running.value;
  if (name === 'request.started') {
    const { slot, prompt_tokens: prompt, reused_tokens: reused } = data;
    running.value = { ...others, [data.request]: { slot, prompt, reused, processed: reused } };
  } else if (name === 'request.read' && known) {
    running.value = { ...others, [data.request]: { ...known, processed: data.processed_tokens } };
  } else if (name === 'request.finished' || name === 'request.failed') {
    running.value = others;
  } else if (name === 'events.missed') {
    running.value = {};
  }
}

function AtWork({ one }: { one: Running }) {
  const share = (tokens: number): string => `${(100 * tokens) / Math.max(one.prompt, 1)}%`;
  const reads = one.processed < one.prompt;
  return (
    <li>
      <span class={`state-tag ${reads ? 'prefill' : 'decode'}`}>{reads ? 'reading' : 'writing'}</span>
      <span class="fill" role="img" aria-label={`Slot ${one.slot}: ${count(one.reused)} tokens reused, ${count(one.processed - one.reused)} of ${count(one.prompt - one.reused)} read`}>
        <span class="part slot" style={{ width: share(one.reused) }} />
        <span class="part new" style={{ width: share(one.processed - one.reused) }} />
      </span>
      <span class="note number">slot {one.slot}: {count(one.reused)} of {count(one.prompt)} reused</span>
    </li>
  );
}

// --- what has happened ---------------------------------------------------------------------

interface Line {
  key: string;   // of the event that began it
  time: string;
  name: string;
  reason: string;
  words: string;
  snapshots: number;
  rows: number;
  freed: number;
}

const linesMax = 40;
const lines = signal<Line[]>([]);

const reasons: Record<string, string> = {
  budget: 'something worth more needed the room',
  thinned: 'a neighbour serves almost as well',
  'dead weight': 'no state could use these rows any more',
  corrupt: 'it failed its verification',
  disproved: 'it came out otherwise when it was computed again',
};

function wordsOf({ name, data }: CacheEvent): string {
  switch (name) {
    case 'request.finished':
      return `Slot ${data.slot} answered: ${count(data.reused_tokens)} reused, ${count(data.read_tokens)} read in ${duration(data.read_ms)}, ${count(data.written_tokens)} written in ${duration(data.written_ms)}`;
    case 'request.failed':
      return data.cancelled ? 'A client left before its answer was complete' : 'A request failed';
    case 'conversation.dropped':
      return `A conversation was dropped from memory: ${bytes(data.freed_bytes)} freed`;
    case 'cache.cleared':
      return `States were forgotten: ${bytes(data.freed_bytes)} freed`;
    case 'events.missed':
      return 'More happened than this page was told of';
    default:
      return '';
  }
}

function evictionWords({ snapshots, rows, freed, reason }: Line): string {
  const kinds = [snapshots > 0 && `${snapshots} snapshot${snapshots > 1 ? 's' : ''}`, rows > 0 && `rows of ${rows} branch${rows > 1 ? 'es' : ''}`];
  return `${kinds.filter(Boolean).join(' and ')} left memory (${bytes(freed)}): ${reasons[reason] ?? reason}`;
}

// Evictions come by the dozen: those of one reason that follow each other are one line.
function list({ id, name, data }: CacheEvent): void {
  const evicted = name === 'state.evicted';
  const words = wordsOf({ id, name, data });
  if (!evicted && !words) return;
  const [latest, ...older] = lines.value;
  const joins = evicted && latest?.name === name && latest.reason === data.reason;
  const line: Line = joins ? { ...latest } : { key: id, time: data.time ?? new Date().toISOString(), name, reason: data.reason ?? '', words, snapshots: 0, rows: 0, freed: 0 };
  if (evicted) {
    line[data.held === 'snapshot' ? 'snapshots' : 'rows'] += 1;
    line.freed += data.bytes;
    line.words = evictionWords(line);
  }
  lines.value = [line, ...(joins ? older : lines.value)].slice(0, linesMax);
}

export function noteEvent(event: CacheEvent): void {
  follow(event);
  list(event);
}

export function Activity() {
  const working = Object.entries(running.value);
  return (
    <section class="card activity" aria-label="What happens">
      <header class="card-head"><h2>What happens</h2><span class="note">since this page was opened</span></header>
      {working.length > 0 && <ul class="working">{working.map(([id, one]) => <AtWork key={id} one={one} />)}</ul>}
      {lines.value.length === 0 && working.length === 0 && <p class="empty">Nothing yet. Requests, evictions and clearing show up here.</p>}
      <div class="happened" role="log" aria-label="Latest first" tabIndex={0}>
        <ol>{lines.value.map(({ key, time, words }) => <li key={key}><time class="note number">{clock(time)}</time> <span>{words}</span></li>)}</ol>
      </div>
    </section>
  );
}
