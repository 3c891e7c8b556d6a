// Icons, drawn with one pen on a grid of 20. They are decoration: whoever shows one names it.
import type { JSX } from 'preact';

const paths = {
  chat: 'M4 5.5h12v8.5H9l-3.5 2.5V14H4z',
  cache: 'M10 16.5V4M10 12c-3.5 0-5-1.5-5-5M10 14.5c3.5 0 5-1.5 5-5M8.5 4h3M3.5 7h3M13.5 9.5h3',
  misses: 'M10 3.5l7 12.5H3zM10 8.5v3.5M10 14v.2',
  server: 'M3.5 4.5h13v4.5h-13zM3.5 11h13v4.5h-13zM6.5 6.8h.2M6.5 13.3h.2',
  plus: 'M10 4.5v11M4.5 10h11',
  send: 'M10 16V4.5M5.5 9 10 4.5 14.5 9',
  stop: 'M6 6h8v8H6z',
  again: 'M15.5 10a5.5 5.5 0 1 1-1.7-4M15.5 3.5V6.5h-3',
  edit: 'M4 16l.8-3.2L13 4.5l2.5 2.5-8.3 8.2z',
  copy: 'M7.5 7.5h8v8h-8zM12.5 7.5V4.5h-8v8h3',
  left: 'M12 5l-5 5 5 5',
  right: 'M8 5l5 5-5 5',
  down: 'M5 8l5 5 5-5',
  trash: 'M4.5 6h11M8 6V4h4v2M6 6l.7 10h6.6L14 6',
  clip: 'M13.5 8.5l-5 5a2 2 0 0 1-3-3l6-6a3 3 0 0 1 4.5 4.5l-6 6',
  sliders: 'M4 6.5h7M14.5 6.5H16M4 13.5h1.5M9 13.5h7M12.7 4.7v3.6M7.2 11.7v3.6',
  key: 'M8 11.5a3 3 0 1 1 0-.2zM8 11.5h8.5M14 11.5v2.5',
  sun: 'M10 7a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM10 2.5v1.5M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1M14.3 14.3l1 1M15.3 4.7l-1 1M5.7 14.3l-1 1',
  moon: 'M15.5 11.5A6 6 0 0 1 8.5 4.5a6 6 0 1 0 7 7z',
  menu: 'M3.5 6h13M3.5 10h13M3.5 14h13',
  close: 'M5.5 5.5l9 9M14.5 5.5l-9 9',
  save: 'M10 4v8.5M6.5 9.5 10 13l3.5-3.5M4.5 16h11',
  open: 'M10 13V4.5M6.5 8 10 4.5 13.5 8M4.5 16h11',
  file: 'M6 3.5h5.5L15 7v9.5H6zM11 3.5V7.5h4',
} as const;

export type IconName = keyof typeof paths;

export const Icon = ({ name }: { name: IconName }): JSX.Element => (
  <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);

interface ButtonProps {
  icon: IconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  expanded?: boolean;
  disabled?: boolean;
  class?: string;
}

export const IconButton = ({ icon, label, onClick, pressed, expanded, disabled, class: more }: ButtonProps) => (
  <button type="button" class={`icon-button ${more ?? ''}`} aria-label={label} title={label} aria-pressed={pressed}
    aria-expanded={expanded} disabled={disabled} onClick={onClick}>
    <Icon name={icon} />
  </button>
);
