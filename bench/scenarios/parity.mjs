// Greedy answers of both servers, compared token by token.
//
// The servers cut prompts differently. With flash attention off, f16 keys and
// values and Q8_0 weights the engine's results do not depend on the cut, so equal
// tokens are what correct servers must give.
import { post } from '../client.mjs';
import { parityPrompts } from './parity_prompts.mjs';

const answer_tokens = 96;
const fixed = { max_tokens: answer_tokens, temperature: 0, cache_prompt: false, ignore_eos: true };

// --- tokens of an answer -----------------------------------------------------

// OpenAI's notation for a token that is a part of a character: bytes:\xe2\x80
function bytesOfText(text) {
  if (!text.startsWith('bytes:\\x')) return Buffer.from(text);
  return Buffer.from(text.slice('bytes:'.length).replaceAll('\\x', ''), 'hex');
}

// [{id, bytes, logprob}]; ids only where the server names them.
function tokensOf(choice) {
  const { content, tokens, token_logprobs } = choice.logprobs;
  if (content) return content.map(({ id, bytes, logprob }) => ({ id, bytes: Buffer.from(bytes), logprob }));
  return tokens.map((text, i) => ({ bytes: bytesOfText(text), logprob: token_logprobs[i] }));
}

async function ask(server, prompt) {
  const { json } = await post(server, prompt.path, { ...prompt.body, ...fixed });
  const [choice] = json.choices;
  const { content, reasoning_content } = choice.message ?? {};
  return {
    tokens: tokensOf(choice),
    text: choice.message ? `${reasoning_content ?? ''}\n${content ?? ''}` : choice.text,
    prompt_tokens: json.usage.prompt_tokens,
  };
}

// --- comparison --------------------------------------------------------------

function sameToken(a, b) {
  if (!a || !b) return false;
  if (a.id !== undefined && b.id !== undefined) return a.id === b.id;
  return a.bytes.equals(b.bytes);
}

const shown = (token) => (token ? `${JSON.stringify(token.bytes.toString())} (${token.logprob.toFixed(4)})` : 'the end');

// The first difference in words, or null when the answers are equal.
function difference(ours, theirs) {
  if (ours.prompt_tokens !== theirs.prompt_tokens) {
    return `the prompt has ${ours.prompt_tokens} against ${theirs.prompt_tokens} tokens`;
  }
  const length = Math.max(ours.tokens.length, theirs.tokens.length);
  for (let i = 0; i < length; ++i) {
    if (sameToken(ours.tokens[i], theirs.tokens[i])) continue;
    return `token ${i}: ${shown(ours.tokens[i])} against ${shown(theirs.tokens[i])}`;
  }
  if (ours.text !== theirs.text) return `equal tokens, other text: ${firstTextDifference(ours.text, theirs.text)}`;
  return null;
}

function firstTextDifference(a, b) {
  let at = 0;
  while (a[at] === b[at]) ++at;
  const piece = (text) => JSON.stringify(text.slice(Math.max(0, at - 10), at + 20));
  return `${piece(a)} against ${piece(b)}`;
}

function logprobDistance(ours, theirs) {
  const both = Math.min(ours.tokens.length, theirs.tokens.length);
  let largest = 0;
  for (let i = 0; i < both && sameToken(ours.tokens[i], theirs.tokens[i]); ++i) {
    largest = Math.max(largest, Math.abs(ours.tokens[i].logprob - theirs.tokens[i].logprob));
  }
  return largest;
}

async function comparePrompt(servers, prompt) {
  const [ours, theirs] = [await ask(servers[0], prompt), await ask(servers[1], prompt)];
  return {
    name: prompt.name,
    prompt_tokens: ours.prompt_tokens,
    answer_tokens: ours.tokens.length,
    by: ours.tokens[0]?.id !== undefined && theirs.tokens[0]?.id !== undefined ? 'id' : 'bytes',
    difference: difference(ours, theirs),
    logprob_distance: logprobDistance(ours, theirs),
  };
}

export async function parity(bench, servers) {
  bench.say('parity: 20 prompts, token by token');
  const results = [];
  for (const prompt of await parityPrompts(bench.prompts)) results.push(await comparePrompt(servers, prompt));
  const equal = results.filter((result) => result.difference === null).length;
  const first = results.find((result) => result.difference !== null);
  bench.say(`parity: ${equal} of ${results.length} equal${first ? `; ${first.name}: ${first.difference}` : ''}`);
  return {
    name: 'parity',
    title: 'The same answers',
    text: `**${equal} of ${results.length}** greedy answers of ${answer_tokens} tokens are equal token for token, and ` +
      'in their text. Both servers with `-fa off`, f16 keys and values, one request at a time, `cache_prompt` false.',
    plainTables: [{
      head: ['prompt', 'prompt tokens', 'answer tokens', 'compared by', 'first difference', 'largest logprob distance'],
      rows: results.map((result) => [result.name, String(result.prompt_tokens), String(result.answer_tokens), result.by,
        result.difference ?? '-', result.logprob_distance.toExponential(1)]),
    }],
    data: { equal, of: results.length, results },
  };
}
