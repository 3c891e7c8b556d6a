// What is held: the tiers, the tree of conversations, and forgetting it all.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { ask, getJson } from '../lib/api';
import { watchEvents } from '../lib/events';
import { bytes, count, duration, percent } from '../lib/format';
import { whileSeen } from '../lib/server';
import type { CacheStatus, CacheTree } from '../lib/types';
import { Activity, noteEvent } from './Activity';
import { TreePicture } from './TreePicture';

// --- tiers ------------------------------------------------------------------------------

interface Filled {
  name: string;
  tint: string;
  bytes: number;
}

function Tier({ name, parts, budget, note }: { name: string; parts: Filled[]; budget: number; note: string }) {
  const used = parts.reduce((all, part) => all + part.bytes, 0);
  const bounded = budget > 0 && budget < 2 ** 50;
  return (
    <section class="card tier">
      <header class="card-head"><h2>{name}</h2><span class="note number">{bytes(used)}{bounded && ` of ${bytes(budget)}`}</span></header>
      <span class="fill" role="img" aria-label={`${name}: ${bytes(used)}${bounded ? ` of ${bytes(budget)}` : ''} in use`}>
        {parts.map((part) => <span key={part.name} class={`part ${part.tint}`} style={{ width: `${(100 * part.bytes) / Math.max(bounded ? budget : used, 1)}%` }} />)}
      </span>
      <ul class="legend">{parts.map((part) => <li key={part.name}><span class={`dot ${part.tint}`} /><b>{bytes(part.bytes)}</b> {part.name}</li>)}</ul>
      <p class="note">{note}</p>
    </section>
  );
}

function Tiers({ cache }: { cache: CacheStatus }) {
  const { memory, disk } = cache;
  return (
    <div class="tiers">
      {memory && (
        <Tier name="Memory" budget={memory.budget_bytes} parts={[
          { name: 'rows', tint: 'memory', bytes: memory.extent_bytes },
          { name: 'snapshots', tint: 'memory light', bytes: memory.snapshot_bytes },
        ]} note={`${count(memory.snapshots)} snapshots, ${count(memory.tokens)} tokens known, ${count(memory.remembered_tokens)} of them without their state`} />
      )}
      {disk && (
        <Tier name="Disk" budget={disk.budget_bytes} parts={[
          { name: 'written', tint: 'disk', bytes: disk.bytes },
          { name: 'waiting', tint: 'disk light', bytes: disk.waiting_bytes },
        ]} note={disk.last_failure ?? `${count(disk.blobs)} files, read at ${disk.read_mb_per_s.toFixed(0)} MB/s${disk.writes ? '' : '; another server writes'}`} />
      )}
    </div>
  );
}

function Totals({ cache }: { cache: CacheStatus }) {
  const { totals } = cache;
  if (!totals) return null;
  const tile = (name: string, value: string, note = '') => (
    <div class="tile"><dt>{name}</dt><dd>{value}<span class="note">{note}</span></dd></div>
  );
  return (
    <dl class="tiles thirds">
      {tile('Prompt tokens reused', percent(totals.restored_tokens, totals.prompt_tokens), `${count(totals.restored_tokens)} of ${count(totals.prompt_tokens)}`)}
      {tile('From slots', percent(totals.restored_live_tokens, totals.prompt_tokens))}
      {tile('From memory', percent(totals.restored_memory_tokens - totals.restored_disk_tokens, totals.prompt_tokens))}
      {tile('From disk', percent(totals.restored_disk_tokens, totals.prompt_tokens))}
      {tile('Time saved', duration(1000 * totals.saved_seconds), `over ${count(totals.requests)} requests`)}
      {tile('Evicted', bytes(totals.evicted_bytes), 'for want of room')}
    </dl>
  );
}

// What is written to disk tells nobody; it is seen after this.
const restMs = 10_000;
// Listing conversations costs the server something: it is asked when states have changed, and no
// more often than this.
const leastMs = 400;
const changes = new Set(['request.started', 'request.finished', 'request.failed', 'state.evicted', 'conversation.dropped', 'cache.cleared', 'events.missed']);

// --- the whole ---------------------------------------------------------------------------

async function forget(): Promise<string> {
  if (!confirm('Forget all states, in memory and on disk? Every conversation is then read again from its beginning.')) return '';
  const { freed_bytes, left_on_disk } = await (await ask('/cache', { method: 'DELETE' })).json();
  return `${bytes(freed_bytes)} of memory freed.${left_on_disk ? ` ${left_on_disk}` : ''}`;
}

async function dropBranch(branch: string): Promise<string> {
  const { freed_bytes } = await (await ask(`/cache/tree?branch=${branch}`, { method: 'DELETE' })).json();
  return `${bytes(freed_bytes)} of memory freed. What is on disk stays there.`;
}

export function CacheView() {
  const cache = useSignal<CacheStatus | null>(null);
  const tree = useSignal<CacheTree | null>(null);
  const trouble = useSignal('');
  const said = useSignal('');
  const look = async () => {
    try {
      [cache.value, tree.value] = await Promise.all([getJson<CacheStatus>('/cache'), getJson<CacheTree>('/cache/tree')]);
      trouble.value = '';
    } catch (error) {
      trouble.value = (error as Error).message;
    }
  };
  const act = async (what: () => Promise<string>) => {
    try {
      said.value = await what();
      await look();
    } catch (error) {
      trouble.value = (error as Error).message;
    }
  };
  useEffect(() => {
    let next = 0;
    const soon = () => {
      next ||= window.setTimeout(() => void look().finally(() => (next = 0)), leastMs);
    };
    const endLooking = whileSeen(look, restMs);
    const endWatching = watchEvents((event) => {
      noteEvent(event);
      if (changes.has(event.name)) soon();
    });
    return () => {
      clearTimeout(next);
      endLooking();
      endWatching();
    };
  }, []);
  const known = cache.value;
  return (
    <div class="view">
      <header class="view-head">
        <h1>Cache</h1>
        <button type="button" class="small" onClick={() => void act(forget)}>Forget everything</button>
      </header>
      <div class="view-body" tabIndex={0} role="region" aria-label="Cache">
        {trouble.value && <p class="failure" role="alert">{trouble.value}</p>}
        {said.value && <p class="state" role="status">{said.value}</p>}
        {known && <Totals cache={known} />}
        {known && <Tiers cache={known} />}
        {tree.value && (
          <section class="card">
            <header class="card-head">
              <h2>Conversations</h2>
              <span class="note">{count(tree.value.conversations)} held{tree.value.shown < tree.value.conversations && `, the latest ${tree.value.shown} shown`}
                {known?.conversations && known.conversations.shared_bytes > 0 && `; ${bytes(known.conversations.shared_bytes)} shared by several`}</span>
            </header>
            {tree.value.nodes.length > 0 ? <TreePicture tree={tree.value} drop={(branch) => void act(() => dropBranch(branch))} /> : <p class="empty">Memory holds nothing yet.</p>}
          </section>
        )}
        <Activity />
      </div>
    </div>
  );
}
