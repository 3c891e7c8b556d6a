// Slots, queue, speeds, tiers and the engine, and how they went over the last hour.
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

import { getJson } from '../lib/api';
import { Chart } from '../lib/Chart';
import { bytes, count, duration, percent, short } from '../lib/format';
import { type Figures, figure, figuresTrouble, gapsP95, levels, rates, samples, total } from '../lib/metrics';
import { props, whileSeen } from '../lib/server';
import type { Slot } from '../lib/types';

const Tile = ({ name, children, note }: { name: string; children: ComponentChildren; note?: string }) => (
  <div class="tile"><dt>{name}</dt><dd>{children}<span class="note">{note}</span></dd></div>
);

const latest = (): Figures => samples.value.at(-1)?.figures ?? new Map();

// --- now -------------------------------------------------------------------------------

const drafted = 'holdfast_drafted_tokens_total';
const accepted = 'holdfast_draft_accepted_tokens_total';

function Tiles({ slots }: { slots: Slot[] }) {
  const now = latest();
  const prompts = figure(now, 'llamacpp:prompt_tokens_total') + figure(now, 'llamacpp:prompt_tokens_cached_total');
  const p95 = gapsP95();
  return (
    <dl class="tiles">
      <Tile name="Slots at work" note={`of ${slots.length}`}>{slots.filter((slot) => slot.is_processing).length}</Tile>
      <Tile name="Waiting">{count(figure(now, 'llamacpp:requests_deferred'))}</Tile>
      <Tile name="Prompt tokens reused" note="since the start">{percent(figure(now, 'llamacpp:prompt_tokens_cached_total'), prompts)}</Tile>
      <Tile name="Reading" note="tokens/s">{count(figure(now, 'llamacpp:prompt_tokens_seconds'))}</Tile>
      <Tile name="Writing" note="tokens/s">{count(figure(now, 'llamacpp:predicted_tokens_seconds'))}</Tile>
      <Tile name="Drafts accepted">{percent(total(now, accepted), total(now, drafted))}</Tile>
      <Tile name="Gaps, 95% below" note="with work between">{p95 === null ? '–' : duration(1000 * p95)}</Tile>
      <Tile name="Time saved" note="by reuse">{duration(1000 * figure(now, 'holdfast_cache_saved_seconds_total'))}</Tile>
    </dl>
  );
}

const stateNames = { idle: 'idle', prefill: 'reading', decode: 'writing' };

function SlotRow({ slot }: { slot: Slot }) {
  const held = Math.min(slot.n_tokens / slot.n_ctx, 1);
  return (
    <tr>
      <th scope="row">Slot {slot.id}</th>
      <td><span class={`state-tag ${slot.state}`}>{stateNames[slot.state]}</span></td>
      <td class="wide">
        <span class="track" role="meter" aria-label={`Slot ${slot.id} holds`} aria-valuemin={0} aria-valuemax={slot.n_ctx} aria-valuenow={slot.n_tokens}>
          <span style={{ width: `${100 * held}%` }} />
        </span>
      </td>
      <td class="number">{count(slot.n_tokens)}<span class="note"> of {short(slot.n_ctx)}</span></td>
      <td class="number note">{slot.state === 'prefill' && `${count(slot.n_prompt_tokens_processed)} of ${count(slot.n_prompt_tokens)} read`}
        {slot.state === 'decode' && `${count(slot.next_token[0].n_decoded)} written`}</td>
    </tr>
  );
}

// --- the last hour ------------------------------------------------------------------------

const perSecond = (value: number): string => `${short(value)}/s`;

const Charts = () => (
  <div class="charts">
    <Chart title="Prompt tokens" format={perSecond} stacked series={[
      { name: 'reused', tint: 'slot', points: rates((f) => figure(f, 'llamacpp:prompt_tokens_cached_total')) },
      { name: 'read', tint: 'new', points: rates((f) => figure(f, 'llamacpp:prompt_tokens_total')) },
    ]} />
    <Chart title="Tokens written" format={perSecond} stacked series={[
      { name: 'written', tint: 'written', points: rates((f) => figure(f, 'llamacpp:tokens_predicted_total')) },
    ]} />
    <Chart title="Requests" format={short} ceiling={2} series={[
      { name: 'at work', tint: 'slot', points: levels((f) => figure(f, 'llamacpp:requests_processing')) },
      { name: 'waiting', tint: 'again', points: levels((f) => figure(f, 'llamacpp:requests_deferred')) },
    ]} />
    <Chart title="States held" format={bytes} stacked ceiling={1024 * 1024} series={[
      { name: 'memory', tint: 'memory', points: levels((f) => total(f, 'holdfast_cache_resident_bytes')) },
      { name: 'disk', tint: 'disk', points: levels((f) => total(f, 'holdfast_disk_bytes')) },
    ]} />
  </div>
);

// --- the engine ---------------------------------------------------------------------------

function Engine() {
  const known = props.value;
  if (!known?.engine) return null;
  const { engine } = known;
  return (
    <section class="card">
      <h2>Engine</h2>
      <dl class="facts">
        <dt>Program</dt><dd>{known.build_info}</dd>
        <dt>llama.cpp</dt><dd>{engine.version}, {engine.cpu_variant}</dd>
        <dt>Checked</dt><dd>{engine.check.result}, {engine.check.kinds - engine.check.unchecked} of {engine.check.kinds} kinds of batch, {duration(engine.check.ms)}</dd>
        <dt>Given up</dt><dd>{engine.given_up ?? 'nothing'}</dd>
        {engine.fault && <><dt>Fault</dt><dd>{engine.fault}</dd></>}
      </dl>
    </section>
  );
}

export function ServerView() {
  const slots = useSignal<Slot[]>([]);
  const trouble = useSignal('');
  useEffect(() => whileSeen(async () => {
    try {
      slots.value = await getJson<Slot[]>('/slots');
      trouble.value = '';
    } catch (error) {
      trouble.value = (error as Error).message;
    }
  }, 1000), []);
  const said = trouble.value || figuresTrouble.value;
  return (
    <div class="view">
      <header class="view-head"><h1>Server</h1></header>
      <div class="view-body" tabIndex={0} role="region" aria-label="Server">
        {said && <p class="failure" role="alert">{said}</p>}
        {samples.value.length > 0 && <Tiles slots={slots.value} />}
        <section class="card">
          <h2>Slots</h2>
          <table class="slots"><caption class="hidden">Slots</caption><tbody>{slots.value.map((slot) => <SlotRow key={slot.id} slot={slot} />)}</tbody></table>
        </section>
        {samples.value.length > 0 && <section class="card"><h2>The last hour <span class="note">as this page saw it</span></h2><Charts /></section>}
        <Engine />
      </div>
    </div>
  );
}
