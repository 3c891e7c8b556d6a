// The server's own page in a real browser, and readings of it.
//
// Chromium is Debian's (scripts/packages.txt); HOLDFAST_CHROMIUM names another.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { chromium } from 'playwright-core';

import { scriptedServer } from '../agents/workplace.mjs';
import { patience_ms, startServer, temporaryFolder } from './server.mjs';

const executablePath = process.env.HOLDFAST_CHROMIUM ?? '/usr/bin/chromium';
const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--force-color-profile=srgb', '--hide-scrollbars',
];

export const openBrowser = () => chromium.launch({ executablePath, args: flags });

// A server whose model follows a script (../agents/script.h).
export function startScripted(script, more = []) {
  const path = join(temporaryFolder(), 'script.json');
  writeFileSync(path, JSON.stringify(script));
  return startServer(['--script', path, '-c', '8k', '-np', '2', ...more], { program: scriptedServer });
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// One person's browser with the page open. Everything that the browser complains about is kept.
export class Visitor {
  static async come(browser, url, options = {}) {
    const visitor = new Visitor();
    visitor.context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', ...options });
    visitor.page = await visitor.context.newPage();
    visitor.page.setDefaultTimeout(patience_ms);
    visitor.complaints = [];
    visitor.page.on('pageerror', (error) => visitor.complaints.push(String(error)));
    visitor.page.on('console', (line) => {
      if (/Content.Security.Policy/i.test(line.text())) visitor.complaints.push(line.text());
    });
    await visitor.page.goto(url);
    return visitor;
  }

  async leave() {
    await this.context.close();
    assert.deepEqual(this.complaints, []);
  }

  async type(text) {
    await this.page.getByRole('textbox', { name: 'Message', exact: true }).fill(text);
    await this.page.keyboard.press('Enter');
  }

  // Asks, and waits for the end of the answer.
  async ask(text) {
    const before = await this.answers().count();
    await this.type(text);
    await this.settled(before + 1);
    return this.answers().nth(before);
  }

  answers() {
    return this.page.getByRole('article', { name: 'Model' });
  }

  questions() {
    return this.page.getByRole('article', { name: 'You' });
  }

  // Waits until there are this many answers, and the last has ended.
  async settled(count) {
    await this.page.waitForFunction((wanted) => {
      const all = [...document.querySelectorAll('article.assistant')];
      return all.length === wanted && all.every((one) => one.getAttribute('aria-busy') === 'false');
    }, count);
  }

  async openReceipt(answer) {
    await answer.locator('.reuse').click();
    return answer.getByRole('region', { name: 'Receipt' });
  }

  async view(name) {
    await this.page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click();
  }

  // What axe-core finds wrong, in a few words each.
  async violations() {
    await this.page.evaluate(`${axe}; undefined`);
    const { violations } = await this.page.evaluate(() => window.axe.run());
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  }

  // The text that is marked in a message on the page.
  marked() {
    return this.page.evaluate(() => [...(CSS.highlights.get('difference') ?? [])].map(String).join());
  }
}
