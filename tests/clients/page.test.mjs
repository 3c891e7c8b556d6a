// The page that the server shows to people, in a real Chromium.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { after, before, describe, test } from 'node:test';

import { Visitor, openBrowser, startScripted } from './page.mjs';
import { eventually, temporaryFolder, withServer } from './server.mjs';

const poem = [
  '# A title', '', 'A *formula* $E = mc^2$ and a list:', '', '- one', '- two', '', '```python', 'def f(x):', '    return x + 1',
  '```', '', '<img src=x onerror="window.hacked = 1"> [link](javascript:window.hacked=2)', '', '$$\\int_0^1 x^2\\,dx$$',
].join('\n');
const longStory = Array.from({ length: 400 }, (_, i) => `Sentence ${i} of the story.`).join(' ');
const script = {
  write_us_per_step: 1000,
  rules: [
    { when: 'markdown', say: poem },
    { when: 'story', say: longStory },
    { when: 'weather', say: '', calls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] },
    { when: '<tool_response>', say: 'It rains.' },
    { when: '', say: 'Done.' },
  ],
};
const background = 'The harbour keeps a log of every ship that comes in and goes out. '.repeat(12);

// The bytes that come over the wire.
function fetchRaw(url, headers) {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (answer) => {
      const pieces = [];
      answer.on('data', (piece) => pieces.push(piece));
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces) }));
    }).on('error', reject);
  });
}

