// The frame of the page: navigation, conversations, and the view that is open.
import { useSignal } from '@preact/signals';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';

import { ChatView } from './chat/ChatView';
import { ConversationList } from './chat/ConversationList';
import { load } from './chat/store';
import { KeyDialog } from './KeyDialog';
import { keyWanted } from './lib/api';
import { Icon, IconButton } from './lib/icons';
import { watchFigures } from './lib/metrics';
import { type View, route, views } from './lib/route';
import { props, trouble } from './lib/server';
import { theme, toggleTheme } from './lib/theme';
import { CacheView } from './views/CacheView';
import { MissesView } from './views/MissesView';
import { ServerView } from './views/ServerView';

const names: Record<View, string> = { chat: 'Chat', cache: 'Cache', misses: 'Misses', server: 'Server' };

const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <path d="M16 26V9m0 8c-5 0-7-2.5-7-7m7 11c5 0 7-2.5 7-7" />
    <circle cx="16" cy="7" r="2.2" /><circle cx="9" cy="9" r="2.2" /><circle cx="23" cy="13" r="2.2" />
  </svg>
);

function Standing() {
  const known = props.value;
  if (trouble.value) return <p class="standing trouble" role="status"><span class="dot" />{trouble.value}</p>;
  if (!known) return <p class="standing" role="status">Asking the server</p>;
  return (
    <p class="standing">
      <span class="dot on" />
      <b>{known.model_alias}</b>
      <span class="note">{known.total_slots} slots of {known.default_generation_settings.n_ctx.toLocaleString('en-US')} tokens</span>
    </p>
  );
}

function Sidebar({ open, onClose, onKey }: { open: boolean; onClose: () => void; onKey: () => void }) {
  return (
    <aside id="sidebar" class={`sidebar ${open ? 'open' : ''}`} aria-label="Navigation">
      <div class="brand"><Mark /><b>Holdfast</b>
        <IconButton icon="close" label="Close the menu" class="only-phone" onClick={onClose} />
      </div>
      <nav class="views" aria-label="Views">
        {views.map((view) => (
          <a key={view} href={`#/${view}`} aria-current={route.value.view === view ? 'page' : undefined} onClick={onClose}>
            <Icon name={view} />{names[view]}
          </a>
        ))}
      </nav>
      <ConversationList onPick={onClose} />
      <footer>
        <Standing />
        <span class="tools">
          <IconButton icon="key" label="API key" onClick={onKey} />
          <IconButton icon={theme() === 'dark' ? 'sun' : 'moon'} label={theme() === 'dark' ? 'Light colours' : 'Dark colours'} onClick={toggleTheme} />
        </span>
      </footer>
    </aside>
  );
}

function App() {
  const menuOpen = useSignal(false);
  const keyOpen = useSignal(false);
  const { view } = route.value;
  useEffect(() => {
    document.title = `${names[view]} · Holdfast`;
  }, [view]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById('main')?.focus();
      }}>Skip to the content</a>
      <Sidebar open={menuOpen.value} onClose={() => (menuOpen.value = false)} onKey={() => (keyOpen.value = true)} />
      {menuOpen.value && <div class="veil" onClick={() => (menuOpen.value = false)} />}
      <main id="main" tabIndex={-1}>
        <IconButton icon="menu" label="Open the menu" class="only-phone menu" expanded={menuOpen.value} onClick={() => (menuOpen.value = true)} />
        {view === 'chat' && <ChatView />}
        {view === 'cache' && <CacheView />}
        {view === 'misses' && <MissesView />}
        {view === 'server' && <ServerView />}
      </main>
      {(keyOpen.value || keyWanted.value) && (
        <KeyDialog onClose={() => {
          keyOpen.value = false;
          keyWanted.value = false;
        }} />
      )}
    </>
  );
}

void load();
watchFigures();
render(<App />, document.getElementById('app')!);
