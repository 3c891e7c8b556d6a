// What a receipt says about a prompt, as parts that add up to it. `holdfast explain` counts the same.
import type { Difference, Receipt } from '../lib/types';

export type Tier = 'slot' | 'memory' | 'disk';

export interface Part {
  kind: Tier | 'again' | 'new' | 'written';
  name: string;
  tokens: number;
}

export function tierOf(receipt: Receipt): Tier {
  if (receipt.restored_from === 'disk') return 'disk';
  // "snapshot in place": the slot's rows, with a snapshot from memory. The server's sums call it memory.
  return receipt.restored_from === 'live slot' ? 'slot' : 'memory';
}

const tierNames: Record<Tier, string> = { slot: 'from the slot', memory: 'from memory', disk: 'from disk' };

export const sourceName = (receipt: Receipt): string => tierNames[tierOf(receipt)];

// Tokens that were known to somebody here, reused or not.
function knownOf(receipt: Receipt): number {
  const known = Math.max(receipt.matched_tokens, receipt.restored_tokens);
  return receipt.missing?.why === 'foreign' ? Math.max(known, receipt.missing.position) : known;
}

export function partsOf(receipt: Receipt, written = 0): Part[] {
  const known = Math.min(knownOf(receipt), receipt.prompt_tokens);
  const parts: Part[] = [
    { kind: tierOf(receipt), name: `reused ${sourceName(receipt)}`, tokens: receipt.restored_tokens },
    { kind: 'again', name: 'known, read again', tokens: known - receipt.restored_tokens },
    { kind: 'new', name: 'new, read', tokens: receipt.prompt_tokens - known },
    { kind: 'written', name: 'written', tokens: written },
  ];
  return parts.filter((part) => part.tokens > 0);
}

// "messages[0] (system)"
export const placeOf = ({ in: place, message, role }: Difference): string =>
  place ? place + (message === null ? '' : ` (${role})`) : 'the prompt';

// Why not more, in a few words; '' if there is nothing to say.
export function causeOf(receipt: Receipt): string {
  const { missing, difference } = receipt;
  if (missing && missing.why !== 'grid') return missing.why.replaceAll('_', ' ');
  if (difference?.known_text) return `differs in ${placeOf(difference)}`;
  return receipt.matched_tokens === 0 ? 'nothing was known' : '';
}

// Milliseconds of reading that something could have spared: where there is advice, all that was
// read; else the tokens that were known.
export function lostMs(receipt: Receipt): number {
  if (receipt.recomputed_tokens === 0) return 0;
  if (receipt.advice) return receipt.prompt_ms;
  const again = knownOf(receipt) - receipt.restored_tokens;
  return receipt.missing ? (receipt.prompt_ms * Math.max(again, 0)) / receipt.recomputed_tokens : 0;
}
