// Why Holdfast is behind where it is: reasons by what they explain. The figures come from
// the run; a reason is only printed beside an exception that the run has found.
//
// A reason is a cause that somebody has seen, in receipts, a profile or the code. One that is
// only likely says so.
const reasons = [
  {
    of: /\| (plain|mtp|real) \| peak memory/,
    why: 'Holdfast keeps more states, within its own budget (a quarter of the free memory): a snapshot every few hundred tokens and ' +
      'where conversations go on, beside the rows. `--cache-ram` limits it.',
  },
  {
    of: /\| tight \| peak memory/,
    why: 'Holdfast keeps up to 8 snapshots (0.64 MiB each in the pocket model) of what lies in a slot however small `--cache-ram` is; `/cache` ' +
      'lists them.',
  },
  {
    of: /^second query on 128K.*first token p/,
    why: 'The engine\'s flash attention on a processor works on tiles of 64 tokens; a chunk of fewer is computed token by token, as a ' +
      'profile shows. At this depth the few tokens that Holdfast reads take longer than the hundreds that llama-server reads.',
  },
  {
    of: /^(conversation, qwen35|.*, state-\d+b \| real).*read again/,
    why: 'Tokens of the random models are letters, so that the header which opens the answer has 11 of them. Holdfast\'s last cut ' +
      'lies before that header (the receipts say `grid`), llama-server\'s 4 tokens before the end of any prompt.',
  },
];

// The reason for an item (verdict.mjs), or null.
export function reasonFor({ id, peer }) {
  if (!peer.startsWith('llama-server')) return null;
  return reasons.find(({ of }) => of.test(id))?.why ?? null;
}
