// A small chart over the last hour. Series are drawn as areas on each other, or as lines.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { clock } from './format';
import type { Point } from './metrics';

export interface Series {
  name: string;
  tint: string;  // 'slot', 'memory', ...
  points: Point[];
}

interface Props {
  title: string;
  series: Series[];
  format: (value: number) => string;
  stacked?: boolean;
  ceiling?: number;  // the axis reaches at least this far
}

const height = 120;
const hourMs = 3_600_000;

// 1, 2 or 5 times a power of ten.
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value)!;
}

function stackedValues(series: Series[]): (number | null)[][] {
  const sums = series[0]?.points.map(() => 0) ?? [];
  return series.map(({ points }) => points.map(({ value }, i) => (value === null ? null : (sums[i] += value))));
}

// Paths of what is known, with a gap where it is not.
function linePath(values: (number | null)[], x: (i: number) => number, y: (value: number) => number): string {
  let path = '';
  let down = false;
  values.forEach((value, i) => {
    if (value !== null) path += `${down ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    down = value !== null;
  });
  return path;
}

function areaPath(values: (number | null)[], x: (i: number) => number, y: (value: number) => number): string {
  const known = values.map((value, i) => ({ value, i })).filter(({ value }) => value !== null);
  if (known.length === 0) return '';
  const line = known.map(({ value, i }) => `${x(i).toFixed(1)} ${y(value!).toFixed(1)}`).join('L');
  return `M${x(known[0].i).toFixed(1)} ${height}L${line}L${x(known.at(-1)!.i).toFixed(1)} ${height}Z`;
}

export function Chart({ title, series, format, stacked, ceiling }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const width = useSignal(400);
  const at = useSignal<number | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => (width.value = entry.contentRect.width));
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);

  const points = series[0]?.points ?? [];
  const values = stacked ? stackedValues(series) : series.map((one) => one.points.map(({ value }) => value));
  const top = roundUp(Math.max(ceiling ?? 0, ...values.flat().map((value) => value ?? 0)));
  const end = points.at(-1)?.at ?? Date.now();
  const span = Math.min(hourMs, Math.max(300_000, end - (points[0]?.at ?? end)));
  const x = (i: number) => width.value * (1 - (end - points[i].at) / span);
  const y = (value: number) => height - (height - 4) * (value / top);
  const shown = at.value ?? points.length - 1;
  const words = (one: Series) => (points[shown] ? format(one.points[shown]?.value ?? 0) : '–');
  const onMove = (event: PointerEvent) => {
    const share = event.offsetX / width.value;
    const wanted = end - span * (1 - share);
    let best = 0;
    points.forEach((point, i) => {
      if (Math.abs(point.at - wanted) < Math.abs(points[best].at - wanted)) best = i;
    });
    at.value = points.length > 0 ? best : null;
  };
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <ul class="legend">
          {series.map((one) => <li key={one.name}><span class={`dot ${one.tint}`} />{one.name} <b>{words(one)}</b></li>)}
        </ul>
      </figcaption>
      <div ref={place} class="plot">
        <svg width={width.value} height={height} role="img" onPointerMove={onMove} onPointerLeave={() => (at.value = null)}
          aria-label={`${title}: ${series.map((one) => `${one.name} ${words(one)}`).join(', ')}`}>
          <path class="grid" d={`M0 ${y(top)}H${width.value}M0 ${y(top / 2)}H${width.value}M0 ${height - 0.5}H${width.value}`} />
          {[...series.keys()].reverse().map((i) => (
            <g key={series[i].name} class={`line ${series[i].tint}`}>
              {stacked && <path class="area" d={areaPath(values[i], x, y)} />}
              <path d={linePath(values[i], x, y)} />
            </g>
          ))}
          {at.value !== null && points[at.value] && <path class="cursor" d={`M${x(at.value)} 0V${height}`} />}
        </svg>
        <span class="axis top">{format(top)}</span>
      </div>
      <p class="axis ends"><span>{clock(end - span)}</span><span>{at.value !== null && points[at.value] ? clock(points[at.value].at) : 'now'}</span></p>
    </figure>
  );
}
