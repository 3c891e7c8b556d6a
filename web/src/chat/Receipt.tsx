// The bar under an answer, and the receipt that it opens.
import { useEffect } from 'preact/hooks';

import { bytes, clock, count, duration, percent } from '../lib/format';
import type { Receipt, Timings } from '../lib/types';
import { excerptOf, markIn, scrollTo, unmark } from './marking';
import { type Conversation, type Message, messageAt, pathTo, textOf } from './model';
import { type Part, partsOf, sourceName, tierOf } from './reuse';

export const Bar = ({ parts, label }: { parts: Part[]; label: string }) => (
  <span class="bar" role="img" aria-label={label}>
    {parts.map((part) => <span key={part.kind} class={`part ${part.kind}`} style={{ flexGrow: part.tokens }} />)}
  </span>
);

const Legend = ({ parts }: { parts: Part[] }) => (
  <ul class="legend">
    {parts.map((part) => (
      <li key={part.kind}>
        <span class={`dot ${part.kind}`} />
        <b>{count(part.tokens)}</b> {part.name}
      </li>
    ))}
  </ul>
);

const wordsFor = (parts: Part[]): string => parts.map((part) => `${count(part.tokens)} tokens ${part.name}`).join(', ');

// --- one line under an answer -----------------------------------------------------------

export function ReuseLine({ receipt, timings, open, onToggle }:
  { receipt: Receipt; timings?: Timings; open: boolean; onToggle: () => void }) {
  const written = timings?.predicted_n ?? 0;
  const parts = partsOf(receipt, written);
  return (
    <button type="button" class="reuse" aria-expanded={open} onClick={onToggle} title="What was reused, and why not more">
      <Bar parts={parts} label={wordsFor(parts)} />
      <span class="figures">
        {receipt.restored_tokens > 0 && (
          <span><i class={`dot ${tierOf(receipt)}`} />{count(receipt.restored_tokens)} reused {sourceName(receipt)}</span>
        )}
        <span><i class="dot new" />{count(receipt.recomputed_tokens)} read in {duration(receipt.prompt_ms)}</span>
        {timings && <span><i class="dot written" />{count(written)} written, {timings.predicted_per_second.toFixed(0)}/s</span>}
      </span>
    </button>
  );
}

// --- the receipt ------------------------------------------------------------------------

function timeRows(receipt: Receipt, timings?: Timings): [string, string, string][] {
  const rows: [string, string, string][] = [
    ['Waited for a slot', duration(receipt.queued_ms), receipt.waited_for ? `for ${receipt.waited_for}, which read the same` : ''],
  ];
  if (receipt.bytes_fetched > 0) rows.push(['Fetched from disk', duration(receipt.fetch_ms), bytes(receipt.bytes_fetched)]);
  if (receipt.bytes_restored > 0) rows.push(['Brought into the slot', duration(receipt.restore_ms), bytes(receipt.bytes_restored)]);
  rows.push(['Read', duration(receipt.prompt_ms), `${count(receipt.recomputed_tokens)} tokens`]);
  if (timings) rows.push(['Written', duration(timings.predicted_ms), `${count(timings.predicted_n)} tokens`]);
  if (receipt.saved_ms > 0) rows.push(['Saved by reuse', duration(receipt.saved_ms), 'about, as reading goes here']);
  return rows;
}

const Times = ({ receipt, timings }: { receipt: Receipt; timings?: Timings }) => (
  <table class="times">
    <caption class="hidden">Times</caption>
    <tbody>
      {timeRows(receipt, timings).map(([what, time, note]) => (
        <tr key={what}><th scope="row">{what}</th><td class="number">{time}</td><td class="note">{note}</td></tr>
      ))}
    </tbody>
  </table>
);

export function Differs({ receipt, text }: { receipt: Receipt; text?: string }) {
  const { difference } = receipt;
  if (!difference) return null;
  const excerpt = text === undefined ? null : excerptOf(text, difference.sent_text);
  return (
    <div class="differs">
      <p>
        It parts from what was known at token <b>{count(difference.position)}</b>
        {difference.in && <>, in <code>{difference.in}</code>{difference.message !== null && ` (${difference.role})`}</>}:
      </p>
      <dl>
        {difference.known_text && <><dt>known</dt><dd><del>{difference.known_text}</del></dd></>}
        <dt>sent</dt>
        <dd>{excerpt
          ? <>{excerpt.before}<mark>{excerpt.marked}</mark>{excerpt.after}</>
          : <mark>{difference.sent_text}</mark>}</dd>
      </dl>
    </div>
  );
}

// What a receipt says in sentences: why not more, and what would help.
export const Reasons = ({ receipt }: { receipt: Receipt }) => (
  <>
    {receipt.missing && <p><span class="tag">Why not more</span>{receipt.missing.sentence}</p>}
    {receipt.advice && <p><span class="tag help">What would help</span>{receipt.advice}</p>}
    {receipt.notes?.map((note) => <p key={note}>{note}</p>)}
    {receipt.proof && <p>Computed again and compared: {receipt.proof}.</p>}
  </>
);

export function ReceiptPanel({ conversation, message }: { conversation: Conversation; message: Message }) {
  const receipt = message.receipt!;
  const { difference } = receipt;
  const place = difference && difference.message !== null
    ? messageAt(pathTo(conversation, message.parent), message.system ?? '', difference.message) : undefined;
  const text = place === 'system' ? message.system : place && textOf(place);
  useEffect(() => {
    if (difference && place && place !== 'system') markIn(place.id, difference.sent_text);
    return unmark;
  }, [message.id]);
  const parts = partsOf(receipt);
  return (
    <section class="receipt" aria-label="Receipt">
      <header>
        <h2>{percent(receipt.restored_tokens, receipt.prompt_tokens)} of the prompt reused</h2>
        <span class="note">{clock(receipt.time)} · slot {receipt.slot}</span>
      </header>
      <Bar parts={parts} label={wordsFor(parts)} />
      <Legend parts={parts} />
      <Times receipt={receipt} timings={message.timings} />
      <Differs receipt={receipt} text={text} />
      {place && place !== 'system' && (
        <button type="button" class="small" onClick={() => {
          markIn(place.id, difference!.sent_text);
          scrollTo(place.id);
        }}>Show it in the message</button>
      )}
      <Reasons receipt={receipt} />
      {receipt.companion && receipt.companion.drafted > 0 && (
        <p>Drafts by {receipt.companion.name}: {count(receipt.companion.accepted)} of {count(receipt.companion.drafted)} tokens
          accepted ({percent(receipt.companion.accepted, receipt.companion.drafted)}).</p>
      )}
      <p class="note id">{receipt.response || receipt.id}</p>
    </section>
  );
}
