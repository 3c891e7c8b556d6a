// Markdown of a model, as elements. What a model writes is text from a stranger: HTML in it is shown
// as letters, and what the parser makes passes a sanitiser before it reaches the page.
//
// An answer grows by a few letters at a time, so each block is parsed and drawn again only if its
// own source has changed.
import DOMPurify from 'dompurify';
import { Marked, type Token, type Tokens } from 'marked';
import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';

import { copyText } from './clipboard';
import { highlighted } from './highlight';

// --- formulas ----------------------------------------------------------------------

interface Formula extends Tokens.Generic {
  text: string;
  display: boolean;
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);

function formulaFrom(raw: string, text: string, display: boolean): Formula {
  return { type: display ? 'blockMath' : 'inlineMath', raw, text: text.trim(), display };
}

const inlineMath = {
  name: 'inlineMath',
  level: 'inline' as const,
  start: (source: string) => source.match(/\$|\\\(|\\\[/)?.index,
  tokenizer(source: string): Formula | undefined {
    // Prices are no formulas: after the opening and before the closing $ there is no space, and no
    // digit follows.
    const dollars = /^\$\$([^$]+?)\$\$/.exec(source);
    if (dollars) return { ...formulaFrom(dollars[0], dollars[1], true), type: 'inlineMath' };
    const found = /^\$((?:[^\s$\\]|\\.)(?:(?:[^$\\\n]|\\.)*(?:[^\s$\\]|\\.))?)\$(?!\d)/.exec(source)
      ?? /^\\\(([\s\S]+?)\\\)/.exec(source);
    if (found) return formulaFrom(found[0], found[1], false);
    const shown = /^\\\[([\s\S]+?)\\\]/.exec(source);
    return shown ? { ...formulaFrom(shown[0], shown[1], true), type: 'inlineMath' } : undefined;
  },
  renderer: (token: Tokens.Generic) =>
    `<span class="math" data-display="${token.display}">${escapeHtml(token.text)}</span>`,
};

const blockMath = {
  name: 'blockMath',
  level: 'block' as const,
  start: (source: string) => source.match(/^(\$\$|\\\[)/m)?.index,
  tokenizer(source: string): Formula | undefined {
    const found = /^\$\$([\s\S]+?)\$\$(?:\n|$)/.exec(source) ?? /^\\\[([\s\S]+?)\\\](?:\n|$)/.exec(source);
    return found ? formulaFrom(found[0], found[1], true) : undefined;
  },
  renderer: (token: Tokens.Generic) =>
    `<div class="math" data-display="true">${escapeHtml(token.text)}</div>`,
};

// --- blocks ----------------------------------------------------------------------------

const marked = new Marked({ gfm: true, breaks: false });
marked.use({
  extensions: [inlineMath, blockMath],
  renderer: {
    html: ({ text }) => escapeHtml(text),
    // Below the page's own heading, and without holes, whatever levels the model uses.
    heading({ tokens, depth }) {
      return `<h2 class="depth-${depth}">${this.parser.parseInline(tokens)}</h2>`;
    },
  },
});

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
});

const fragmentOf = (html: string): DocumentFragment =>
  DOMPurify.sanitize(html, {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: ['a', 'blockquote', 'br', 'code', 'del', 'div', 'em', 'h2', 'hr',
      'input', 'li', 'ol', 'p', 'pre', 'span', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'],
    ALLOWED_ATTR: ['href', 'title', 'class', 'align', 'start', 'type', 'checked', 'disabled', 'data-display'],
  });

// Loaded when the first formula comes.
async function drawFormulas(element: HTMLElement): Promise<void> {
  const found = element.querySelectorAll<HTMLElement>('.math');
  if (found.length === 0) return;
  const { default: temml } = await import('temml');
  for (const one of found) {
    if (one.dataset.drawn) continue;
    one.dataset.drawn = 'true';
    try {
      temml.render(one.textContent ?? '', one, { displayMode: one.dataset.display === 'true', throwOnError: true });
    } catch {
      one.classList.add('raw');  // not complete yet, or not LaTeX: its source stays
    }
  }
}

// Preact puts nothing into this element, so its content may be set by hand.
const TextBlock = memo(({ token }: { token: Token; raw: string }) => {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current!;
    element.replaceChildren(fragmentOf(marked.parser([token])));
    for (const box of element.querySelectorAll('table')) scrollable(box);
    for (const box of element.querySelectorAll('input')) box.setAttribute('aria-label', 'Task');
    void drawFormulas(element);
  });
  return <div ref={place} />;
}, (a, b) => a.raw === b.raw);

// Wide tables scroll by themselves, by keyboard too.
function scrollable(table: HTMLTableElement): void {
  const frame = document.createElement('div');
  frame.className = 'table-frame';
  frame.tabIndex = 0;
  frame.setAttribute('role', 'region');
  frame.setAttribute('aria-label', 'Table');
  table.replaceWith(frame);
  frame.append(table);
}

const CodeBlock = memo(({ text, language }: { text: string; language: string }) => {
  const place = useRef<HTMLElement>(null);
  const [copied, setCopied] = useState(false);
  useEffect(() => highlighted(place.current!, text, language), [text, language]);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <figure class="code">
      <figcaption>
        <span>{language || 'text'}</span>
        <button type="button" class="quiet" onClick={copy}>{copied ? 'Copied' : 'Copy'}</button>
      </figcaption>
      <pre tabIndex={0} aria-label={`Code${language ? `, ${language}` : ''}`}><code ref={place} /></pre>
    </figure>
  );
});

export const Markdown = memo(({ source }: { source: string }) => {
  const blocks = marked.lexer(source).filter((token) => token.type !== 'space');
  return (
    <div class="markdown">
      {blocks.map((token, i) => (token.type === 'code'
        ? <CodeBlock key={`${i}c`} text={(token as Tokens.Code).text} language={((token as Tokens.Code).lang ?? '').split(/\s/)[0]} />
        : <TextBlock key={`${i}t`} token={token} raw={token.raw} />))}
    </div>
  );
});