describe('the page', () => {
  let browser;
  let server;
  before(async () => {
    browser = await openBrowser();
    server = await startScripted(script);
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  const visit = async (body) => {
    const visitor = await Visitor.come(browser, server.url);
    await body(visitor, visitor.page);
    await visitor.leave();
  };

  test('is small, compressed, and kept by the browser', async () => {
    const browserHeaders = { Accept: 'text/html', 'Accept-Encoding': 'gzip' };
    const page = await fetchRaw(server.url, browserHeaders);
    assert.equal(page.headers['content-encoding'], 'gzip');
    assert.equal((await fetchRaw(server.url, { ...browserHeaders, 'If-None-Match': page.headers.etag })).status, 304);
    const loaded = [];
    const visitor = await Visitor.come(browser, 'about:blank');
    visitor.page.on('response', (response) => loaded.push(response.url()));
    await visitor.page.goto(server.url);
    await visitor.ask('Show me markdown');
    await visitor.page.locator('math').first().waitFor();
    const own = [...new Set(loaded)].filter((url) => url.includes('/assets/'));
    let bytes = page.body.length;
    for (const url of own) {
      const file = await fetchRaw(url, browserHeaders);
      assert.match(file.headers['cache-control'], /immutable/);
      bytes += file.body.length;
    }
    assert.ok(own.length >= 5 && bytes < 300_000, `${own.length} files, ${bytes} bytes`);
    assert.ok(loaded.every((url) => url.startsWith(server.url)), 'nothing comes from elsewhere');
    await visitor.leave();
    const note = await fetchRaw(server.url, { Accept: '*/*' });
    assert.match(note.body.toString(), /Point an OpenAI client at/);
  });

  test('shows markdown, code, formulas and thoughts, and runs nothing that a model writes', () => visit(async (visitor, page) => {
    const answer = await visitor.ask('Show me markdown');
    await answer.getByRole('heading', { name: 'A title' }).waitFor();
    await answer.locator('.hljs-keyword').first().waitFor();
    assert.equal(await answer.locator('math').count(), 2);
    assert.equal(await answer.locator('li').allTextContents().then((all) => all.join()), 'one,two');
    assert.match(await answer.locator('summary').first().textContent(), /Thoughts/);
    assert.equal(await answer.locator('img').count(), 0);
    assert.equal(await answer.locator('a[href^="javascript"]').count(), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await answer.locator('.code').getByRole('button', { name: 'Copy' }).click();
    await answer.getByRole('button', { name: 'Copied' }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'def f(x):\n    return x + 1');
  }));

  test('says what each answer reused', () => visit(async (visitor) => {
    await visitor.ask(`${background} Hello.`);
    const second = await visitor.ask('And now?');
    assert.match(await second.locator('.reuse').textContent(), /\d+ reused from (the slot|memory).*\d+ read in .*\d+ written/);
    const receipt = await visitor.openReceipt(second);
    assert.match(await receipt.textContent(), /% of the prompt reused/);
  }));

  test('stops an answer, and the server stops too', () => visit(async (visitor, page) => {
    await visitor.type('Tell me a story');
    await page.getByText('Sentence 1 of the story.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await visitor.settled(1);
    await page.getByText('Stopped.').waitFor();
    await server.idle();
    assert.ok(!(await visitor.answers().first().textContent()).includes('Sentence 399'));
    await visitor.answers().first().locator('.reuse').waitFor();
  }));

  test('regenerates, edits and goes back to any branch', () => visit(async (visitor, page) => {
    await visitor.ask('First question');
    const branches = (message) => message.getByRole('group', { name: 'Branches' });
    await visitor.answers().first().getByRole('button', { name: 'Regenerate' }).click();
    await branches(visitor.answers().first()).getByText('2/2').waitFor();
    await visitor.settled(1);
    await visitor.answers().first().getByRole('button', { name: 'Previous branch' }).click();
    await branches(visitor.answers().first()).getByText('1/2').waitFor();

    await visitor.questions().first().hover();
    await visitor.questions().first().getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit the message' }).fill('Another question, with markdown');
    await page.getByRole('button', { name: 'Send' }).first().click();
    await page.getByRole('heading', { name: 'A title' }).waitFor();
    await visitor.settled(1);
    await visitor.questions().first().getByRole('button', { name: 'Previous branch' }).click();
    await page.getByText('First question', { exact: true }).last().waitFor();
    await branches(visitor.answers().first()).getByText('1/2').waitFor();

    await visitor.answers().first().getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit the message' }).fill('What it should have said');
    await page.getByRole('button', { name: 'Keep' }).click();
    await branches(visitor.answers().first()).getByText('3/3').waitFor();
    await page.getByText('What it should have said').waitFor();
  }));

  test('marks the text that differs in the message it lies in', () => visit(async (visitor, page) => {
    await visitor.ask(`${background} My favourite colour is crimson, not any other.`);
    await visitor.questions().first().hover();
    await visitor.questions().first().getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit the message' }).fill(`${background} My favourite colour is turquoise, not any other.`);
    await page.getByRole('button', { name: 'Send' }).first().click();
    await visitor.settled(1);
    const receipt = await visitor.openReceipt(visitor.answers().first());
    assert.match(await receipt.locator('.differs').textContent(), /in messages\[0\] \(user\)/);
    const marked = await receipt.locator('mark').textContent();
    assert.match(marked, /^\s*t/);
    assert.ok(`turquoise, not any other.`.includes(marked.trim().slice(0, 6)), marked);
    assert.equal(await visitor.marked(), marked);
    await visitor.answers().first().locator('.reuse').click();
    await eventually(async () => (await visitor.marked()) === '', 'the mark goes with its receipt');
  }));

  test('a clock in the system prompt is found, with advice', () => visit(async (visitor, page) => {
    const askAt = async (time) => {
      await page.getByRole('button', { name: 'New conversation' }).click();
      await page.getByRole('textbox', { name: 'System prompt' }).fill(`It is ${time}. ${background}`);
      return visitor.ask('Hello.');
    };
    await page.getByRole('button', { name: 'Settings' }).click();
    await askAt('10:41');
    const answer = await askAt('10:57');
    const receipt = await visitor.openReceipt(answer);
    assert.match(await receipt.locator('.differs').textContent(), /messages\[0\] \(system\)/);
    await receipt.getByText('What would help').waitFor();
    await visitor.view('Misses');
    await page.getByRole('region', { name: 'What cost most' }).waitFor();
    assert.match(await page.locator('.requests').first().textContent(), /messages\[0\] \(system\)/);
  }));

  test('a tool call is folded, and its result can be given back', () => visit(async (visitor, page) => {
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByText('Tools', { exact: true }).click();
    const tool = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } };
    await page.getByRole('textbox', { name: /tools, as JSON/ }).fill(JSON.stringify([tool]));
    const answer = await visitor.ask('How is the weather?');
    await answer.getByText('get_weather').first().waitFor();
    await answer.getByRole('textbox', { name: 'Its result' }).fill('rain');
    await answer.getByRole('button', { name: 'Give it back' }).click();
    await page.getByText('It rains.').waitFor();
  }));

  test('a reload loses nothing', () => visit(async (visitor, page) => {
    await visitor.ask('First question');
    await visitor.answers().first().getByRole('button', { name: 'Regenerate' }).click();
    await visitor.settled(1);
    await page.getByText('2/2').waitFor();
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('half a thought');
    await page.reload();
    await page.getByText('2/2').waitFor();
    await visitor.answers().first().locator('.reuse').waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue(), 'half a thought');
  }));

  test('attaches text files, exports and imports', () => visit(async (visitor, page) => {
    await page.locator('input[type=file][multiple]').setInputFiles({
      name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('the password is swordfish'),
    });
    await page.getByText('notes.txt').waitFor();
    await visitor.ask('What does the file say?');
    const [receipt] = (await server.getJson('/cache/receipts?limit=1')).data;
    assert.ok(receipt.prompt_tokens > 15);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export this conversation' }).click();
    const path = await (await download).path();
    assert.equal(JSON.parse(readFileSync(path)).format, 'holdfast-conversations');
    await page.locator('input[accept*=json]').setInputFiles(path);
    await eventually(async () => (await page.locator('.conversations li').count()) === 2, 'the copy is listed');
    await page.locator('input[type=file][multiple]').setInputFiles({
      name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from([0x89, 0x50, 0, 0]),
    });
    await page.getByText('picture.png is no text file.').waitFor();
  }));

  test('the tree shows a fork, and the server its slots', () => visit(async (visitor, page) => {
    await visitor.ask(`${background} One.`);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await visitor.ask(`${background} Two.`);
    await visitor.view('Cache');
    await page.locator('.branch').first().waitFor({ state: 'attached' });
    const tree = await server.getJson('/cache/tree');
    assert.ok(tree.nodes.some(({ conversations }) => conversations >= 2), 'a trunk');
    await eventually(async () => (await page.locator('.branch').count()) >= 3, 'a trunk and two branches');
    await page.getByRole('application').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByText('Shared by', { exact: true }).waitFor();
    await visitor.view('Server');
    await page.getByText('Slot 1').waitFor();
    await page.locator('.chart').nth(3).waitFor();
  }));

  test('the cache view shows what happens while it happens', () => visit(async (visitor, page) => {
    await visitor.ask(`${background} A first way.`);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await visitor.ask(`${background} A second way to go on.`);
    await visitor.view('Cache');
    const happened = page.getByRole('log', { name: 'Latest first' });
    await page.locator('.branch').first().waitFor({ state: 'attached' });
    const branches = () => page.locator('.branch').count();
    const before = await branches();
    const body = (text) => ({ messages: [{ role: 'user', content: text }], max_tokens: 4 });
    await server.post('/v1/chat/completions', body(`${background} A third way to go on.`));
    await happened.getByText(/^Slot \d answered: \d+ reused, \d+ read in .*, \d+ written in/).first().waitFor();
    await eventually(async () => (await branches()) > before, 'the new branch is drawn');
    assert.ok((await page.locator('.branch circle.snapshot').count()) > 0, 'snapshots are dots');
    await page.getByRole('application').focus();
    const drop = page.getByRole('button', { name: 'Drop from memory' });
    for (let i = 0; i < 20 && !(await drop.isVisible()); i += 1) await page.keyboard.press('ArrowDown');
    await drop.click();
    await happened.getByText(/^A conversation was dropped from memory: [\d.]+ \w+ freed/).waitFor();
    await page.getByRole('status').getByText('What is on disk stays there.').waitFor();
    await server.fetch('/cache', { method: 'DELETE' });
    await happened.getByText('States were forgotten').waitFor();
    await eventually(async () => (await branches()) < before, 'the tree is cut down');
    await page.getByRole('button', { name: 'Forget everything' }).waitFor();
    await visitor.view('Chat');
    await visitor.view('Cache');
    await happened.getByText('States were forgotten').waitFor();
  }));

  test('a full queue gives a sentence that helps', async () => {
    const busy = await startScripted(script, ['-np', '1', '--queue-max', '1']);
    const visitor = await Visitor.come(browser, busy.url);
    const controller = new AbortController();
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'story' }], stream: true });
    const ask = () => busy.fetch('/v1/chat/completions', { method: 'POST', body, signal: controller.signal });
    const first = await ask();
    await busy.writing(1);
    const second = ask().catch(() => {});
    const deferred = async () => /requests_deferred 1\n/.test(await (await busy.fetch('/metrics')).text());
    await eventually(deferred, 'one request waits');
    await visitor.type('Hello.');
    assert.match(await visitor.page.getByRole('alert').textContent(), /The server is busy: .*Try again in \d+ s/);
    controller.abort();
    await Promise.all([second, first.body.cancel().catch(() => {})]);
    await visitor.leave();
    await busy.stop();
  });

  test('a dropped connection gives a sentence that helps', async () => {
    const doomed = await startScripted(script);
    const visitor = await Visitor.come(browser, doomed.url);
    await visitor.type('Tell me a story');
    await visitor.page.getByText('Sentence 1 of the story.').waitFor();
    doomed.signal('SIGKILL');
    assert.match(await visitor.page.getByRole('alert').textContent(), /connection was lost in the middle of the answer/);
    await visitor.type('Are you there?');
    await visitor.page.getByRole('alert').getByText('The server cannot be reached').waitFor();
    await visitor.leave();
  });
});

