// The requests that the speed scenarios send, and the checks that each did all its work.
import { post, stream } from './client.mjs';
import { sum } from './stats.mjs';

const path = '/v1/completions';

function bodyFor(prompt, max_tokens) {
  return { prompt, max_tokens, temperature: 0, ignore_eos: true, cache_prompt: false };
}

// A number is only worth keeping when the work behind it was done.
function checkWork(server, timings, prompt, max_tokens) {
  const done = timings && timings.cache_n === 0 && timings.prompt_n === prompt.length &&
    timings.predicted_n === max_tokens;
  if (done) return;
  throw new Error(`${server.name} did not do the whole work: ${JSON.stringify(timings)} for a prompt of ` +
    `${prompt.length} and an answer of ${max_tokens} tokens`);
}

// One generation: {sent_ms, ended_ms, timings, token_ms}; token_ms is empty when not streamed.
export async function generate(server, prompt, max_tokens, streamed) {
  const body = bodyFor(prompt, max_tokens);
  if (streamed) {
    const answer = await stream(server, path, body);
    checkWork(server, answer.timings, prompt, max_tokens);
    return answer;
  }
  const { json, sent_ms, ended_ms } = await post(server, path, body);
  checkWork(server, json.timings, prompt, max_tokens);
  return { sent_ms, ended_ms, timings: json.timings, token_ms: [] };
}

export function generateAll(server, prompts, max_tokens, streamed) {
  return Promise.all(prompts.map((prompt) => generate(server, prompt, max_tokens, streamed)));
}

// A stream that goes on until `signal` hangs up.
export function endlessStream(server, prompt, max_tokens, { signal, onPiece }) {
  return stream(server, path, bodyFor(prompt, max_tokens), { signal, onPiece });
}

export function wall_s(answers) {
  const began = Math.min(...answers.map((answer) => answer.sent_ms));
  const ended = Math.max(...answers.map((answer) => answer.ended_ms));
  return (ended - began) / 1000;
}

// Tokens per second while all of them are being written: from the last one's first token to the
// first one's last. NaN where there was no such time.
export function togetherRate(answers) {
  const from = Math.max(...answers.map(({ token_ms }) => token_ms[0]));
  const to = Math.min(...answers.map(({ token_ms }) => token_ms.at(-1)));
  const written = answers.map(({ token_ms, timings }) => {
    const pieces = token_ms.filter((at) => at > from && at <= to).length;
    return (timings.predicted_n * pieces) / token_ms.length; // a piece may have several tokens
  });
  return to > from ? (1000 * sum(written)) / (to - from) : NaN;
}

// llama-server leaves the first token out of predicted_per_second (the prompt's
// evaluation made it), holdfast may not: so it is computed here, for both alike.
export function decodeRate(timings) {
  return (1000 * (timings.predicted_n - 1)) / timings.predicted_ms;
}
