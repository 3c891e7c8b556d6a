// Why Holdfast is behind where it is: reasons by what they explain. The figures come from
// the run; a reason is only printed beside an exception that the run has found.
//
// A reason is a cause that somebody has seen, in receipts, a profile or the code. One that is
// only likely says so.
const reasons = [];

// The reason for an item (verdict.mjs), or null.
export function reasonFor({ id }) {
  return reasons.find(({ of }) => of.test(id))?.why ?? null;
}
