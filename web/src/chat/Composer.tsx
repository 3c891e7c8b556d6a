// Where a message is written: text, files, and how full the context is.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { bytes, count, short } from '../lib/format';
import { Icon, IconButton } from '../lib/icons';
import type { Attachment } from './model';

// What a browser and a context can hold of one file.
const fileBytesMax = 4 * 1024 * 1024;

async function readFile(file: File): Promise<Attachment> {
  if (file.size > fileBytesMax) throw new Error(`${file.name} has ${bytes(file.size)}; at most ${bytes(fileBytesMax)} can be attached.`);
  const text = await file.text();
  if (text.includes('\u0000')) throw new Error(`${file.name} is no text file.`);
  return { name: file.name, text };
}

function Meter({ used, size }: { used: number; size: number }) {
  const share = Math.min(used / size, 1);
  return (
    <span class={`meter ${share > 0.9 ? 'full' : ''}`} title={`${count(used)} of ${count(size)} tokens of the context are in use`}>
      <span class="track" role="meter" aria-label="Context in use" aria-valuemin={0} aria-valuemax={size} aria-valuenow={used}>
        <span style={{ width: `${100 * share}%` }} />
      </span>
      <span class="number">{short(used)} / {short(size)}</span>
    </span>
  );
}

interface Props {
  id: string;  // of the conversation: its draft is kept
  busy: boolean;
  used: number;
  size: number;
  onSend: (text: string, files: Attachment[]) => void;
  onStop: () => void;
}

export function Composer({ id, busy, used, size, onSend, onStop }: Props) {
  const draftKey = `holdfast.draft.${id}`;
  const text = useSignal('');
  const files = useSignal<Attachment[]>([]);
  const trouble = useSignal('');
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  const fit = () => {
    const element = area.current!;
    element.style.height = 'auto';
    element.style.height = `${Math.min(element.scrollHeight, innerHeight * 0.4)}px`;
  };
  useEffect(() => {
    text.value = sessionStorage.getItem(draftKey) ?? '';
    area.current!.value = text.value;
    files.value = [];
    fit();
    if (matchMedia('(hover: hover)').matches) area.current!.focus();
  }, [id]);

  const attach = async (list: Iterable<File>) => {
    trouble.value = '';
    for (const file of list) {
      try {
        files.value = [...files.value, await readFile(file)];
      } catch (error) {
        trouble.value = (error as Error).message;
      }
    }
  };
  const send = () => {
    if (busy || (!text.value.trim() && files.value.length === 0)) return;
    onSend(text.value, files.value);
    text.value = '';
    files.value = [];
    sessionStorage.removeItem(draftKey);
    area.current!.value = '';
    fit();
  };

  return (
    <form class="composer" onSubmit={(event) => {
      event.preventDefault();
      send();
    }} onDragOver={(event) => event.preventDefault()} onDrop={(event) => {
      event.preventDefault();
      if (event.dataTransfer) void attach(event.dataTransfer.files);
    }}>
      {trouble.value && <p class="failure" role="alert">{trouble.value}</p>}
      {files.value.length > 0 && (
        <ul class="chips" aria-label="Attached files">
          {files.value.map((file, i) => (
            <li key={i}>
              <Icon name="file" />{file.name} <span class="note">{bytes(file.text.length)}</span>
              <IconButton icon="close" label={`Remove ${file.name}`} onClick={() => (files.value = files.value.filter((_, j) => j !== i))} />
            </li>
          ))}
        </ul>
      )}
      <textarea ref={area} rows={1} aria-label="Message" placeholder="Ask something" onInput={(event) => {
        text.value = event.currentTarget.value;
        sessionStorage.setItem(draftKey, text.value);
        fit();
      }} onKeyDown={(event) => {
        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        send();
      }} />
      <div class="row">
        <input ref={picker} type="file" multiple hidden aria-label="Attach text files" onChange={(event) => {
          void attach(event.currentTarget.files ?? []);
          event.currentTarget.value = '';
        }} />
        <IconButton icon="clip" label="Attach text files" onClick={() => picker.current!.click()} />
        <span class="spring" />
        {size > 0 && <Meter used={used} size={size} />}
        {busy
          ? <button type="button" class="round" aria-label="Stop" title="Stop (Esc)" onClick={onStop}><Icon name="stop" /></button>
          : <button type="submit" class="round primary" aria-label="Send" title="Send (Enter)"
              disabled={!text.value.trim() && files.value.length === 0}><Icon name="send" /></button>}
      </div>
    </form>
  );
}
