// Answers are read ahead while nobody waits, so that the next turn reads the new message alone,
// whatever its client and its template leave out of an answer; and it is answered as ever.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { eventually, withServer } from './server.mjs';
import { cachedOf, messageOf, textOf, thinking, user } from './talk.mjs';

const lines = ['My cat is called Minka. What is my cat called?', 'Count to 5, and then tell me her name again.', 'Count to 7.'];
const slow = { model: 'pocket', temperature: 0, max_tokens: 300, logprobs: true, top_logprobs: 3, cache_receipt: true, ...thinking(true) };

const withoutThoughts = ({ role, content }) => ({ role, content });
const whole = ({ role, content, reasoning_content }) => ({ role, content, reasoning_content });

async function metric(server, name) {
  const text = await (await server.fetch('/metrics')).text();
  const line = text.split('\n').find((one) => one.startsWith(name + ' '));
  return Number(line.split(' ').at(-1));
}
const handled = async (server) =>
  (await metric(server, 'holdfast_prewarm_answers_total{result="read"}')) +
  (await metric(server, 'holdfast_prewarm_answers_total{result="needless"}'));

// Says each line, and waits between turns until the answer has been read ahead.
async function talk(server, send, { waits = true } = {}) {
  const messages = [];
  const turns = [];
  for (const [i, line] of lines.entries()) {
    messages.push(user(line));
    const turn = await server.client().chat.completions.create({ ...slow, messages });
    turns.push(turn);
    messages.push(send(messageOf(turn)));
    if (waits) await eventually(async () => (await handled(server)) > i, 'reading ahead');
  }
  return { turns, messages };
}

const receiptOf = (turn) => turn.cache_receipt;

describe('answers that are read ahead', { concurrency: 2 }, () => {
  for (const mode of [[], ['--exact', 'prompt'], ['--exact', 'all']]) {
    test(`thoughts are not sent back ${mode}`, () => withServer(['--prewarm', 'on', ...mode], async (server) => {
      const { turns } = await talk(server, withoutThoughts);
      for (const turn of turns.slice(1)) {
        assert.ok(receiptOf(turn).prewarmed_tokens > 0, JSON.stringify(receiptOf(turn)));
        assert.ok(receiptOf(turn).recomputed_tokens < 40, `${receiptOf(turn).recomputed_tokens} tokens were read`);
        assert.equal(cachedOf(turn) + receiptOf(turn).recomputed_tokens, turn.usage.prompt_tokens);
      }
      assert.ok((await metric(server, 'holdfast_prewarm_used_tokens_total')) > 0);
    }));
  }

  test('without it each turn reads the answer before it, too', async () => {
    const read = {};
    for (const prewarm of ['on', 'off']) {
      await withServer(['--prewarm', prewarm], async (server) => {
        const { turns } = await talk(server, withoutThoughts, { waits: prewarm === 'on' });
        read[prewarm] = turns.slice(1).reduce((sum, turn) => sum + receiptOf(turn).recomputed_tokens, 0);
        assert.equal(turns.some((turn) => receiptOf(turn).prewarmed_tokens > 0), prewarm === 'on');
      });
    }
    assert.ok(read.off >= read.on + 8, `${read.off} tokens without, ${read.on} with`);
  });

  for (const [what, send] of [['thoughts left out', withoutThoughts], ['thoughts sent back', whole]]) {
    for (const exact of ['prompt', 'all']) test(`exact ${exact}, ${what}: the bits of a server that knows nothing`, () =>
      withServer(['--prewarm', 'on', '--exact', exact], (ahead) =>
        withServer(['--prewarm', 'off', '--exact', exact, '--cache-ram', '0'], async (cold) => {
          assert.equal((await ahead.getJson('/cache')).exact, exact);
          const { turns, messages } = await talk(ahead, send);
          for (const [i, turn] of turns.entries()) {
            const again = await cold.client().chat.completions.create(
              { ...slow, messages: messages.slice(0, 2 * i + 1), cache_prompt: false });
            assert.equal(receiptOf(turn).exact, exact);
            const first = ({ choices: [{ logprobs }] }) => logprobs.content[0];
            assert.deepEqual(first(again), first(turn));
            if (exact === 'prompt') continue;
            assert.equal(textOf(again), textOf(turn));
            assert.deepEqual(again.choices[0].logprobs, turn.choices[0].logprobs);
          }
        })));
  }
});
