// The cache's tree as a picture: branches over shared trunks. Keyboard: the arrows walk through it.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';

import { bytes, count, duration, short } from '../lib/format';
import type { CacheTree } from '../lib/types';
import { type Placed, layoutOf } from './treeLayout';

const rowHeight = 22;
const inset = 8;
const right = 150;  // room for the words behind a tip

function words(one: Placed): string {
  const { node } = one;
  const span = `tokens ${count(node.from)} to ${count(node.to)}`;
  if (!node.tip) return `${span}, shared by ${node.conversations} conversations, last used ${duration(1000 * one.idle)} ago`;
  return `A conversation of ${count(node.to)} tokens, ${bytes(node.tip.bytes)}, last used ${duration(1000 * node.tip.idle_seconds)} ago`;
}

// A conversation may have dozens: the last are those that it goes on from.
function snapshotWords(places: number[]): string {
  const shown = 4;
  if (places.length === 0) return 'none';
  return `${places.length > shown ? `${places.length}, the last ` : ''}at ${places.slice(-shown).map(count).join(', ')}`;
}

type Drop = (branch: string) => void;

function Details({ one, drop }: { one: Placed | undefined; drop: Drop }) {
  if (!one) return <p class="note">Choose a branch to see what it holds. Branches that a slot goes on from are green, the rest lies in memory.</p>;
  const { node } = one;
  return (
    <dl class="facts">
      <dt>Tokens</dt><dd>{count(node.to - node.from)} <span class="note">({count(node.from)} to {count(node.to)})</span></dd>
      <dt>Snapshots</dt><dd>{snapshotWords(node.snapshots)}</dd>
      <dt>Shared by</dt><dd>{node.conversations === 1 ? 'nobody else' : `${node.conversations} conversations`}</dd>
      <dt>Last used</dt><dd>{duration(1000 * one.idle)} ago</dd>
      {node.tip && (
        <>
          <dt>Whole conversation</dt><dd>{count(node.to)} tokens, {bytes(node.tip.bytes)}, {node.tip.snapshots} snapshots</dd>
          <dt>Its own</dt><dd>{bytes(node.tip.own_bytes)} <span class="note">would be freed with it</span></dd>
          <dt>Slot</dt><dd>{node.tip.slot ?? 'none'}</dd>
          <dt>On disk</dt><dd>{node.tip.disk_tokens === null ? 'no' : `${count(node.tip.disk_tokens)} tokens`}</dd>
          <dd class="action"><button type="button" class="small" onClick={() => drop(node.tip!.branch)}>Drop from memory</button></dd>
        </>
      )}
    </dl>
  );
}

export function TreePicture({ tree, drop }: { tree: CacheTree; drop: Drop }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useSignal(700);
  const chosen = useSignal<number | null>(null);
  const layout = useMemo(() => layoutOf(tree.nodes), [tree]);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => (width.value = entry.contentRect.width));
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  const along = Math.max(width.value - right - 2 * inset, 60);
  const x = (share: number) => inset + along * share;
  const y = (row: number) => rowHeight * (row + 0.5);
  const thick = (one: Placed) => Math.min(2 + 1.4 * Math.sqrt(one.node.conversations), 12);
  const bendOf = (one: Placed) => Math.min(18, (x(one.x1) - x(one.x0)) / 2);
  // Behind the bend, where the branch is on its own row.
  const alongRow = (one: Placed, share: number) => Math.max(x(share), x(one.x0) + (one.parent ? bendOf(one) : 0));
  const curve = (one: Placed) => {
    const [x0, x1, y1] = [x(one.x0), x(one.x1), y(one.row)];
    if (!one.parent) return `M${x0} ${y1}H${x1}`;
    const y0 = y(one.parent.row);
    const bend = bendOf(one);
    return y0 === y1 ? `M${x0} ${y1}H${x1}` : `M${x0} ${y0}C${x0 + bend} ${y0} ${x0} ${y1} ${x0 + bend} ${y1}H${x1}`;
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const { length } = layout.placed;
    chosen.value = ((chosen.value ?? (step > 0 ? -1 : 0)) + step + length) % length;
  };
  const one = chosen.value === null ? undefined : layout.placed[chosen.value];
  return (
    <div class="tree">
      <div ref={place} class="tree-frame" tabIndex={0} role="application" aria-label={`Tree of ${tree.shown} conversations. Arrow keys choose a branch.`} onKeyDown={onKey}>
        <svg width={width.value} height={rowHeight * Math.max(layout.rows, 1)} aria-hidden="true">
          {layout.placed.map((placed) => (
            <g key={placed.index} class={`branch ${placed.tier} ${placed.index === chosen.value ? 'chosen' : ''}`} onClick={() => (chosen.value = placed.index)}>
              <path class="touch" d={curve(placed)} />
              <path d={curve(placed)} style={{ strokeWidth: thick(placed) }} />
              {placed.dots.map((dot) => <circle key={dot} class="snapshot" cx={alongRow(placed, dot)} cy={y(placed.row)} r={2.5} />)}
              {placed.node.tip && <circle cx={x(placed.x1)} cy={y(placed.row)} r={4} />}
              {placed.node.tip && placed.node.conversations === 1 && (
                <text x={x(placed.x1) + 10} y={y(placed.row) + 4}>{short(placed.node.to)} · {duration(1000 * placed.node.tip.idle_seconds)} ago</text>
              )}
              <title>{words(placed)}</title>
            </g>
          ))}
        </svg>
      </div>
      <p class="hidden" aria-live="polite">{one && words(one)}</p>
      <Details one={one} drop={drop} />
    </div>
  );
}
