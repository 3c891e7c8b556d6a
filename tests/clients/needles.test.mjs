// Eight needles in 8,000 tokens are found after every kind of restore, with the
// answers of a server that restores nothing.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { haystack } from './haystack.mjs';
import { startServer } from './server.mjs';
import { ask, cachedOf, textOf, user } from './talk.mjs';

const { text, codes } = haystack({ seed: 1, sentences: 700 });
const cities = Object.keys(codes);
const read = { role: 'assistant', content: 'I have read the text.' };
const opening = (words = text) => [user(`Read this text carefully. I will ask you about it.\n\n${words}`), read];
const question = (city) => user(`What is the secret code of ${city}?`);
const short = { max_tokens: 24 };

// One slot, so that another conversation always takes it.
const flags = ['--parallel', '1'];

describe('8 of 8 needles in 8000 tokens', () => {
  let server;
  let client;
  let coldServers;
  let coldAnswers;
  before(async () => {
    [server, ...coldServers] = [await startServer(flags), await startServer(flags), await startServer(flags)];
    client = server.client();
    coldAnswers = askColdly();
    coldAnswers.catch(() => {}); // is told where it is awaited
  });
  after(() => Promise.all([server, ...(coldServers ?? [])].map((one) => one?.stop())));

  // The answers, one for each city. `messagesFor(city)` is the prompt; `between` comes
  // before each.
  async function askAll(asked, { of = cities, messagesFor = (city) => [...opening(), question(city)], between, ...extra } = {}) {
    const answers = [];
    for (const city of of) {
      await between?.();
      answers.push(await ask(asked, messagesFor(city), { ...short, ...extra }));
    }
    return answers;
  }

  // The text is read eight times, so two servers share the work.
  async function askColdly() {
    const halves = await Promise.all(coldServers.map((one, i) =>
      askAll(one.client(), { of: cities.slice(4 * i, 4 * i + 4), cache_prompt: false })));
    return halves.flat();
  }

  // All but the first of them must have been restored.
  function assertFound(answers, restored_from) {
    answers.forEach((answer, i) => assert.match(textOf(answer), new RegExp(codes[cities[i]]), cities[i]));
    for (const answer of answers.slice(restored_from ? 1 : answers.length)) {
      assert.ok(cachedOf(answer) > 7000, `${cachedOf(answer)} tokens restored`);
      assert.ok(restored_from.includes(answer.cache_receipt.restored_from), answer.cache_receipt.restored_from);
    }
  }

  async function assertAsCold(answers) {
    assert.deepEqual(answers.map(textOf), (await coldAnswers).map(textOf));
  }

  const asked = { cache_receipt: true };

  test('after a cancelled prefill', async () => {
    const leaving = new AbortController();
    const request = { messages: [...opening(), question(cities[0])], model: 'pocket', stream: true, return_progress: true };
    const chunks = await client.chat.completions.create(request, { signal: leaving.signal });
    for await (const { prompt_progress: progress } of chunks) {
      if (progress && progress.processed > progress.total / 2) break;
    }
    leaving.abort();
    const answers = await askAll(client, asked);
    assert.ok(cachedOf(answers[0]) > 4000, `${cachedOf(answers[0])} tokens survived the cancellation`);
    assertFound(answers, ['live slot', 'snapshot in place']);
    await assertAsCold(answers);
  });

  test('going on in the slot', async () => {
    const messages = opening();
    const answers = [];
    for (const city of cities) {
      messages.push(question(city));
      answers.push(await ask(client, messages, { ...short, ...asked }));
      messages.push({ role: 'assistant', content: textOf(answers.at(-1)) });
    }
    assertFound(answers, ['live slot', 'snapshot in place']);
    await assertAsCold(answers);
  });

  test('from memory, when another conversation took the slot', async () => {
    const between = () => ask(client, 'My name is Alice.', { max_tokens: 4 });
    const answers = await askAll(client, { ...asked, between });
    assertFound(answers, ['memory']);
    await assertAsCold(answers);
  });

  test('after an edit near the end', async () => {
    const lines = text.split('\n');
    const edited = (i) => lines.with(-1 - i, 'The lamp is in the attic.').join('\n');
    const messagesFor = (city) => [...opening(edited(cities.indexOf(city))), question(city)];
    const answers = await askAll(client, { ...asked, messagesFor });
    assertFound(answers, ['snapshot in place', 'memory']);
    await assertAsCold(answers);
  });

  test('on branches that are left and taken up again', async () => {
    const branch = (line) => [...opening(), user(line), { role: 'assistant', content: 'I will remember that.' }];
    const branches = [branch('My dog is called Rex.'), branch('I live in Oslo.')];
    const messagesFor = (city) => [...branches[cities.indexOf(city) % 2], question(city)];
    const answers = await askAll(client, { ...asked, messagesFor });
    assertFound(answers, ['snapshot in place', 'memory']);
    await assertAsCold(answers);
  });

  test('cold', async () => assertFound(await coldAnswers));
});
