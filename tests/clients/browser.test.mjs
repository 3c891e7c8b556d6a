// A real browser: what pages of strangers can do to a server with default settings (nothing), and
// what the server's own page can.
//
// Chromium is Debian's (scripts/packages.txt); HOLDFAST_CHROMIUM names another.
import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { after, before, describe, test } from 'node:test';

import { chromium } from 'playwright-core';

import { startServer, withServer } from './server.mjs';

const executablePath = process.env.HOLDFAST_CHROMIUM ?? '/usr/bin/chromium';
const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  // Names of strangers lead here; nothing leaves this machine.
  '--host-resolver-rules=MAP *.example 127.0.0.1',
  // Chromium's own guard would hide what the server does. Not every browser has it.
  '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests',
];

const secret = 'the password is swordfish';

// A web server of a stranger. Below /attack it has a page of its own; everything else it passes on
// to `target` as it came, Host included: so it looks to a browser after its name was rebound.
function stranger(target) {
  const server = createServer((asked, answer) => {
    if (asked.url.startsWith('/attack')) {
      answer.setHeader('Content-Type', 'text/html').end('<!doctype html><title>A page</title>');
      return;
    }
    const { hostname, port } = new URL(target);
    const passed = request({ hostname, port, path: asked.url, method: asked.method, headers: asked.headers },
      (given) => {
        answer.writeHead(given.statusCode, given.headers);
        given.pipe(answer);
      });
    asked.pipe(passed);
  });
  server.unref();  // a test that fails does not wait for it
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

// Runs in the page: everything that a script can try. Returns all that it could read.
async function attack(target) {
  const chat = JSON.stringify({ messages: [{ role: 'user', content: 'planted' }], max_tokens: 1 });
  const tries = [
    ['GET', '/cache/receipts'],
    ['GET', '/slots'],
    ['GET', '/cache'],
    ['GET', '/metrics'],
    ['GET', '/v1/models'],
    ['POST', '/v1/chat/completions', chat, { 'Content-Type': 'text/plain' }],
    ['POST', '/v1/chat/completions', chat, { 'Content-Type': 'application/json' }],
    ['POST', '/slots/0?action=erase', '', { 'Content-Type': 'text/plain' }],
    ['DELETE', '/cache'],
  ];
  const read = [];
  for (const [method, path, body, headers] of tries) {
    for (const mode of ['cors', 'no-cors']) {
      try {
        const answer = await fetch(target + path, { method, body, headers, mode });
        read.push({ method, path, status: answer.status, text: await answer.text() });
      } catch {
        // the browser showed nothing
      }
    }
  }
  const load = (tag, source) => new Promise((resolve) => {
    const element = document.createElement(tag);
    element.onload = () => resolve(true);
    element.onerror = () => resolve(false);
    element.src = target + source;
    document.body.append(element);
  });
  await load('img', '/cache/receipts');
  await load('script', '/cache/receipts');
  await load('iframe', '/cache/receipts');
  const form = document.createElement('form');
  Object.assign(form, { action: `${target}/v1/chat/completions`, method: 'post', enctype: 'text/plain', target: 'hidden' });
  const frame = document.createElement('iframe');
  frame.name = 'hidden';
  const field = document.createElement('input');
  field.name = chat.slice(0, -1) + ',"user":"';
  field.value = '"}';
  form.append(field);
  document.body.append(frame, form);
  const posted = new Promise((resolve) => (frame.onload = resolve));
  form.submit();
  await posted;
  return read;
}

async function tell(server) {
  const ask = (content) =>
    server.client().chat.completions.create({ messages: [{ role: 'user', content }], max_tokens: 2 });
  await ask(`${secret}, and my dog is called Rex`);
  await ask(`${secret}, and my cat is called Tom`);
}

// How the server stands, as its owner sees it.
async function standing(server) {
  const cache = await server.getJson('/cache');
  const { data } = await server.getJson('/cache/receipts');
  return { requests: cache.totals.requests, holds: cache.memory.resident_bytes > 0, receipts: data.length };
}

const told = (read) => read.filter(({ status, text }) => (status >= 200 && status < 300) || text.includes('swordfish'));

describe('a browser', () => {
  let browser;
  before(async () => (browser = await chromium.launch({ executablePath, args: flags })));
  after(() => browser?.close());

  const open = async (url) => {
    const page = await browser.newPage();
    await page.goto(url);
    return page;
  };

  describe('with default settings', () => {
    let server;
    let web;
    before(async () => {
      server = await startServer([]);
      web = await stranger(server.url);
      await tell(server);
    });
    after(async () => {
      web?.close();
      web?.closeAllConnections();
      await server?.stop();
    });

    test('a page of another origin reads nothing and changes nothing', async () => {
      const was = await standing(server);
      assert.ok(was.receipts >= 2 && was.holds, 'there is something to read');
      const page = await open(`http://evil.example:${web.address().port}/attack`);
      const read = await page.evaluate(attack, server.url);
      assert.deepEqual(told(read), []);
      assert.deepEqual(read.filter(({ status }) => status !== 0), [], 'not even a refusal is shown');
      assert.deepEqual(await standing(server), was);
      await page.close();
    });

    test('a page of this machine on another port is another origin too', async () => {
      const was = await standing(server);
      const page = await open(`http://127.0.0.1:${web.address().port}/attack`);
      assert.deepEqual(told(await page.evaluate(attack, server.url)), []);
      assert.deepEqual(await standing(server), was);
      await page.close();
    });

    test('a page through a rebound name reads nothing and changes nothing', async () => {
      const was = await standing(server);
      const own = `http://evil.example:${web.address().port}`;
      const page = await open(`${own}/attack`);
      const read = await page.evaluate(attack, own);
      assert.ok(read.some(({ status }) => status === 403), 'its requests arrive');
      assert.deepEqual(told(read), []);
      assert.deepEqual(await standing(server), was);
      await page.close();
    });

    test("the server's own page works, and so do its scripts", async () => {
      const page = await open(server.url);
      await page.getByText('holdfast-pocket').first().waitFor();
      const said = await page.evaluate(async () => {
        const post = await fetch('/v1/chat/completions', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 2 }),
        });
        const receipts = await fetch('/cache/receipts');
        return [post.status, receipts.status, (await receipts.json()).data.length > 0];
      });
      assert.deepEqual(said, [200, 200, true]);
      await page.goto(`${server.url}/slots`);
      assert.match(await page.textContent('body'), /is_processing/);
      const local = await open(server.url.replace('127.0.0.1', 'localhost'));
      await local.getByText('holdfast-pocket').first().waitFor();
      await Promise.all([page.close(), local.close()]);
    });

    test('a link from elsewhere may be followed', async () => {
      const page = await open(`http://evil.example:${web.address().port}/attack`);
      await page.evaluate((to) => {
        const link = document.createElement('a');
        Object.assign(link, { href: to, textContent: 'there' });
        document.body.append(link);
      }, server.url);
      await page.click('a');
      await page.waitForURL((url) => url.origin === server.url);
      await page.getByText('holdfast-pocket').first().waitFor();
      await page.close();
    });
  });

  test('--cors-origins localhost lets pages of this machine in, and no others', async () => {
    await withServer(['--cors-origins', 'localhost'], async (server) => {
      const web = await stranger(server.url);
      const listed = async (host) => {
        const page = await open(`http://${host}:${web.address().port}/attack`);
        const models = await page.evaluate(async (url) => {
          try {
            const answer = await fetch(`${url}/v1/models`, { headers: { Authorization: 'Bearer none' } });
            return (await answer.json()).data.length;
          } catch {
            return 'nothing';
          }
        }, server.url);
        await page.close();
        return models;
      };
      assert.equal(await listed('localhost'), 1);
      assert.equal(await listed('127.0.0.1'), 1);
      assert.equal(await listed('evil.example'), 'nothing');
      web.close();
      web.closeAllConnections();
    });
  });
});
