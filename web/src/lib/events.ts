// What happens on the server while it happens: GET /cache/events, read for as long as the page is seen.
// (EventSource cannot send a key.)
import { ask } from './api';

export interface CacheEvent {
  id: string;
  name: string;
  data: Record<string, any>;
}

const againMs = 2000;

function eventIn(block: string): CacheEvent | null {
  const fields: Record<string, string> = {};
  for (const line of block.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  return fields.event ? { id: fields.id, name: fields.event, data: JSON.parse(fields.data) } : null;
}

async function* eventsBehind(id: string, signal: AbortSignal): AsyncGenerator<CacheEvent> {
  const answer = await ask(`/cache/events${id && `?after=${id}`}`, { signal });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      const event = eventIn(block);
      if (event) yield event;
    }
  }
}

// Calls `see` for each event; a stream that breaks is taken up again where it was left.
export function watchEvents(see: (event: CacheEvent) => void): () => void {
  let last = '';
  let again = 0;
  let stream: AbortController | null = null;
  const read = async (): Promise<void> => {
    clearTimeout(again);
    stream?.abort();
    if (document.hidden) return;
    const own = (stream = new AbortController());
    try {
      for await (const event of eventsBehind(last, own.signal)) {
        last = event.id;
        see(event);
      }
    } catch {
      // Whoever asks for anything else says what is wrong.
    }
    if (stream === own) again = window.setTimeout(() => void read(), againMs);
  };
  const onChange = (): void => void read();
  document.addEventListener('visibilitychange', onChange);
  void read();
  return () => {
    document.removeEventListener('visibilitychange', onChange);
    clearTimeout(again);
    stream?.abort();
    stream = null;
  };
}
