// A conversation is a tree of messages: an edit or a second answer is a sibling, and nothing is ever
// changed in place. `chosen` says which child of each message is on the path that is shown.
import type { Receipt, Timings, Usage } from '../lib/types';

export interface Attachment {
  name: string;
  text: string;
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

export interface Message {
  id: string;
  parent: string;  // '' is the root
  role: 'user' | 'assistant' | 'tool';
  content: string;
  created: number;
  attachments?: Attachment[];
  toolCallId?: string;
  // Of answers:
  reasoning?: string;
  toolCalls?: ToolCall[];
  state?: 'reading' | 'writing' | 'done' | 'stopped' | 'failed' | 'edited';
  progress?: { processed: number; total: number };
  failure?: string;
  response?: string;  // the server's id of it
  finish?: string;
  receipt?: Receipt;
  timings?: Timings;
  usage?: Usage;
  system?: string;  // as it was sent, so that a receipt can point into it
}

export interface Settings {
  system: string;
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  repeat_penalty?: number;
  presence_penalty?: number;
  max_tokens?: number;
  seed?: number;
  thinking?: boolean;
  drafts?: boolean;
  tools?: string;
}

export interface Conversation {
  id: string;
  title: string;
  created: number;
  updated: number;
  messages: Record<string, Message>;
  chosen: Record<string, string>;
  settings: Settings;
}

export const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(9))].map((byte) => byte.toString(36).padStart(2, '0')).join('').slice(0, 14);

export function newConversation(settings: Settings = { system: '' }): Conversation {
  const now = Date.now();
  return { id: newId(), title: '', created: now, updated: now, messages: {}, chosen: {}, settings };
}

export const childrenOf = (conversation: Conversation, parent: string): Message[] =>
  Object.values(conversation.messages).filter((message) => message.parent === parent)
    .sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1));

// The messages that are shown, from the first on.
export function pathOf(conversation: Conversation): Message[] {
  const path: Message[] = [];
  for (let at = ''; ;) {
    const next = conversation.messages[conversation.chosen[at]];
    if (!next || next.parent !== at) return path;
    path.push(next);
    at = next.id;
  }
}

export function pathTo(conversation: Conversation, id: string): Message[] {
  const path: Message[] = [];
  for (let at = conversation.messages[id]; at; at = conversation.messages[at.parent]) path.unshift(at);
  return path;
}

export function addMessage(conversation: Conversation, message: Omit<Message, 'id' | 'created'>): Message {
  const made = { ...message, id: newId(), created: Date.now() };
  conversation.messages[made.id] = made;
  conversation.chosen[made.parent] = made.id;
  return made;
}

export function removeMessage(conversation: Conversation, id: string): void {
  const { parent } = conversation.messages[id];
  for (const child of childrenOf(conversation, id)) removeMessage(conversation, child.id);
  delete conversation.messages[id];
  delete conversation.chosen[id];
  if (conversation.chosen[parent] !== id) return;
  const left = childrenOf(conversation, parent).at(-1);
  if (left) conversation.chosen[parent] = left.id;
  else delete conversation.chosen[parent];
}

// Files come first and the question after them, so that a second question about the same files
// finds them read.
export function textOf(message: Message): string {
  const files = (message.attachments ?? []).map(({ name, text }) => `File ${name}:\n\`\`\`\n${text}\n\`\`\`\n\n`);
  return files.join('') + message.content;
}

function wireMessage(message: Message): Record<string, unknown> {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  if (message.role === 'user') return { role: 'user', content: textOf(message) };
  return {
    role: 'assistant',
    content: message.content,
    ...(message.reasoning ? { reasoning_content: message.reasoning } : {}),
    ...(message.toolCalls?.length ? {
      tool_calls: message.toolCalls.map(({ id, name, arguments: text }) =>
        ({ id, type: 'function', function: { name, arguments: text } })),
    } : {}),
  };
}

// An answer that failed before its first word is no part of what was said.
const wasSaid = (message: Message): boolean =>
  message.role !== 'assistant' || message.content !== '' || Boolean(message.reasoning) || Boolean(message.toolCalls?.length);

export function wireMessages(path: Message[], system: string): Record<string, unknown>[] {
  const said = path.filter(wasSaid).map(wireMessage);
  return system.trim() ? [{ role: 'system', content: system }, ...said] : said;
}

// The message that a receipt's index points to; 'system' is the system prompt.
export function messageAt(path: Message[], system: string, index: number): Message | 'system' | undefined {
  if (system.trim() && index === 0) return 'system';
  return path.filter(wasSaid)[index - (system.trim() ? 1 : 0)];
}

export function titleFrom(text: string): string {
  const line = text.trim().split('\n')[0];
  return line.length > 48 ? `${line.slice(0, 47).trimEnd()}…` : line;
}
