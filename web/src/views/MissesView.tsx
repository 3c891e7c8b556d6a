// What was read although it could have been reused: the causes that cost most, and each request.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { Bar, Differs, Reasons } from '../chat/Receipt';
import { causeOf, lostMs, partsOf } from '../chat/reuse';
import { getJson } from '../lib/api';
import { clock, count, duration, percent } from '../lib/format';
import { whileSeen } from '../lib/server';
import type { CacheStatus, Receipt } from '../lib/types';

const hourMs = 3_600_000;
const causesShown = 4;
const worthNamingMs = 100;  // in sum; less is nobody's trouble

// --- causes -----------------------------------------------------------------------------

interface Cause {
  name: string;
  lost: number;
  receipts: Receipt[];
}

function costliest(receipts: Receipt[]): Cause[] {
  const causes = new Map<string, Cause>();
  for (const receipt of receipts) {
    const lost = lostMs(receipt);
    if (lost <= 0) continue;
    const name = causeOf(receipt) || 'other';
    const cause = causes.get(name) ?? { name, lost: 0, receipts: [] };
    cause.lost += lost;
    cause.receipts.push(receipt);
    causes.set(name, cause);
  }
  return [...causes.values()].filter(({ lost }) => lost >= worthNamingMs).sort((a, b) => b.lost - a.lost).slice(0, causesShown);
}

const CauseCard = ({ cause }: { cause: Cause }) => {
  const worst = cause.receipts.reduce((a, b) => (lostMs(b) > lostMs(a) ? b : a));
  return (
    <li class="card cause">
      <header><h3>{cause.name}</h3><span class="lost number">{duration(cause.lost)} lost</span></header>
      <p class="note">{count(cause.receipts.length)} {cause.receipts.length === 1 ? 'request' : 'requests'}; the costliest at {clock(worst.time)}</p>
      <Differs receipt={worst} />
      <Reasons receipt={worst} />
    </li>
  );
};

// --- more memory ---------------------------------------------------------------------------

interface MemoryWish {
  tokens: number;  // read again because their state had been evicted
  kept: number;    // of them, that this much memory would still have held
  bytes: number;
}

// What twice the memory would have spared, as far as receipts tell; null where nothing was evicted.
function withTwice(receipts: Receipt[], budget: number): MemoryWish | null {
  const evicted = receipts.filter(({ missing }) => missing?.kept_with_bytes);
  const tokens = (some: Receipt[]): number => sum(some, ({ missing, restored_tokens }) => Math.max(missing!.position - restored_tokens, 0));
  if (budget === 0 || budget >= 2 ** 50 || evicted.length === 0) return null;
  const kept = evicted.filter(({ missing }) => missing!.kept_with_bytes! <= 2 * budget);
  return { tokens: tokens(evicted), kept: tokens(kept), bytes: 2 * budget };
}

const MoreMemory = ({ wish }: { wish: MemoryWish }) => (
  <section class="card" aria-label="With twice the memory">
    <h2>With twice the memory</h2>
    <p>{count(wish.tokens)} tokens were read again because their state had been evicted. With <b>--cache-ram {Math.round(wish.bytes / 2 ** 20)}</b>{' '}
      {wish.kept === 0 ? 'none of them would have been kept.' : `${count(wish.kept)} of them (${percent(wish.kept, wish.tokens)}) would have been kept.`}</p>
  </section>
);

// --- requests ----------------------------------------------------------------------------

function bySession(receipts: Receipt[]): [string, Receipt[]][] {
  const groups = new Map<string, Receipt[]>();
  for (const receipt of receipts) {
    const name = receipt.session ?? 'without a session';
    groups.set(name, [...(groups.get(name) ?? []), receipt]);
  }
  return [...groups];
}

