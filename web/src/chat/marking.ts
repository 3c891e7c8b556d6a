// Finds the text that a receipt says is the first to differ, and marks it where it stands.

// Where `sent` lies in `text`. It may run on into the template's own words, so the longest beginning
// of it counts; less than three letters would be anywhere.
export function locate(text: string, sent: string): { start: number; end: number } | null {
  for (const wanted of [sent, sent.trimStart()]) {
    for (let length = wanted.length; length >= Math.min(3, wanted.trim().length || 3); length -= 1) {
      const start = text.indexOf(wanted.slice(0, length));
      if (start >= 0) return { start, end: start + length };
    }
  }
  return null;
}

export interface Excerpt {
  before: string;
  marked: string;
  after: string;
}

export function excerptOf(text: string, sent: string): Excerpt | null {
  const found = locate(text, sent);
  if (!found) return null;
  const from = Math.max(0, found.start - 60);
  const to = Math.min(text.length, found.end + 60);
  return {
    before: (from > 0 ? '…' : '') + text.slice(from, found.start),
    marked: text.slice(found.start, found.end),
    after: text.slice(found.end, to) + (to < text.length ? '…' : ''),
  };
}

// A range over the text nodes below `element`.
function rangeIn(element: Element, sent: string): Range | null {
  const found = locate(element.textContent ?? '', sent);
  if (!found) return null;
  const range = document.createRange();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let at = 0;
  let begun = false;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const end = at + (node.textContent?.length ?? 0);
    if (!begun && found.start < end) {
      range.setStart(node, found.start - at);
      begun = true;
    }
    if (begun && found.end <= end) {
      range.setEnd(node, found.end - at);
      return range;
    }
    at = end;
  }
  return null;
}

const name = 'difference';

// Marks it in the message on the page, without changing the page. Returns whether it was found.
export function markIn(messageId: string, sent: string): boolean {
  unmark();
  const element = document.querySelector(`[data-message="${messageId}"] [data-text]`);
  const range = element && rangeIn(element, sent);
  if (!range || !('highlights' in CSS)) return false;
  CSS.highlights.set(name, new Highlight(range));
  return true;
}

export function unmark(): void {
  if ('highlights' in CSS) CSS.highlights.delete(name);
}

export function scrollTo(messageId: string): void {
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  document.querySelector(`[data-message="${messageId}"]`)
    ?.scrollIntoView({ block: 'center', behavior: calm ? 'auto' : 'smooth' });
}
