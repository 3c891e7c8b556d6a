// Which view is shown: #/chat/ID, #/cache, #/misses, #/server. No text of anybody is in an address.
import { signal } from '@preact/signals';

export const views = ['chat', 'cache', 'misses', 'server'] as const;
export type View = (typeof views)[number];

interface Route {
  view: View;
  id: string;
}

function read(): Route {
  const [view, id] = location.hash.replace(/^#\/?/, '').split('/');
  return { view: views.includes(view as View) ? (view as View) : 'chat', id: id ?? '' };
}

export const route = signal(read());
addEventListener('hashchange', () => (route.value = read()));

export function go(view: View, id = '', how: 'push' | 'replace' = 'push'): void {
  const address = `#/${view}${id ? `/${id}` : ''}`;
  if (how === 'replace') history.replaceState(null, '', address);
  else location.hash = address;
  route.value = read();
}