test('the page says what twice the memory would have kept', () =>
  withServer(['-np', '1', '--cache-ram', '2', '--slot-snapshots', '0', '--cache-dir', 'off'], async (server) => {
    const names = ['Ann', 'Bob', 'Cid', 'Dan', 'Eve'];
    for (const name of [...names, ...names]) {
      const content = `${name}: ${background} ${name}?`;
      await server.post('/v1/chat/completions', { messages: [{ role: 'user', content }], max_tokens: 4 });
    }
    const evicted = (await server.getJson('/cache/receipts')).data.filter(({ missing }) => missing?.why === 'evicted');
    assert.ok(evicted.length > 0, 'something was evicted and asked for again');
    const budget = (await server.getJson('/cache')).memory.budget_bytes;
    assert.ok(evicted.every(({ missing }) => missing.kept_with_bytes > budget));
    const browser = await openBrowser();
    const visitor = await Visitor.come(browser, server.url);
    await visitor.view('Misses');
    const card = visitor.page.getByRole('region', { name: 'With twice the memory' });
    assert.match(await card.textContent(), /[\d,]+ tokens were read again .*--cache-ram 4/);
    assert.deepEqual(await visitor.violations(), []);
    await visitor.leave();
    await browser.close();
  }));

test('the dashboard of docs/grafana.json asks for figures that there are', () =>
  withServer(['--cache-dir', temporaryFolder()], async (server) => {
    const dashboard = readFileSync(new URL('../../docs/grafana.json', import.meta.url), 'utf8');
    const asked = new Set(dashboard.match(/\b(llamacpp:|holdfast_)[a-z_]+/g));
    const known = new Set((await (await server.fetch('/metrics')).text()).match(/^[a-z_:]+/gm));
    assert.ok(asked.size > 20);
    assert.deepEqual([...asked].filter((name) => !known.has(name)), []);
  }));

