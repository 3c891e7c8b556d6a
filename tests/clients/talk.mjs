// How the tests ask, and how they read what comes back.
import assert from 'node:assert/strict';

export const user = (content) => ({ role: 'user', content });
export const thinking = (on) => ({ chat_template_kwargs: { enable_thinking: on } });

// The likeliest answer, at once and without thoughts, and never without an end.
export const brief = { model: 'pocket', temperature: 0, max_tokens: 400, ...thinking(false) };

// `question` is a text, or the messages themselves.
export function ask(client, question, extra = {}) {
  const messages = typeof question === 'string' ? [user(question)] : question;
  return client.chat.completions.create({ ...brief, messages, ...extra });
}

export const messageOf = (completion) => completion.choices[0].message;
export const textOf = (completion) => messageOf(completion).content;
export const reasonOf = (completion) => completion.choices[0].finish_reason;
export const cachedOf = (completion) => completion.usage.prompt_tokens_details.cached_tokens;

// Says each line in turn, with everything said before; the completions.
export async function converse(client, lines, extra = {}) {
  const messages = [];
  const completions = [];
  for (const line of lines) {
    messages.push(user(line));
    const completion = await ask(client, messages, extra);
    messages.push(messageOf(completion));
    completions.push(completion);
  }
  return completions;
}

function addToolDelta(calls, delta) {
  const call = (calls[delta.index] ??= { function: { name: '', arguments: '' } });
  if (delta.id) call.id = delta.id;
  if (delta.type) call.type = delta.type;
  call.function.name += delta.function.name ?? '';
  call.function.arguments += delta.function.arguments ?? '';
}

function addChatDelta(choice, delta) {
  choice.content += delta.content ?? '';
  choice.reasoning += delta.reasoning_content ?? '';
  for (const call of delta.tool_calls ?? []) addToolDelta(choice.toolCalls, call);
}

// Joins the chunks of a stream, chat or text, choice by choice.
export async function collect(stream) {
  const joined = { chunks: [], choices: [], usage: null };
  for await (const chunk of stream) {
    joined.chunks.push(chunk);
    if (chunk.usage) joined.usage = chunk.usage;
    for (const piece of chunk.choices) {
      const choice = (joined.choices[piece.index] ??= {
        content: '', reasoning: '', toolCalls: [], logprobs: [], finish: null,
      });
      assert.equal(choice.finish, null, 'nothing follows the finish reason');
      addChatDelta(choice, piece.delta ?? { content: piece.text });
      choice.logprobs.push(...(piece.logprobs?.content ?? []));
      choice.finish = piece.finish_reason;
    }
  }
  return joined;
}

export async function stream(client, question, extra = {}) {
  return collect(await ask(client, question, { ...extra, stream: true }));
}

// Nothing ends this answer before the context is full.
export const endless = { ignore_eos: true, max_tokens: -1 };

// Starts an endless answer and waits for its first piece. It ends with the test
// `t` if not before.
export async function startEndless(t, client, extra = {}) {
  const request = { ...brief, ...endless, messages: [user('Count from 1 to 99.')], ...extra };
  const answer = await client.chat.completions.create({ ...request, stream: true });
  const stop = () => answer.controller.abort();
  t.after(stop);
  const pieces = answer[Symbol.asyncIterator]();
  assert.equal((await pieces.next()).done, false);
  return { stop, rest: { [Symbol.asyncIterator]: () => pieces } };
}
