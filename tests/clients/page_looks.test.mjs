// The page in both themes, on a desk and on a phone: what axe-core finds, and whether it fits.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Visitor, openBrowser, startScripted } from './page.mjs';

const answer = ['# A title', '', 'A formula $E = mc^2$.', '', '```python', 'def f(x):', '    return x + 1', '```', '',
  '| a | b |', '|---|---|', '| 1 | 2 |'].join('\n');

describe('the looks of the page', () => {
  let browser;
  let server;
  before(async () => {
    browser = await openBrowser();
    server = await startScripted({ rules: [{ when: '', say: answer }] });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  const visit = async (body, options) => {
    const visitor = await Visitor.come(browser, server.url, options);
    await body(visitor, visitor.page);
    await visitor.leave();
  };

  for (const colorScheme of ['light', 'dark']) {
    for (const [device, viewport] of [['desktop', { width: 1280, height: 800 }], ['phone', { width: 390, height: 844 }]]) {
      test(`axe-core finds nothing wrong, ${colorScheme}, ${device}`, () => visit(async (visitor, page) => {
        const said = await visitor.ask('Show me markdown');
        await visitor.openReceipt(said);
        await said.locator('math').first().waitFor();
        const scrolls = await page.evaluate(() => document.querySelector('main').scrollHeight > innerHeight);
        assert.equal(scrolls, false, 'only the messages scroll');
        assert.deepEqual(await visitor.violations(), []);
        await page.getByRole('button', { name: 'Settings', exact: true }).click();
        assert.deepEqual(await visitor.violations(), []);
        await page.getByRole('button', { name: 'Close the settings' }).click();
        for (const [name, sign] of [['Cache', '.branch'], ['Misses', '.requests'], ['Server', '.chart']]) {
          if (device === 'phone') await page.getByRole('button', { name: 'Open the menu' }).click();
          await visitor.view(name);
          await page.locator(sign).first().waitFor({ state: 'attached' });
          assert.deepEqual(await visitor.violations(), [], name);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
          assert.equal(wide, false, `${name} is not wider than the screen`);
        }
      }, { colorScheme, viewport }));
    }
  }
});
