// Drafts: the same answers with and without them, whatever drafts, and what is said of
// them. The other files ask servers with drafts too: that is the default.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { pocketModel, run, useServer } from './server.mjs';
import { ask, cachedOf, converse, messageOf, stream, textOf, thinking, user } from './talk.mjs';

const questions = [
  'Tell me a story about a fox.', 'Count from 1 to 30.', 'What is the capital of France?',
  'Spell the word elephant.', 'Repeat: the cat sat on the mat, the cat sat on the mat.', 'Define the word boat.',
];
const none = { spec: 'off' };
const tool = { type: 'function', function: { name: 'get_weather', description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } } };

// What a client asks for beside a question, and what of the answer must not change.
const features = {
  'greedy': {},
  'with thoughts': thinking(true),
  'sampled with a seed': { temperature: 1, seed: 11 },
  'with penalties': { repeat_penalty: 1.3, presence_penalty: 0.5 },
  'with a grammar': { grammar: 'root ::= ("yes" | "no" | "maybe") (" " ("yes" | "no" | "maybe")){5,20}' },
  'as JSON': { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object',
    properties: { name: { type: 'string' }, ages: { type: 'array', items: { type: 'integer' }, maxItems: 3 } },
    required: ['name', 'ages'], additionalProperties: false } } }, max_tokens: 120 },
  'with tools': { tools: [tool] },
  'until a stop string': { stop: ['the', '12'] },
  'with logprobs': { logprobs: true, top_logprobs: 3, max_tokens: 40 },
  'three choices': { n: 3, temperature: 0.9, seed: 5, max_tokens: 60 },
};

// Logprobs of a batch of four rows and of one differ in their last digits.
function rounded(value) {
  return JSON.parse(JSON.stringify(value, (key, item) => {
    if (key === 'id') return undefined; // of a tool call
    return typeof item === 'number' && !Number.isInteger(item) ? Number(item.toFixed(3)) : item;
  }));
}

for (const [name, flags] of Object.entries({
  mtp: ['--spec', 'mtp'],
  ngram: ['--spec', 'ngram'],
  draft: ['--spec', 'draft', '--draft-model', pocketModel],
})) {
  describe(`--spec ${name}`, () => {
    const on = useServer([...flags, '--parallel', '4', '--no-draft-adaptive']);

    for (const [feature, extra] of Object.entries(features)) {
      test(`${feature}: the answers are those without drafts`, async () => {
        for (const question of questions) {
          const plain = await ask(on.client, question, { ...extra, ...none });
          const drafted = await ask(on.client, question, extra);
          assert.deepEqual(rounded(drafted.choices), rounded(plain.choices));
          assert.ok(!plain.timings.draft_n);
        }
      });
    }

    test('four at once say the same as one after the other', async () => {
      const alone = [];
      for (const question of questions) alone.push(textOf(await ask(on.client, question, none)));
      const together = await Promise.all(questions.map((question) => ask(on.client, question)));
      assert.deepEqual(together.map(textOf), alone);
    });

    test('a stream is the whole answer', async () => {
      const whole = textOf(await ask(on.client, questions[0]));
      const { choices } = await stream(on.client, questions[0]);
      assert.equal(choices[0].content, whole);
    });

    test('a conversation reuses as much as without', async () => {
      const lines = ['My cat is called Minka.', 'I am 30 years old.', 'What is my cat called?'];
      const cached = async (salt, extra) =>
        (await converse(on.client, lines, { cache_salt: salt, ...extra })).map(cachedOf);
      assert.deepEqual(await cached('with', {}), await cached('without', none));
    });

    test('is named in receipts and metrics', async () => {
      const answer = await ask(on.client, questions[0], { cache_receipt: true });
      assert.equal(answer.cache_receipt.companion.name, name);
      const metrics = await (await on.server.fetch('/metrics')).text();
      assert.match(metrics, new RegExp(`^holdfast_drafted_tokens_total\\{companion="${name}"\\} \\d+$`, 'm'));
    });
  });
}

describe('what is said of drafts', () => {
  const on = useServer(['--temp', '0', '--no-draft-adaptive']); // the pocket model has a head: --spec auto uses it

  test('timings, receipt and metrics agree', async () => {
    const answer = await ask(on.client, questions[1], { cache_receipt: true });
    const { draft_n, draft_n_accepted } = answer.timings;
    assert.ok(draft_n > 0 && draft_n_accepted > 0 && draft_n_accepted <= draft_n);
    const { companion } = answer.cache_receipt;
    assert.equal(companion.drafted, draft_n);
    assert.equal(companion.accepted, draft_n_accepted);
    const accepted = companion.by_place.reduce((sum, place) => sum + place.accepted, 0);
    assert.equal(accepted, draft_n_accepted);
    const metrics = await (await on.server.fetch('/metrics')).text();
    const total = Number(/^holdfast_draft_accepted_tokens_total\{.*\} (\d+)$/m.exec(metrics)[1]);
    assert.ok(total >= draft_n_accepted);
  });

  test('holdfast explain shows them', async () => {
    await ask(on.client, questions[1]);
    const explained = await run(['explain', '--url', on.server.url]);
    assert.match(explained.stdout, /^Drafts by mtp: \d+ of \d+ tokens accepted \(.*%\)\.$/m);
  });

  test('draft_max bounds them', async () => {
    const answer = await ask(on.client, questions[1], { draft_max: 1, cache_receipt: true });
    assert.equal(answer.cache_receipt.companion.by_place.length, 1);
    const off = await ask(on.client, questions[1], { 'speculative.n_max': 0 });
    assert.ok(!off.timings.draft_n);
    assert.deepEqual(messageOf(off), messageOf(answer));
  });

  for (const [field, value, expected] of [
    ['draft_max', -1, /draft_max/], ['draft_p_min', 2, /draft_p_min/], ['spec', 'ngram', /'auto', 'off' or 'mtp'/],
    ['speculative.type', 5, /speculative\.type/],
  ]) {
    test(`${field} ${JSON.stringify(value)} is a BadRequestError`, async () => {
      await assert.rejects(ask(on.client, [user('Hello!')], { [field]: value }), (error) => {
        assert.equal(error.status, 400);
        assert.equal(error.param, field);
        assert.match(error.message, expected);
        return true;
      });
    });
  }
});

describe('what cannot be', () => {
  for (const [flags, expected] of [
    [['--spec', 'draft'], /--spec draft needs a draft model: name its file with --draft-model/],
    [['--draft-model', '/nowhere.gguf'], /The draft model: .*nowhere\.gguf/],
    [['--spec', 'eagle'], /--spec needs one of auto, mtp, draft, ngram, off/],
  ]) {
    test(`${flags.join(' ')} says what to do`, async () => {
      const { code, stdout, stderr } = await run(['serve', '--port', '0', ...flags]);
      assert.ok(code === 1 || code === 2, `${code}`);
      assert.match(stdout + stderr, expected);
    });
  }
});
