// How long one reader waits for the next token while another's long prompt is read.
import { endlessStream, generate } from '../requests.mjs';
import { interleave } from '../rounds.mjs';
import { percentile } from '../stats.mjs';

function gapsBetween(token_ms, from_ms, to_ms) {
  const gaps = [];
  for (let i = 1; i < token_ms.length; ++i) {
    if (token_ms[i] > from_ms && token_ms[i - 1] < to_ms) gaps.push(token_ms[i] - token_ms[i - 1]);
  }
  return gaps;
}

// A stream being read: `count(n)` resolves when n pieces of it have come.
function startReader(server, { short, answer_tokens_max }, signal) {
  let pieces = 0;
  const waiting = [];
  const wake = () => waiting.filter(({ wanted }) => pieces >= wanted).forEach(({ resolve }) => resolve());
  const onPiece = (count) => {
    pieces = count;
    wake();
  };
  const answer = endlessStream(server, short, answer_tokens_max, { signal, onPiece });
  const tooEarly = answer.then(() => { throw new Error(`${server.name}: the stream ended too early`); });
  tooEarly.catch(() => {});
  const count = (wanted) => Promise.race([tooEarly, new Promise((resolve) => {
    waiting.push({ wanted, resolve });
    wake();
  })]);
  return { answer, count, pieces: () => pieces };
}

async function measure(server, input) {
  const hangUp = new AbortController();
  const reader = startReader(server, input, hangUp.signal);
  await reader.count(input.tokens_before);
  const other = await generate(server, input.long, 1, false);
  await reader.count(reader.pieces() + 1); // the last gap is complete with the token after it
  hangUp.abort();
  const { token_ms } = await reader.answer;
  const quiet = gapsBetween(token_ms, token_ms[0], other.sent_ms);
  const gaps = gapsBetween(token_ms, other.sent_ms, other.ended_ms);
  return {
    longest_ms: Math.max(...gaps),
    p95_ms: percentile(gaps, 0.95),
    quiet_p95_ms: percentile(quiet, 0.95),
    tokens_meanwhile: gaps.length,
    other_ms: other.ended_ms - other.sent_ms,
  };
}

// `tokens_before` are written before the long prompt arrives, the quiet baseline; answer_tokens_max
// are more than are written until it has been read. Needs a context of either.
export async function interference(bench, servers, { long_prompt_tokens, tokens_before = 400, answer_tokens_max = 24_000, model = '' }) {
  bench.say(`interference: a stream beside a prompt of ${long_prompt_tokens} tokens${model && `, ${model}`}`);
  const samples = await interleave(servers, bench.rounds, async () => ({
    short: await bench.prompts.tokens(64), long: await bench.prompts.tokens(long_prompt_tokens), tokens_before, answer_tokens_max,
  }), measure);
  const [size, on] = [`${long_prompt_tokens / 1000}K`, model && `, ${model}`];
  const row = (label, metric) => ({ label, samples, metric });
  return {
    name: `interference ${size}${on}`,
    title: `One stream while another's prompt of ${size} is read${on}`,
    text: `One client reads a stream; after ${tokens_before} tokens a second one sends a fresh prompt of ` +
      `${long_prompt_tokens} tokens. Gaps between the first client's tokens, from sending that prompt to its answer.`,
    tables: [
      { unit: 'ms', better: 'lower', topic: 'no reuse', claim: true, rows: [
        row('longest gap', 'longest_ms'), row('95th percentile of the gaps', 'p95_ms'),
        row('95th percentile before the prompt came', 'quiet_p95_ms'),
        row('the long prompt\'s own answer', 'other_ms')] },
      { unit: 'tokens', better: 'higher', topic: 'no reuse', claim: false, rows: [row('tokens the first client got meanwhile', 'tokens_meanwhile')] },
    ],
  };
}
