// Takes the pictures of docs/page.md: node tests/clients/screenshots.mjs (after make test has installed
// what it needs). The model follows a script, so that the pictures are about the page.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Visitor, openBrowser, startScripted } from './page.mjs';

const folder = fileURLToPath(new URL('../../docs/images', import.meta.url));
const guide = 'You answer questions about tides, moorings and the ships in the harbour. '.repeat(16);
const answers = {
  tides: 'The tide follows the moon. At a latitude $\\varphi$ the height is about\n\n$$h(t) = A\\cos\\left(\\frac{2\\pi t}{T}\\right), '
    + '\\quad T \\approx 12.42\\ \\text{h}$$\n\nso the next high water comes **50 minutes later** each day.',
  code: 'A small function is enough:\n\n```python\ndef height(t, amplitude=2.1, period=12.42):\n    """Metres above the mean, t in hours."""\n'
    + '    return amplitude * cos(2 * pi * t / period)\n```',
};
const script = {
  read_us_per_token: 250,
  write_us_per_step: 2500,
  rules: [
    { when: 'When is', say: answers.tides },
    { when: 'as code', say: answers.code },
    { when: '', say: 'The Minka lies at berth 4 and leaves with the evening tide.' },
  ],
};

const server = await startScripted(script, ['-np', '4', '-c', '16k']);
const browser = await openBrowser();
mkdirSync(folder, { recursive: true });
const shoot = (visitor, name) => visitor.page.screenshot({ path: join(folder, `${name}.png`) });

// What others do meanwhile: an agent with a clock in its system prompt, and several questions about one guide.
async function others() {
  const ask = (system, content, session) => server.post('/v1/chat/completions',
    { messages: [{ role: 'system', content: system }, { role: 'user', content }], max_tokens: 30, prompt_cache_key: session });
  for (const minute of ['41', '42', '43']) await ask(`It is 10:${minute}. ${guide}`, 'Who comes in today?', 'harbour-agent');
  for (const ship of ['Minka', 'Aurora', 'Tern', 'Petrel', 'Gannet']) {
    await ask(guide, `Where does the ${ship} lie?`, 'berths');
    if (ship !== 'Tern') continue;
    for (const deck of ['upper', 'lower']) await ask(guide, `Where does the ${ship} lie? The ${deck} deck is being painted.`, 'berths');
  }
}

const sized = { viewport: { width: 1200, height: 820 } };
const visitor = await Visitor.come(browser, server.url, { ...sized, colorScheme: 'light' });
await visitor.page.getByRole('button', { name: 'Settings' }).click();
await visitor.page.getByRole('textbox', { name: 'System prompt' }).fill(guide);
await visitor.page.getByRole('button', { name: 'Close the settings' }).click();
await others();
await visitor.ask('When is the next high water?');
const second = await visitor.ask('Show me that as code.');
await visitor.page.locator('math').first().waitFor();
await visitor.openReceipt(second);
await visitor.page.locator('.hljs-keyword').first().waitFor();
await second.evaluate((answer) => answer.scrollIntoView({ block: 'start' }));
await shoot(visitor, 'chat');
await visitor.view('Cache');
await visitor.page.locator('.branch').nth(6).waitFor({ state: 'attached' });
await shoot(visitor, 'cache');
await visitor.view('Misses');
await visitor.page.locator('.cause').first().waitFor();
await shoot(visitor, 'misses');
await visitor.leave();

const night = await Visitor.come(browser, server.url, { ...sized, colorScheme: 'dark' });
await night.view('Server');
await night.page.locator('.chart').first().waitFor();
for (let turn = 0; turn < 3; turn += 1) {
  await Promise.all([others(), others()]);
  await night.page.waitForTimeout(5000);  // the page looks every five seconds
}
await shoot(night, 'server');
await night.leave();

const phone = await Visitor.come(browser, server.url, { viewport: { width: 390, height: 760 }, colorScheme: 'dark', deviceScaleFactor: 1.5 });
await phone.ask('When is the next high water?');
await phone.page.locator('math').first().waitFor();
await shoot(phone, 'phone');
await phone.leave();

await browser.close();
await server.stop();