function Row({ receipt }: { receipt: Receipt }) {
  const open = useSignal(false);
  const lost = lostMs(receipt);
  return (
    <>
      <tr>
        <td class="number"><button type="button" class="quiet" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>{clock(receipt.time)}</button></td>
        <td class="wide"><Bar parts={partsOf(receipt)} label={`${percent(receipt.restored_tokens, receipt.prompt_tokens)} reused`} /></td>
        <td class="number">{count(receipt.prompt_tokens)}</td>
        <td class="number">{percent(receipt.restored_tokens, receipt.prompt_tokens)}</td>
        <td class="number">{duration(receipt.prompt_ms)}</td>
        <td class="number lost">{lost > 0 ? duration(lost) : ''}</td>
        <td>{causeOf(receipt)}</td>
      </tr>
      {open.value && <tr class="more"><td colSpan={7}><Differs receipt={receipt} /><Reasons receipt={receipt} /><p class="note">{receipt.response || receipt.id}</p></td></tr>}
    </>
  );
}

const sum = (receipts: Receipt[], value: (receipt: Receipt) => number): number =>
  receipts.reduce((all, receipt) => all + value(receipt), 0);

const Session = ({ name, receipts }: { name: string; receipts: Receipt[] }) => (
  <section class="card">
    <header class="card-head">
      <h2>{name}</h2>
      <span class="note">{count(receipts.length)} {receipts.length === 1 ? 'request' : 'requests'},{' '}
        {percent(sum(receipts, (one) => one.restored_tokens), sum(receipts, (one) => one.prompt_tokens))} reused,{' '}
        {duration(sum(receipts, lostMs))} lost</span>
    </header>
    <div class="table-frame" tabIndex={0} role="region" aria-label={`Requests of ${name}`}>
      <table class="requests">
        <thead><tr><th scope="col">Time</th><th scope="col">Prompt</th><th scope="col">Tokens</th><th scope="col">Reused</th><th scope="col">Read in</th><th scope="col">Lost</th><th scope="col">Why not more</th></tr></thead>
        <tbody>{receipts.map((receipt) => <Row key={receipt.id} receipt={receipt} />)}</tbody>
      </table>
    </div>
  </section>
);

const receiptsOf = async (limit: number): Promise<Receipt[]> =>
  (await getJson<{ data: Receipt[] }>(`/cache/receipts?limit=${limit}`)).data;

export function MissesView() {
  const receipts = useSignal<Receipt[] | null>(null);
  const budget = useSignal(0);  // of memory; 0: this key may not know it
  const span = useSignal<'hour' | 'all'>('hour');
  const trouble = useSignal('');
  useEffect(() => {
    void getJson<CacheStatus>('/cache').then(({ memory }) => (budget.value = memory?.budget_bytes ?? 0), () => {});
    return whileSeen(async () => {
      try {
        // All of them may be a megabyte: they are fetched when there is a new one.
        const [newest] = await receiptsOf(1);
        const [shown] = receipts.value ?? [];
        if (!receipts.value || newest?.id !== shown?.id || newest?.complete !== shown?.complete) receipts.value = await receiptsOf(512);
        trouble.value = '';
      } catch (error) {
        trouble.value = (error as Error).message;
      }
    }, 2000);
  }, []);
  const shown = (receipts.value ?? []).filter((one) => span.value === 'all' || Date.now() - Date.parse(one.time) < hourMs);
  const causes = costliest(shown);
  const wish = withTwice(shown, budget.value);
  return (
    <div class="view">
      <header class="view-head">
        <h1>Misses</h1>
        <div class="choice" role="group" aria-label="How far back">
          <button type="button" aria-pressed={span.value === 'hour'} onClick={() => (span.value = 'hour')}>This hour</button>
          <button type="button" aria-pressed={span.value === 'all'} onClick={() => (span.value = 'all')}>All that is remembered</button>
        </div>
      </header>
      <div class="view-body" tabIndex={0} role="region" aria-label="Misses">
        {trouble.value && <p class="failure" role="alert">{trouble.value}</p>}
        {receipts.value && shown.length === 0 && <p class="empty">No requests yet. Each request leaves a receipt here: what it reused, and why not more.</p>}
        {shown.length > 0 && (
          <section aria-label="What cost most">
            <h2 class="section">What cost most</h2>
            {causes.length === 0
              ? <p class="empty">Next to nothing was read that could have been reused.</p>
              : <ul class="causes">{causes.map((cause) => <CauseCard key={cause.name} cause={cause} />)}</ul>}
          </section>
        )}
        {wish && <MoreMemory wish={wish} />}
        {bySession(shown).map(([name, some]) => <Session key={name} name={name} receipts={some} />)}
      </div>
    </div>
  );
}
