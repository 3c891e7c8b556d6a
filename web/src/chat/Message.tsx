// One message: what it says, what it cost, and what can be done with it.
import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';

import { copyText } from '../lib/clipboard';
import { bytes, count } from '../lib/format';
import { Icon, IconButton } from '../lib/icons';
import { Markdown } from '../lib/markdown';
import type { Conversation, Message, ToolCall } from './model';
import { ReceiptPanel, ReuseLine } from './Receipt';

export interface Actions {
  regenerate: (message: Message) => void;
  edit: (message: Message, text: string) => void;
  choose: (message: Message) => void;
  remove: (message: Message) => void;
  answerTool: (message: Message, call: ToolCall, result: string) => void;
}

interface Props {
  conversation: Conversation;
  message: Message;
  siblings: Message[];
  busy: boolean;
  last: boolean;
  actions: Actions;
}

// --- parts of a message --------------------------------------------------------------

const Reasoning = ({ text, growing }: { text: string; growing: boolean }) => (
  <details class="fold" open={growing}>
    <summary><Icon name="right" />{growing ? 'Thinking…' : `Thoughts, ${count(text.trim().split(/\s+/).length)} words`}</summary>
    <div class="fold-body"><Markdown source={text} /></div>
  </details>
);

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Call({ call, onResult }: { call: ToolCall; onResult?: (result: string) => void }) {
  const [result, setResult] = useState('');
  return (
    <details class="fold" open={Boolean(onResult)}>
      <summary><Icon name="right" />Calls <code>{call.name}</code></summary>
      <div class="fold-body">
        <pre tabIndex={0} aria-label={`Arguments of ${call.name}`}>{pretty(call.arguments)}</pre>
        {onResult && (
          <form class="tool-result" onSubmit={(event) => {
            event.preventDefault();
            onResult(result);
          }}>
            <label>Its result<textarea rows={2} value={result} onInput={(event) => setResult(event.currentTarget.value)} /></label>
            <button type="submit" class="small">Give it back</button>
          </form>
        )}
      </div>
    </details>
  );
}

const Attachments = ({ message }: { message: Message }) => (
  <div class="attachments">
    {message.attachments!.map((file) => (
      <details key={file.name} class="fold">
        <summary><Icon name="file" />{file.name} <span class="note">{bytes(file.text.length)}</span></summary>
        <pre class="fold-body" tabIndex={0} aria-label={file.name}>{file.text}</pre>
      </details>
    ))}
  </div>
);

function Progress({ message }: { message: Message }) {
  const progress = message.progress;
  const left = progress && progress.total > 0;
  return (
    <p class="progress" role="status">
      <span class="pulse" />
      {left ? `Reading, ${count(progress.processed)} of ${count(progress.total)} tokens` : 'Waiting for the server'}
    </p>
  );
}

function Editor({ message, onDone }: { message: Message; onDone: (text?: string) => void }) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const element = area.current!;
    element.focus();
    element.style.height = `${Math.min(element.scrollHeight + 2, innerHeight * 0.6)}px`;
  }, []);
  return (
    <form class="editor" onSubmit={(event) => {
      event.preventDefault();
      onDone(area.current!.value);
    }} onKeyDown={(event) => {
      if (event.key === 'Escape') onDone();
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onDone(area.current!.value);
    }}>
      <textarea ref={area} aria-label="Edit the message" defaultValue={message.content} />
      <div class="row">
        <span class="note">The message as it was stays, as a branch.</span>
        <button type="button" class="small" onClick={() => onDone()}>Cancel</button>
        <button type="submit" class="small primary">{message.role === 'user' ? 'Send' : 'Keep'}</button>
      </div>
    </form>
  );
}

const Branches = ({ message, siblings, choose }: { message: Message; siblings: Message[]; choose: (one: Message) => void }) => {
  const at = siblings.findIndex(({ id }) => id === message.id);
  return (
    <span class="branches" role="group" aria-label="Branches">
      <IconButton icon="left" label="Previous branch" disabled={at <= 0} onClick={() => choose(siblings[at - 1])} />
      <span class="number">{at + 1}/{siblings.length}</span>
      <IconButton icon="right" label="Next branch" disabled={at >= siblings.length - 1} onClick={() => choose(siblings[at + 1])} />
    </span>
  );
};

// --- the whole ------------------------------------------------------------------------

const speaker = { user: 'You', assistant: 'Model', tool: 'Tool' };

function Body({ message, last, busy, actions }: Props) {
  const growing = message.state === 'reading' || message.state === 'writing';
  if (message.role !== 'assistant') {
    return (
      <>
        {message.attachments?.length ? <Attachments message={message} /> : null}
        <div class="bubble" data-text>{message.content}</div>
      </>
    );
  }
  return (
    <>
      {message.reasoning && <Reasoning text={message.reasoning} growing={growing && !message.content} />}
      {message.content && <div data-text><Markdown source={message.content} /></div>}
      {message.toolCalls?.map((call) => (
        <Call key={call.id} call={call}
          onResult={last && !busy ? (result) => actions.answerTool(message, call, result) : undefined} />
      ))}
      {message.state === 'reading' && <Progress message={message} />}
      {message.state === 'stopped' && <p class="state">Stopped.</p>}
      {message.finish === 'length' && <p class="state">It ended at its limit of tokens.</p>}
      {message.failure && <p class="failure" role="alert">{message.failure}</p>}
    </>
  );
}

export const MessageView = memo((props: Props) => {
  const { conversation, message, siblings, busy, actions } = props;
  const [editing, setEditing] = useState(false);
  const [open, setOpen] = useState(false);
  const [copied, setCopied] = useState(false);
  const growing = message.state === 'reading' || message.state === 'writing';
  const copy = async () => {
    await copyText(message.content);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <article class={`message ${message.role}`} data-message={message.id} aria-label={speaker[message.role]}
      aria-busy={growing}>
      {editing
        ? <Editor message={message} onDone={(text) => {
          setEditing(false);
          if (text !== undefined && text !== message.content) actions.edit(message, text);
        }} />
        : <Body {...props} />}
      {message.receipt && !growing && (
        <ReuseLine receipt={message.receipt} timings={message.timings} open={open} onToggle={() => setOpen(!open)} />
      )}
      {open && message.receipt && <ReceiptPanel conversation={conversation} message={message} />}
      {!growing && !editing && (
        <div class="actions">
          {siblings.length > 1 && <Branches message={message} siblings={siblings} choose={actions.choose} />}
          <span class="more">
            <IconButton icon="copy" label={copied ? 'Copied' : 'Copy'} onClick={() => void copy()} />
            {message.role === 'assistant' && (
              <IconButton icon="again" label="Regenerate" disabled={busy} onClick={() => actions.regenerate(message)} />
            )}
            <IconButton icon="edit" label="Edit" disabled={busy} onClick={() => setEditing(true)} />
            <IconButton icon="trash" label="Delete this and all below" disabled={busy} onClick={() => actions.remove(message)} />
          </span>
        </div>
      )}
    </article>
  );
}, (a, b) => a.message === b.message && a.busy === b.busy && a.last === b.last && a.siblings.length === b.siblings.length);
