// Asking the server. A failure becomes a Failure whose message helps the person who reads it.
import { signal } from '@preact/signals';

// --- the key ---------------------------------------------------------------------

const kept = 'holdfast.key';
export const key = signal(localStorage.getItem(kept) ?? sessionStorage.getItem(kept) ?? '');
// The server refused the last request for want of a right key.
export const keyWanted = signal(false);

export function takeKey(value: string, remember: boolean): void {
  localStorage.removeItem(kept);
  sessionStorage.removeItem(kept);
  if (value) (remember ? localStorage : sessionStorage).setItem(kept, value);
  key.value = value;
  keyWanted.value = false;
}

export const keyRemembered = (): boolean => localStorage.getItem(kept) !== null;

// --- failures ----------------------------------------------------------------------

export class Failure extends Error {
  constructor(message: string, readonly status: number) {
    super(message);
  }
}

const unreachable = 'The server cannot be reached. Is it still running? Your text is kept here; try again when it is.';
const cutOff = 'The connection was lost in the middle of the answer. What has come is kept; “Regenerate” asks again.';

function sentenceFor(status: number, said: string, after: string | null): string {
  switch (status) {
    case 401:
      return 'The server asks for an API key, and this one is missing or wrong. Enter the right one with the key button.';
    case 403:
      return said || 'This key may not do that.';
    case 429:
      return `${said || 'This key has reached its limit.'} Try again in ${after ?? 'a few'} s.`;
    case 503:
      if (/loading/.test(said)) return `${said} Try again in a moment.`;
      return `The server is busy: ${said || 'it takes no more requests now.'} Try again in ${after ?? 'a few'} s.`;
    default:
      return said || `The server answered with status ${status}.`;
  }
}

async function failureOf(response: Response): Promise<Failure> {
  let said = '';
  try {
    said = (await response.json()).error?.message ?? '';
  } catch {
    // Not the server's own words: a proxy's page, say.
  }
  if (response.status === 401) keyWanted.value = true;
  return new Failure(sentenceFor(response.status, said, response.headers.get('Retry-After')), response.status);
}

// --- requests ------------------------------------------------------------------------

// The server may answer below a path (--api-prefix); the page is its root, with a slash at the end.
const root = location.pathname.replace(/\/$/, '');

export async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  if (key.value) headers.set('Authorization', `Bearer ${key.value}`);
  let response: Response;
  try {
    response = await fetch(root + path, { ...options, headers });
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw new Failure(unreachable, 0);
  }
  if (!response.ok) throw await failureOf(response);
  return response;
}

export const getJson = async <T>(path: string, signalled?: AbortSignal): Promise<T> =>
  (await ask(path, { signal: signalled })).json() as Promise<T>;

// The data of each server-sent event, until "[DONE]".
async function* eventsOf(response: Response): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Failure(cutOff, 0);
    const lines = (rest + value).split('\n');
    rest = lines.pop()!;
    for (const line of lines) {
      if (!line.startsWith('data: ')) continue;
      const data = line.slice(6).trimEnd();
      if (data === '[DONE]') return;
      yield data;
    }
  }
}

export async function* stream(path: string, body: unknown, signalled: AbortSignal,
  headers: Record<string, string> = {}): AsyncGenerator<any> {
  const response = await ask(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', ...headers },
    signal: signalled,
  });
  try {
    for await (const data of eventsOf(response)) {
      const event = JSON.parse(data);
      if (event.error) throw new Failure(sentenceFor(event.error.code ?? 500, event.error.message, null), 0);
      yield event;
    }
  } catch (error) {
    if (error instanceof Failure || (error as Error).name === 'AbortError') throw error;
    throw new Failure(cutOff, 0);
  }
}
