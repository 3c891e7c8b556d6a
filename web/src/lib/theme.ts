// Dark or light: the system's choice, until a person makes one.
import { effect, signal } from '@preact/signals';

type Theme = 'light' | 'dark';
const kept = 'holdfast.theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

const asked = signal(localStorage.getItem(kept) as Theme | null);
const system = signal<Theme>(dark.matches ? 'dark' : 'light');
dark.addEventListener('change', () => (system.value = dark.matches ? 'dark' : 'light'));

export const theme = (): Theme => asked.value ?? system.value;

export function toggleTheme(): void {
  const next = theme() === 'dark' ? 'light' : 'dark';
  asked.value = next === system.value ? null : next;
  if (asked.value) localStorage.setItem(kept, asked.value);
  else localStorage.removeItem(kept);
}

effect(() => {
  document.documentElement.dataset.theme = theme();
});
