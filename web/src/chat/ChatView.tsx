// A conversation: its path of messages, the composer, the settings.
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';

import { saveFile } from '../lib/clipboard';
import { IconButton } from '../lib/icons';
import { go, route } from '../lib/route';
import { props } from '../lib/server';
import { Composer } from './Composer';
import { answer, running, stop } from './generate';
import { type Actions, MessageView } from './Message';
import { type Attachment, type Conversation, type Message, addMessage, childrenOf, pathOf, removeMessage, titleFrom } from './model';
import { SettingsPanel } from './SettingsPanel';
import { changed, current, exported, loaded, open, startConversation, storageFailure, version } from './store';

function send(conversation: Conversation, content: string, attachments: Attachment[]): void {
  const parent = pathOf(conversation).at(-1)?.id ?? '';
  if (!conversation.title) conversation.title = titleFrom(content || attachments[0]?.name || '');
  const { id } = addMessage(conversation, { parent, role: 'user', content, ...(attachments.length ? { attachments } : {}) });
  go('chat', conversation.id, 'replace');
  void answer(conversation, id);
}

function actionsOn(conversation: Conversation): Actions {
  return {
    regenerate: (message) => void answer(conversation, message.parent),
    choose: (message) => {
      conversation.chosen[message.parent] = message.id;
      changed(conversation);
    },
    edit: (message, content) => {
      const { parent, role, attachments, toolCallId, reasoning, system } = message;
      const made = addMessage(conversation, { parent, role, attachments, toolCallId, reasoning, system, content,
        ...(role === 'assistant' ? { state: 'edited' as const } : {}) });
      if (role === 'assistant') changed(conversation);
      else void answer(conversation, made.id);
    },
    remove: (message) => {
      removeMessage(conversation, message.id);
      changed(conversation);
    },
    answerTool: (message, call, content) => {
      // All calls of a message are answered before the model goes on.
      const calls = message.toolCalls ?? [];
      const made = addMessage(conversation, { parent: message.id, role: 'tool', toolCallId: call.id, content });
      if (calls.length === 1) void answer(conversation, made.id);
      else changed(conversation);
    },
  };
}

// --- scrolling ------------------------------------------------------------------------

// Follows an answer that grows, unless its reader has scrolled away.
function useFollowing(key: unknown) {
  const place = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  useLayoutEffect(() => {
    if (following.current) place.current!.scrollTop = place.current!.scrollHeight;
  });
  useEffect(() => {
    following.current = true;
    place.current!.scrollTop = place.current!.scrollHeight;
  }, [key]);
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = place.current!;
    following.current = scrollHeight - scrollTop - clientHeight < 60;
  };
  return { place, onScroll };
}

const contextUsed = (path: Message[]): number => {
  const usage = path.filter((message) => message.usage).at(-1)?.usage;
  return usage ? usage.prompt_tokens + usage.completion_tokens : 0;
};

const Welcome = () => (
  <div class="welcome">
    <h2>{props.value ? props.value.model_alias : 'Holdfast'}</h2>
    <p>Ask something. Each answer shows what of its prompt was reused and what had to be read; click the bar to see why.</p>
  </div>
);

export function ChatView() {
  const settingsOpen = useSignal(false);
  const wanted = route.value.id;
  useEffect(() => {
    if (!loaded.value || (wanted && open(wanted))) return;
    startConversation();
    if (wanted) go('chat', '', 'replace');
  }, [wanted, loaded.value]);

  const conversation = current.value;
  const { place, onScroll } = useFollowing(conversation?.id);
  const actions = useMemo(() => conversation && actionsOn(conversation), [conversation?.id]);
  const busy = Boolean(conversation && running.value[conversation.id]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && conversation && running.value[conversation.id]) stop(conversation);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [conversation?.id]);

  void version.value;
  const path = conversation ? pathOf(conversation) : [];
  return (
    <div class={`chat ${settingsOpen.value ? 'with-settings' : ''}`}>
      <div class="talk">
        <header class="view-head">
          <h1>{conversation?.title || 'New conversation'}</h1>
          {conversation && path.length > 0 && (
            <IconButton icon="save" label="Export this conversation"
              onClick={() => saveFile(`${conversation.title || 'conversation'}.json`, exported([conversation]))} />
          )}
          <IconButton icon="sliders" label="Settings" expanded={settingsOpen.value}
            onClick={() => (settingsOpen.value = !settingsOpen.value)} />
        </header>
        {storageFailure.value && <p class="failure" role="alert">{storageFailure.value}</p>}
        <div class="messages" ref={place} onScroll={onScroll} role="log" aria-label="Conversation" tabIndex={0}>
          {path.length === 0 && <Welcome />}
          {conversation && actions && path.map((message, i) => (
            <MessageView key={message.id} conversation={conversation} message={message} busy={busy} last={i === path.length - 1}
              siblings={childrenOf(conversation, message.parent)} actions={actions} />
          ))}
        </div>
        {conversation && (
          <Composer id={conversation.id} busy={busy} used={contextUsed(path)}
            size={props.value?.default_generation_settings.n_ctx ?? 0}
            onSend={(text, files) => send(conversation, text, files)} onStop={() => stop(conversation)} />
        )}
      </div>
      {settingsOpen.value && conversation && (
        <SettingsPanel conversation={conversation} onClose={() => (settingsOpen.value = false)} />
      )}
    </div>
  );
}
