// All conversations, kept in the browser (IndexedDB) and nowhere else. Objects are changed and then
// announced with changed(), which draws and writes them.
import { batch, computed, signal } from '@preact/signals';
import { createStore, del, set, values } from 'idb-keyval';

import { type Conversation, type Settings, newConversation, newId } from './model';

const store = createStore('holdfast', 'conversations');

const held = new Map<string, Conversation>();
export const version = signal(0);
export const currentId = signal('');
export const loaded = signal(false);
export const storageFailure = signal('');

export const conversations = computed(() => {
  void version.value;
  return [...held.values()].filter((one) => Object.keys(one.messages).length > 0)
    .sort((a, b) => b.updated - a.updated);
});
export const current = computed(() => {
  void version.value;
  return held.get(currentId.value);
});

// --- writing ---------------------------------------------------------------------

const unwritten = new Set<string>();
let timer = 0;

async function write(): Promise<void> {
  clearTimeout(timer);
  timer = 0;
  const ids = [...unwritten];
  unwritten.clear();
  for (const id of ids) {
    const conversation = held.get(id);
    try {
      if (conversation && Object.keys(conversation.messages).length > 0) await set(id, conversation, store);
      else await del(id, store);
      storageFailure.value = '';
    } catch (error) {
      storageFailure.value = `The browser could not keep this conversation (${(error as Error).message}). Export it before you close the page.`;
    }
  }
}

export function changed(conversation: Conversation, when: 'now' | 'soon' = 'now'): void {
  unwritten.add(conversation.id);
  version.value += 1;
  if (when === 'now') void write();
  else timer ||= window.setTimeout(() => void write(), 400);
}

addEventListener('pagehide', () => void write());

// --- conversations -----------------------------------------------------------------

const lastSettings = 'holdfast.settings';

export const usualSettings = (): Settings => {
  try {
    return { system: '', ...JSON.parse(localStorage.getItem(lastSettings) ?? '{}') };
  } catch {
    return { system: '' };
  }
};

export function keepSettings(settings: Settings): void {
  localStorage.setItem(lastSettings, JSON.stringify(settings));
}

export function startConversation(): Conversation {
  const made = newConversation(usualSettings());
  held.set(made.id, made);
  batch(() => {
    currentId.value = made.id;
    version.value += 1;
  });
  return made;
}

export function open(id: string): boolean {
  if (!held.has(id)) return false;
  currentId.value = id;
  return true;
}

export function remove(id: string): void {
  const conversation = held.get(id);
  if (!conversation) return;
  held.delete(id);
  changed(conversation);
}

export const isHeld = (conversation: Conversation): boolean => held.get(conversation.id) === conversation;

// An answer that was under way when the page was closed has ended there.
function settle(conversation: Conversation): Conversation {
  for (const [id, message] of Object.entries(conversation.messages)) {
    if (message.state === 'reading' || message.state === 'writing')
      conversation.messages[id] = { ...message, state: 'stopped' };
  }
  return conversation;
}

export async function load(): Promise<void> {
  try {
    for (const one of await values<Conversation>(store)) held.set(one.id, settle(one));
  } catch (error) {
    storageFailure.value = `The browser keeps nothing for this page (${(error as Error).message}): conversations end with it.`;
  }
  loaded.value = true;
  version.value += 1;
}

// --- files ----------------------------------------------------------------------------

export const exported = (some: Conversation[]): string =>
  JSON.stringify({ format: 'holdfast-conversations', version: 1, conversations: some }, null, 1);

// Returns how many there were. What is known by the same id already gets a new one.
export function importAll(text: string): number {
  const file = JSON.parse(text);
  if (file.format !== 'holdfast-conversations' || !Array.isArray(file.conversations))
    throw new Error('This is no file of conversations that this page has exported.');
  for (const one of file.conversations as Conversation[]) {
    if (typeof one.messages !== 'object' || typeof one.chosen !== 'object') throw new Error('A conversation in the file is damaged.');
    const id = held.has(one.id) || !one.id ? newId() : one.id;
    const made = settle({ ...newConversation(), ...one, id });
    held.set(id, made);
    changed(made);
  }
  return file.conversations.length;
}