describe('the page of a server with keys', () => {
  test('asks for one, says that it is wrong, and keeps the right one', () => withServer(['--api-key', 'sesame'], async (server) => {
    const browser = await openBrowser();
    const visitor = await Visitor.come(browser, server.url);
    const { page } = visitor;
    const dialog = page.getByRole('dialog');
    const enter = async (key) => {
      await dialog.getByRole('textbox', { name: 'Key' }).or(dialog.getByLabel('Key', { exact: true })).first().fill(key);
      await dialog.getByRole('button', { name: 'Use it' }).click();
    };
    await dialog.waitFor();
    await enter('open');
    await page.getByText('missing or wrong').first().waitFor();
    await dialog.waitFor();
    await enter('sesame');
    await page.getByText('holdfast-pocket').first().waitFor();
    await page.reload();
    await page.getByText('holdfast-pocket').first().waitFor();
    assert.equal(await page.evaluate(() => localStorage.length), 0, 'it is kept for this tab alone');
    await visitor.leave();
    await browser.close();
  }));

  test('--no-ui leaves the note', () => withServer(['--no-ui'], async (server) => {
    const page = await server.fetch('/', { headers: { Accept: 'text/html' } });
    assert.match(await page.text(), /switched off \(--no-ui\)/);
  }));
});
