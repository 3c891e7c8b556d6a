// Colours for code. The highlighter is a file of its own, loaded with the first block of code.

type Highlighter = typeof import('./languages').default;
let loaded: Highlighter | null = null;
let loading: Promise<Highlighter> | null = null;

const load = (): Promise<Highlighter> =>
  (loading ??= import('./languages').then((module) => (loaded = module.default)));

function paint(element: HTMLElement, text: string, language: string, highlighter: Highlighter): void {
  if (!highlighter.getLanguage(language)) return;
  // Its output is escaped text in spans with class names.
  element.innerHTML = highlighter.highlight(text, { language, ignoreIllegals: true }).value;
}

export function highlighted(element: HTMLElement, text: string, language: string): void {
  if (loaded && language) {
    paint(element, text, language, loaded);
    if (loaded.getLanguage(language)) return;
  }
  element.textContent = text;
  if (!language || loaded) return;
  void load().then((highlighter) => {
    if (element.textContent === text) paint(element, text, language, highlighter);
  });
}
