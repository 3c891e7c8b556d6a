// The client's account, on a server that is played here: no model, no process.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';

import { Ledger } from '../../tests/clients/reuse.mjs';
import { eventsOf } from '../client.mjs';
import { readChat, Talker } from '../talker.mjs';

const event = (json, at_ms = 0) => ({ at_ms, data: typeof json === 'string' ? json : JSON.stringify(json) });
const delta = (part, ids = []) => ({ choices: [{ delta: part, logprobs: { content: ids.map((id) => ({ id })) } }] });

test('the oracle is the longest prefix of anything seen by then, less one token', () => {
  const ledger = new Ledger();
  ledger.add([1, 2, 3, 4, 5, 6]);
  ledger.add([1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(ledger.oracle([1, 2, 3, 4, 5, 6, 7, 9]), 7);
  assert.equal(ledger.oracle([1, 2, 3, 4, 5, 6, 7, 8]), 7);             // something must be computed
  assert.equal(ledger.oracle([1, 2, 3, 4, 5, 6, 7, 9], [], 1), 6);      // before the second was seen
  assert.equal(ledger.oracle([1, 2, 3, 4, 9, 9]), 0);                   // the opening of a template
  assert.equal(ledger.oracle([9, 9, 9, 9, 9, 9], [[9, 9, 9, 9, 9, 1]]), 5); // beside another at once
});

test('the first token is the first thing to show, whatever its kind', () => {
  const chat = readChat([event(delta({ role: 'assistant', content: null }), 1), event(delta({ reasoning_content: 'a' }, [5]), 7),
    event(delta({ content: 'b' }, [6]), 9), event({ choices: [], timings: { cache_n: 3 } }, 10), event('[DONE]', 11)]);
  assert.equal(chat.first_ms, 7);
  assert.equal(chat.last_ms, 9);
  assert.deepEqual(chat.ids, [5, 6]);
  assert.deepEqual(chat.message, { role: 'assistant', content: 'b', reasoning_content: 'a' });
  assert.equal(chat.timings.cache_n, 3);
  assert.throws(() => readChat([event({ error: { message: 'no' } })]), /ended with an error/);
});

test('calls of tools come in pieces', () => {
  const piece = (part) => delta({ tool_calls: [part] });
  const { message } = readChat([event(piece({ index: 0, id: 'x', function: { name: 'f', arguments: '{' } })),
    event(piece({ index: 0, function: { arguments: '}' } }))]);
  assert.deepEqual(message.tool_calls, [{ id: 'x', type: 'function', function: { name: 'f', arguments: '{}' } }]);
});

test('a character that is cut between two pieces is whole again', () => {
  const bytes = Buffer.from('data: {"a":"é"}\n\n');
  const pieces = [{ at_ms: 1, bytes: bytes.subarray(0, 13) }, { at_ms: 2, bytes: bytes.subarray(13) }];
  assert.deepEqual(eventsOf({ pieces }), [{ at_ms: 2, data: '{"a":"é"}' }]);
});

// --- a played server: a token for each letter; it reuses what the test says -----------------

let port;
let reuse = 0;
const played = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = JSON.parse(Buffer.concat(chunks).toString());
  const text = body.messages?.map(({ content }) => content).join('|');
  if (request.url === '/apply-template') return response.end(JSON.stringify({ prompt: text }));
  if (request.url === '/tokenize') return response.end(JSON.stringify({ tokens: [...body.content].map((c) => c.codePointAt(0)) }));
  const timings = { cache_n: reuse, prompt_n: text.length - reuse, predicted_n: 2 };
  response.write(`data: ${JSON.stringify(delta({ content: 'o' }, [111]))}\n\n`);
  response.write(`data: ${JSON.stringify(delta({ content: 'k' }, [107]))}\n\n`);
  response.end(`data: ${JSON.stringify({ choices: [], timings })}\n\ndata: [DONE]\n\n`);
  return undefined;
});
before(() => new Promise((resolve) => { played.listen(0, '127.0.0.1', () => { port = played.address().port; resolve(); }); }));
after(() => played.close());

test('a talk is accounted request by request', async () => {
  const talker = new Talker({ name: 'played', port });
  const first = [{ role: 'user', content: 'a first question' }];
  const answer = await talker.chat(first);
  assert.equal(answer.content, 'ok');
  reuse = 10;
  await talker.chat([...first, answer, { role: 'user', content: 'more' }]);
  const [one, two] = talker.records;
  assert.deepEqual([one.prompt_tokens, one.oracle, one.cached, one.written], [16, 0, 0, 2]);
  // The prompt is known, the answer is not: a letter stands between them here.
  assert.deepEqual([two.prompt_tokens, two.oracle, two.cached], [24, 16, 10]);
  assert.ok(one.first_ms > 0 && talker.busy_ms > 0);
});

test('of prompts that come at once the first is read', async () => {
  reuse = 0;
  const talker = new Talker({ name: 'played', port });
  await talker.chatsAtOnce(['abcdefgh1', 'abcdefgh2'].map((content) => [{ role: 'user', content }]));
  assert.deepEqual(talker.records.map(({ oracle }) => oracle), [0, 8]);
});

test('after a restart only what follows is judged, with what the client did for it', async () => {
  const talker = new Talker({ name: 'played', port }, { restart: async (server) => ({ server, late_ms: 5000 }) });
  await talker.chat([{ role: 'user', content: 'a first question' }]);
  await talker.restart();
  await talker.chat([{ role: 'user', content: 'a first question' }]);
  assert.equal(talker.counted_from, 1);
  assert.ok(talker.records[0].first_ms < 5000 && talker.records[1].first_ms >= 5000);
});
