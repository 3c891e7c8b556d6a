// The conversations that this browser keeps.
import { useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';

import { saveFile } from '../lib/clipboard';
import { day } from '../lib/format';
import { Icon, IconButton } from '../lib/icons';
import { go, route } from '../lib/route';
import { running } from './generate';
import type { Conversation } from './model';
import { conversations, currentId, exported, importAll, remove, startConversation } from './store';

const Entry = ({ one, onPick }: { one: Conversation; onPick: () => void }) => {
  const here = route.value.view === 'chat' && currentId.value === one.id;
  return (
    <li class={here ? 'here' : ''}>
      <a href={`#/chat/${one.id}`} aria-current={here ? 'page' : undefined} onClick={onPick}>
        {running.value[one.id] && <span class="pulse" role="img" aria-label="Being answered" />}
        <span class="title">{one.title || 'Untitled'}</span>
      </a>
      <IconButton icon="trash" label={`Delete ${one.title || 'the conversation'}`} onClick={() => {
        if (!confirm(`Delete “${one.title || 'Untitled'}” from this browser?`)) return;
        remove(one.id);
        if (currentId.value === one.id) {
          startConversation();
          go('chat');
        }
      }} />
    </li>
  );
};

export function ConversationList({ onPick }: { onPick: () => void }) {
  const picker = useRef<HTMLInputElement>(null);
  const trouble = useSignal('');
  const groups = new Map<string, Conversation[]>();
  for (const one of conversations.value) groups.set(day(one.updated), [...(groups.get(day(one.updated)) ?? []), one]);
  const load = async (file?: File) => {
    if (!file) return;
    try {
      importAll(await file.text());
      trouble.value = '';
    } catch (error) {
      trouble.value = `${file.name} could not be imported. ${(error as Error).message}`;
    }
  };
  return (
    <div class="conversations">
      <button type="button" class="new" onClick={() => {
        startConversation();
        go('chat');
        onPick();
      }}><Icon name="plus" />New conversation</button>
      <nav aria-label="Conversations">
        {[...groups].map(([title, some]) => (
          <section key={title}>
            <h2>{title}</h2>
            <ul>{some.map((one) => <Entry key={one.id} one={one} onPick={onPick} />)}</ul>
          </section>
        ))}
      </nav>
      {trouble.value && <p class="failure" role="alert">{trouble.value}</p>}
      <div class="files">
        <input ref={picker} type="file" accept="application/json,.json" hidden aria-label="Import conversations" onChange={(event) => {
          void load(event.currentTarget.files?.[0]);
          event.currentTarget.value = '';
        }} />
        <button type="button" class="quiet" onClick={() => picker.current!.click()}><Icon name="open" />Import</button>
        <button type="button" class="quiet" disabled={conversations.value.length === 0}
          onClick={() => saveFile('holdfast-conversations.json', exported(conversations.value))}><Icon name="save" />Export all</button>
      </div>
    </div>
  );
}
