// Where the nodes of the cache's tree are drawn: a row for each conversation, the latest on top, and
// each trunk beside the middle of what grows from it. Along, tokens are drawn by their square root:
// a system prompt of 200 tokens can be seen beside a conversation of 100,000.
import type { TreeNode } from '../lib/types';

export interface Placed {
  node: TreeNode;
  index: number;
  row: number;   // its middle, in rows
  x0: number;    // 0..1
  x1: number;
  dots: number[];  // its snapshots, along as x
  parent: Placed | null;
  idle: number;  // seconds since the latest use of anything in it
  tier: 'slot' | 'memory';
}

export interface Layout {
  placed: Placed[];
  rows: number;
  longest: number;
}

export function layoutOf(nodes: TreeNode[]): Layout {
  const children = nodes.map((): number[] => []);
  const roots: number[] = [];
  nodes.forEach(({ parent }, i) => (parent === null ? roots : children[parent]).push(i));
  const idle = nodes.map(() => Infinity);
  const live = nodes.map(() => false);
  for (let i = nodes.length - 1; i >= 0; i -= 1) {  // children come after their parents
    const { tip, parent } = nodes[i];
    if (tip) idle[i] = Math.min(idle[i], tip.idle_seconds);
    if (tip && tip.slot !== null) live[i] = true;
    if (parent === null) continue;
    idle[parent] = Math.min(idle[parent], idle[i]);
    live[parent] ||= live[i];
  }
  const longest = Math.max(1, ...nodes.map(({ to }) => to));
  const x = (position: number) => Math.sqrt(position / longest);
  const placed: Placed[] = nodes.map((node, index) => ({
    node, index, row: 0, x0: x(node.from), x1: x(node.to), dots: node.snapshots.map(x), parent: null, idle: idle[index], tier: live[index] ? 'slot' : 'memory',
  }));
  let rows = 0;
  const place = (index: number): void => {
    const below = children[index].sort((a, b) => idle[a] - idle[b]);
    const own = nodes[index].tip && below.length > 0 ? rows++ : null;  // it ends where others go on
    for (const child of below) {
      placed[child].parent = placed[index];
      place(child);
    }
    const middles = below.map((child) => placed[child].row);
    if (own !== null) middles.push(own);
    placed[index].row = middles.length > 0 ? (Math.min(...middles) + Math.max(...middles)) / 2 : rows++;
  };
  for (const root of roots.sort((a, b) => idle[a] - idle[b])) place(root);
  return { placed, rows, longest };
}
