// Who is compared, and how each is set. A contestant is what servers.mjs starts.
import { join } from 'node:path';

// The same contestant with more flags, and perhaps another name.
export const withFlags = (contestant, flags, name = contestant.name) =>
  ({ ...contestant, name, extra: [...(contestant.extra ?? []), ...flags] });
const ours = ({ kind }) => kind === 'holdfast';

// `built` is {holdfast, engine}: the program, and the engine's folder with its own server.
// `itself`: Holdfast is its own peer, under other names. Whatever then is ahead or behind is a
// false alarm of the bench.
export function contestantsOf(built, itself = false) {
  const libraries = join(built.engine, 'lib');
  const holdfast = { name: 'holdfast', kind: 'holdfast', program: built.holdfast, libraries };
  const holdfastPlain = withFlags(holdfast, ['--spec', 'off']); // beside a peer that does not draft
  const llama = itself ? { ...holdfastPlain, name: 'itself' } :
    { name: 'llama-server', kind: 'llama-server', program: join(built.engine, 'bin/llama-server'), libraries };
  return {
    holdfast,
    llama,
    holdfastPlain,
    llamaCachesOff: itself ? { ...holdfastPlain, name: 'itself again' } :
      withFlags(llama, ['--cache-ram', '0', '--ctx-checkpoints', '0'], 'llama-server, caches off'),
    holdfastForCrowds: withFlags(holdfast, ['--queue-max', '4096', '--connections-max', '4096']),
    diskOn: (folder) => withFlags(holdfast, ['--cache-dir', folder], 'holdfast, disk on'),
    diskOff: withFlags(holdfast, ['--cache-dir', 'off'], 'holdfast, disk off'),
  };
}

export function drafting(contestant, extra = [], name = `${contestant.name}, MTP`) {
  const flags = ours(contestant) ? ['--spec', 'mtp'] : ['--spec-type', 'draft-mtp', '--spec-draft-n-max', '3'];
  return withFlags(contestant, [...flags, ...extra], name);
}

export const notDrafting = (contestant) =>
  withFlags(contestant, ours(contestant) ? ['--spec', 'off'] : [], `${contestant.name}, no drafts`);

// --- the settings under which every workload runs --------------------------------------------

export const variants = {
  plain: {
    title: 'As they come',
    text: 'Both with their default caches, nothing drafted.',
    set: (contestant) => (ours(contestant) ? withFlags(contestant, ['--spec', 'off']) : contestant),
  },
  tight: {
    title: 'With a tenth of the memory',
    text: 'Both with `--cache-ram` of a tenth of what the workload filled in Holdfast without a limit, and at least 1 MiB. ' +
      'Holdfast may keep that besides its slots, or 8 snapshots for each slot if those are more (`--slot-snapshots`). ' +
      'llama-server\'s checkpoints, up to 32 for each slot, lie outside its limit.',
    set: (contestant, budget_MiB) =>
      withFlags(contestant, [...(ours(contestant) ? ['--spec', 'off'] : []), '--cache-ram', String(budget_MiB)]),
  },
  mtp: {
    title: 'With drafts (MTP)',
    text: 'Both draft with the model\'s own head, at most 3 tokens.',
    set: (contestant) => drafting(contestant, [], contestant.name),
  },
  real: {
    title: 'Real sizes',
    text: 'As they come, with models whose state is as large as that of a real one and whose weights are few (`holdfast-genmodel`): ' +
      '`state-9b` has that of Qwen3.5 9B, 50 MiB a snapshot and 32 KiB a token. Answers are written by the client.',
    set: (contestant) => (ours(contestant) ? withFlags(contestant, ['--spec', 'off']) : contestant),
  },
};

export const tightBudget_MiB = (filled_MiB) => Math.max(1, Math.round(filled_MiB / 10));
