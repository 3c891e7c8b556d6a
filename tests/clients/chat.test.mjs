// Conversations through OpenAI's SDK: answers, memory, streams, thoughts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { keepThoughts, useServer } from './server.mjs';
import {
  ask, cachedOf, converse, messageOf, reasonOf, stream, textOf, thinking, user,
} from './talk.mjs';
import { haystack } from './haystack.mjs';

const facts = [
  'My name is Alice.',
  'My dog is called Rex.',
  'The secret code of Lisbon is 48213.',
  'What is my name?',
  'What is my dog called?',
  'What is the secret code of Lisbon?',
];

function assertRemembers(completions) {
  const answers = completions.map(textOf);
  assert.match(answers[3], /Alice/);
  assert.match(answers[4], /Rex/);
  assert.match(answers[5], /48213/);
}

describe('one answer', () => {
  const on = useServer();

  test('has the shape of OpenAI and the right text', async () => {
    const completion = await ask(on.client, 'What is the capital of France?');
    assert.equal(completion.object, 'chat.completion');
    assert.match(completion.id, /^chatcmpl-/);
    assert.equal(completion.model, 'holdfast-pocket');
    assert.equal(completion.choices.length, 1);
    assert.equal(messageOf(completion).role, 'assistant');
    assert.equal(textOf(completion), 'The capital of France is Paris.');
    assert.equal(reasonOf(completion), 'stop');
  });

  test('counts its tokens as the tokenizer does', async () => {
    const messages = [user('What is the capital of France?')];
    const completion = await ask(on.client, messages);
    const { json: rendered } = await on.server.post('/apply-template', { messages, ...thinking(false) });
    const { json: prompt } = await on.server.post('/tokenize', { content: rendered.prompt });
    const { json: answer } = await on.server.post('/tokenize', { content: textOf(completion) });
    const { usage, timings } = completion;
    assert.equal(usage.prompt_tokens, prompt.tokens.length);
    assert.equal(usage.completion_tokens, answer.tokens.length + 1);  // and the end of turn
    assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
    assert.equal(timings.cache_n + timings.prompt_n, usage.prompt_tokens);
    assert.equal(timings.predicted_n, usage.completion_tokens);
  });

  test('content may come in parts, and a developer speaks as the system', async () => {
    const parts = [
      { role: 'developer', content: 'You are a helpful assistant.' },
      user([{ type: 'text', text: 'What is the capital ' }, { type: 'text', text: 'of Norway?' }]),
    ];
    assert.match(textOf(await ask(on.client, parts)), /Oslo/);
  });

  test('a final assistant message is continued', async () => {
    const begun = [user('Count from 1 to 10.'), { role: 'assistant', content: '1, 2, 3,' }];
    assert.equal(textOf(await ask(on.client, begun)), ' 4, 5, 6, 7, 8, 9, 10');
    const streamed = await stream(on.client, begun);
    assert.equal(streamed.choices[0].content, ' 4, 5, 6, 7, 8, 9, 10');
  });

  test('a final assistant message is left alone when the client says so', async () => {
    const begun = [user('Count from 1 to 10.'), { role: 'assistant', content: '1, 2, 3,' }];
    const fresh = await ask(on.client, begun, { continue_final_message: false });
    assert.match(textOf(fresh), /^1, 2, 3, 4/);
  });
});

describe('memory', () => {
  const on = useServer();

  for (const think of [false, true]) {
    test(`facts are remembered over turns, thinking ${think ? 'on' : 'off'}`, async () => {
      assertRemembers(await converse(on.client, facts, thinking(think)));
    });
  }

  test('a continued answer goes on from the live state', async () => {
    const begun = [user('Count from 1 to 10.'), { role: 'assistant', content: '1, 2, 3,' }];
    const first = await ask(on.client, begun, { max_tokens: 6, id_slot: 1 });
    begun[1].content += textOf(first);
    const second = await ask(on.client, begun, { id_slot: 1 });
    assert.equal(begun[1].content + textOf(second), '1, 2, 3, 4, 5, 6, 7, 8, 9, 10');
    assert.ok(cachedOf(second) >= first.usage.prompt_tokens, `${cachedOf(second)} tokens cached`);
  });
});

// The pocket model's own template drops the thoughts of earlier turns, so each
// of its prompts leaves the live state behind. With one that keeps them, a turn
// has only its own words to read.
describe('memory with a template that keeps thoughts', () => {
  const on = useServer(['--chat-template-file', keepThoughts]);

  for (const think of [false, true]) {
    test(`an appended turn reads only what is new, thinking ${think ? 'on' : 'off'}`, async () => {
      const completions = await converse(on.client, facts, thinking(think));
      assertRemembers(completions);
      for (const [before, after] of pairs(completions)) {
        assert.ok(cachedOf(after) >= before.usage.total_tokens - 1, 'all but the end of turn is kept');
        assert.equal(after.timings.cache_n, cachedOf(after));
      }
    });
  }

  test('cache_prompt off reads everything again, with the same answer', async () => {
    const before = await converse(on.client, facts);
    const again = await converse(on.client, facts, { cache_prompt: false });
    assert.deepEqual(again.map(cachedOf), facts.map(() => 0));
    assert.deepEqual(again.map(textOf), before.map(textOf));
  });

  test('8 of 8 needles in 8000 tokens', async () => {
    const { text, codes } = haystack({ seed: 1, sentences: 700 });
    const messages = [
      user(`Read this text carefully. I will ask you about it.\n\n${text}`),
      { role: 'assistant', content: 'I have read the text.' },
    ];
    for (const [city, code] of Object.entries(codes).reverse()) {
      messages.push(user(`What is the secret code of ${city}?`));
      const completion = await ask(on.client, messages);
      assert.match(textOf(completion), new RegExp(code), `the code of ${city}`);
      assert.ok(completion.usage.prompt_tokens > 8000);
      if (messages.length > 3) assert.ok(cachedOf(completion) > 8000, 'the text is read once');
      messages.push(messageOf(completion));
    }
  });
});

