// Why Holdfast is behind where it is: reasons by what they explain. The figures come from
// the run; a reason is only printed beside an exception that the run has found.
//
// A reason is a cause that somebody has seen, in receipts, a profile or the code. One that is
// only likely says so.
const reasons = [
  {
    of: /\| tight \| (read again|first token p50)/,
    why: 'A state is kept whole in `--cache-ram` or not at all: its rows (1 KiB a token in the pocket model) and its snapshot ' +
      '(0.64 MiB). A budget smaller than one conversation therefore keeps nothing, and a hybrid model goes on only where a ' +
      'prompt extends what its slot holds to the letter; the receipts say `never_taken`. llama-server keeps its checkpoints ' +
      'over the rows that lie in the slot anyway, and does not count them against `--cache-ram`.',
  },
  {
    of: /^conversation, qwen35.*read again/,
    why: 'Tokens of the random models are letters, so that the header which opens the answer has 11 of them. Holdfast\'s last cut ' +
      'lies before that header (the receipts say `grid`), llama-server\'s 4 tokens before the end of any prompt.',
  },
];

// The reason for an item (verdict.mjs), or null.
export function reasonFor({ id }) {
  return reasons.find(({ of }) => of.test(id))?.why ?? null;
}
