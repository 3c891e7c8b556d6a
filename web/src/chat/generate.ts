// Asks the model for an answer and lets the message grow while it comes.
import { signal } from '@preact/signals';

import { Failure, getJson, stream } from '../lib/api';
import type { Receipt } from '../lib/types';
import { type Conversation, type Message, type Settings, addMessage, pathTo, wireMessages } from './model';
import { changed, isHeld } from './store';

// By conversation: what ends the answer under way.
export const running = signal<Record<string, AbortController>>({});

const numbers = ['temperature', 'top_p', 'top_k', 'min_p', 'repeat_penalty', 'presence_penalty', 'max_tokens', 'seed'] as const;

function toolsFrom(settings: Settings): unknown[] | undefined {
  if (!settings.tools?.trim()) return undefined;
  try {
    const tools = JSON.parse(settings.tools);
    return Array.isArray(tools) ? tools : [tools];
  } catch (error) {
    throw new Failure(`The tools in the settings are no JSON: ${(error as Error).message}`, 0);
  }
}

function bodyFor(conversation: Conversation, path: Message[]): Record<string, unknown> {
  const { settings } = conversation;
  const body: Record<string, unknown> = {
    messages: wireMessages(path, settings.system),
    stream: true,
    stream_options: { include_usage: true },
    return_progress: true,
    cache_receipt: true,
    prompt_cache_key: `page-${conversation.id}`,
  };
  for (const name of numbers) if (settings[name] !== undefined) body[name] = settings[name];
  if (settings.thinking !== undefined) body.chat_template_kwargs = { enable_thinking: settings.thinking };
  if (settings.drafts === false) body.spec = 'off';
  const tools = toolsFrom(settings);
  if (tools) body.tools = tools;
  return body;
}

// --- what comes ----------------------------------------------------------------------

function withToolCalls(message: Message, deltas: any[]): Message {
  const toolCalls = [...(message.toolCalls ?? [])];
  for (const { index, id, function: called } of deltas) {
    const was = toolCalls[index] ?? { id: '', name: '', arguments: '' };
    toolCalls[index] = {
      id: id ?? was.id,
      name: was.name + (called?.name ?? ''),
      arguments: was.arguments + (called?.arguments ?? ''),
    };
  }
  return { ...message, toolCalls };
}

function withEvent(message: Message, event: any): Message {
  const made = { ...message };
  const choice = event.choices?.[0];
  const delta = choice?.delta ?? {};
  if (event.id) made.response = event.id;
  if (event.prompt_progress) made.progress = event.prompt_progress;
  if (delta.content || delta.reasoning_content || delta.tool_calls) made.state = 'writing';
  if (delta.content) made.content += delta.content;
  if (delta.reasoning_content) made.reasoning = (made.reasoning ?? '') + delta.reasoning_content;
  if (choice?.finish_reason) made.finish = choice.finish_reason;
  if (event.usage) made.usage = event.usage;
  if (event.timings) made.timings = event.timings;
  if (event.cache_receipt) made.receipt = event.cache_receipt;
  return delta.tool_calls ? withToolCalls(made, delta.tool_calls) : made;
}

// --- an answer -------------------------------------------------------------------------

export function stop(conversation: Conversation): void {
  running.value[conversation.id]?.abort();
}

function setRunning(id: string, controller?: AbortController): void {
  const { [id]: _, ...others } = running.value;
  running.value = controller ? { ...others, [id]: controller } : others;
}

// Several pieces that come within a frame are drawn once.
function drawLater(): (draw: () => void) => void {
  let waiting = false;
  return (draw) => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      draw();
    }, 33);
  };
}

async function receive(conversation: Conversation, id: string, controller: AbortController): Promise<void> {
  const body = bodyFor(conversation, pathTo(conversation, conversation.messages[id].parent));
  const later = drawLater();
  for await (const event of stream('/v1/chat/completions', body, controller.signal)) {
    if (!conversation.messages[id]) return controller.abort();
    conversation.messages[id] = withEvent(conversation.messages[id], event);
    later(() => isHeld(conversation) && changed(conversation, 'soon'));
  }
}

// A stopped answer has a receipt as well, but nobody to send it with. It is there once the server has
// seen that its client left.
async function fetchReceipt(conversation: Conversation, id: string): Promise<void> {
  const response = conversation.messages[id]?.response;
  if (!response) return;
  for (let pause = 100; pause < 10_000; pause *= 2) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    try {
      const receipt = await getJson<Receipt>(`/cache/receipts/${encodeURIComponent(response)}`);
      if (!conversation.messages[id] || !isHeld(conversation)) return;
      conversation.messages[id] = { ...conversation.messages[id], receipt };
      return changed(conversation);
    } catch (error) {
      if (!(error instanceof Failure) || error.status !== 404) return;  // a help; its absence is no failure
    }
  }
}

// Asks for an answer to the message `parent`. Returns when it has ended.
export async function answer(conversation: Conversation, parent: string): Promise<void> {
  stop(conversation);
  const controller = new AbortController();
  const { id } = addMessage(conversation, {
    parent, role: 'assistant', content: '', state: 'reading', system: conversation.settings.system,
  });
  setRunning(conversation.id, controller);
  changed(conversation);
  let end: Partial<Message> = { state: 'done' };
  try {
    await receive(conversation, id, controller);
  } catch (error) {
    end = (error as Error).name === 'AbortError'
      ? { state: 'stopped' } : { state: 'failed', failure: (error as Error).message };
  }
  if (conversation.messages[id]) conversation.messages[id] = { ...conversation.messages[id], ...end, progress: undefined };
  conversation.updated = Date.now();
  if (running.value[conversation.id] === controller) setRunning(conversation.id);
  if (isHeld(conversation)) changed(conversation);
  if (end.state === 'stopped') await fetchReceipt(conversation, id);
}