function pairs(list) {
  return list.slice(1).map((after, i) => [list[i], after]);
}

describe('a stream', () => {
  const on = useServer();
  const questions = ['What is the capital of France?', 'Count from 1 to 30.', 'Tell me a story about a fox.'];

  for (const think of [false, true]) {
    test(`says what the whole answer says, thinking ${think ? 'on' : 'off'}`, async () => {
      for (const question of questions) {
        const whole = await ask(on.client, question, thinking(think));
        const { choices } = await stream(on.client, question, thinking(think));
        assert.equal(choices[0].content, textOf(whole));
        assert.equal(choices[0].reasoning, messageOf(whole).reasoning_content ?? '');
        assert.equal(choices[0].finish, reasonOf(whole));
      }
    });
  }

  test('comes in pieces, the first of which has the role', async () => {
    const { chunks } = await stream(on.client, 'Count from 1 to 30.');
    // Tokens that gather while the server is busy go out together: few chunks, but never one alone.
    assert.ok(chunks.length > 3, `${chunks.length} chunks`);
    assert.equal(chunks[0].choices[0].delta.role, 'assistant');
    assert.ok(chunks.every((chunk) => chunk.id === chunks[0].id));
    assert.ok(chunks.every((chunk) => chunk.object === 'chat.completion.chunk'));
  });

  test('ends with usage when asked, and without otherwise', async () => {
    const asked = await stream(on.client, 'Hello!', { stream_options: { include_usage: true } });
    const whole = await ask(on.client, 'Hello!');
    assert.deepEqual(asked.chunks.at(-1).choices, []);
    assert.equal(asked.usage.completion_tokens, whole.usage.completion_tokens);
    assert.equal(asked.usage.prompt_tokens, whole.usage.prompt_tokens);
    assert.equal((await stream(on.client, 'Hello!')).usage, null);
  });

  test('shows the progress of a long prompt', async () => {
    const { text } = haystack({ seed: 2, sentences: 100 });
    const { chunks } = await stream(on.client, `${text}\nHello!`, { return_progress: true });
    const progress = chunks.map((chunk) => chunk.prompt_progress).filter(Boolean);
    const { total, processed } = progress.at(-1);
    assert.ok(progress.length >= 2, 'more than one report');
    assert.equal(processed, total);
    assert.ok(pairs(progress).every(([a, b]) => a.processed < b.processed), 'it grows');
  });

  test('can be read with the helper of the SDK', async () => {
    const words = [];
    const run = on.client.chat.completions
      .stream({ model: 'pocket', temperature: 0, ...thinking(false), messages: [user('Hello!')] })
      .on('content', (word) => words.push(word));
    assert.equal(await run.finalContent(), 'Hello! How can I help you today?');
    assert.equal(words.join(''), 'Hello! How can I help you today?');
  });
});

describe('thoughts', () => {
  const on = useServer();

  test('go to reasoning_content when they are on, which is the default', async () => {
    for (const extra of [thinking(true), { chat_template_kwargs: {} }]) {
      const message = messageOf(await ask(on.client, 'Hello!', extra));
      assert.equal(message.reasoning_content.trim(), 'The user greets me.');
      assert.equal(message.content, 'Hello! How can I help you today?');
    }
  });

  test('are absent when they are off, by template or by effort', async () => {
    for (const extra of [thinking(false), { chat_template_kwargs: {}, reasoning_effort: 'none' }]) {
      const message = messageOf(await ask(on.client, 'Hello!', extra));
      assert.equal(message.reasoning_content, undefined);
      assert.equal(message.content, 'Hello! How can I help you today?');
    }
  });

  test('stay in the text with reasoning_format none', async () => {
    const settings = { ...thinking(true), reasoning_format: 'none' };
    const message = messageOf(await ask(on.client, 'Hello!', settings));
    assert.equal(message.reasoning_content, undefined);
    assert.match(message.content, /<think>\nThe user greets me\.\n<\/think>\n\nHello!/);
  });

  test('can be begun by the client and are continued', async () => {
    const begun = [user('Hello!'), { role: 'assistant', content: '', reasoning_content: 'The user' }];
    const message = messageOf(await ask(on.client, begun, thinking(true)));
    assert.equal(message.reasoning_content.trim(), 'greets me.');
    assert.equal(message.content, 'Hello! How can I help you today?');
  });
});

describe('thoughts that the server switches off', () => {
  const on = useServer(['--reasoning', 'off']);

  test('come back when a request asks for them', async () => {
    const silent = messageOf(await ask(on.client, 'Hello!', { chat_template_kwargs: {} }));
    assert.equal(silent.reasoning_content, undefined);
    const asked = messageOf(await ask(on.client, 'Hello!', thinking(true)));
    assert.equal(asked.reasoning_content.trim(), 'The user greets me.');
  });
});
