// Mutated bodies of Anthropic's, OpenAI's newer and Ollama's endpoints, through a running server: each is
// answered, and what is refused is refused in the client's own shape. MUTATIONS says how many
// bodies of each endpoint (100,000 take some minutes), MUTATION_SEED which ones.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { scriptedServer } from '../agents/workplace.mjs';
import { startServer, temporaryFolder } from './server.mjs';

const count = Number(process.env.MUTATIONS ?? 200);
const seed = Number(process.env.MUTATION_SEED ?? 1);
const atOnce = 8;

const corpora = fileURLToPath(new URL('../../fuzz/corpus', import.meta.url));
const corpusOf = (name) =>
  readdirSync(join(corpora, name)).sort().map((file) => readFileSync(join(corpora, name, file), 'latin1'));

// Small, and the same everywhere.
function randomFrom(start) {
  let state = start >>> 0;
  return (end) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) % end;
  };
}

const words = ['null', 'true', '0', '-1', '0.5', '1e308', '18446744073709551616', '""', '"a"', '[]', '{}',
  '[{}]', '[null]', '{"a":0}', '"\\u0000"', '"auto"', '"text"', '"assistant"', '"tool_result"', '"message"'];
const scraps = ['{', '}', '[', ']', ',', ':', '"', '\\', '\\u', '\xff', '\xe2\x82', '[[[[[[[[', '{"":'];

const mutators = [
  (text, below) => {
    const at = below(text.length);
    return text.slice(0, at) + String.fromCharCode(below(256)) + text.slice(at + 1);
  },
  (text, below) => {
    const at = below(text.length);
    return text.slice(0, at) + text.slice(at + 1 + below(16));
  },
  (text, below) => {
    const at = below(text.length);
    return text.slice(0, at) + scraps[below(scraps.length)] + text.slice(at);
  },
  (text, below, corpus) => {
    const other = corpus[below(corpus.length)];
    return text.slice(0, below(text.length)) + other.slice(below(other.length));
  },
];

// Replaces the value after one of the colons, if it is a plain one; the text often stays JSON.
function replaceValue(text, below) {
  const colon = text.indexOf(':', below(text.length));
  if (colon < 0) return text;
  const rest = text.slice(colon + 1);
  const value = rest.match(/^\s*("(\\.|[^"\\])*"|[^\s,[\]{}"]+|\[\]|\{\})/);
  if (!value) return text;
  return text.slice(0, colon + 1) + words[below(words.length)] + rest.slice(value[0].length);
}

function mutated(corpus, number) {
  const below = randomFrom(seed * 1_000_003 + number);
  let text = corpus[number % corpus.length];
  for (let n = 1 + below(3); n > 0 && text.length > 0; --n) {
    const mutate = below(5) ? replaceValue : mutators[below(mutators.length)];
    text = mutate(text, below, corpus);
  }
  return Buffer.from(text, 'latin1');
}

const openaiTypes = ['invalid_request_error', 'exceed_context_size_error', 'not_found_error', 'server_error'];
const shapes = {
  anthropic({ type, error, request_id }) {
    assert.equal(type, 'error');
    assert.match(error.type, /_error$|^request_too_large$/);
    assert.ok(error.message.length > 0);
    assert.match(request_id, /^req_/);
  },
  openai({ error }) {
    assert.ok(openaiTypes.includes(error.type), error.type);
    assert.ok(error.message.length > 0);
    assert.ok('param' in error && 'code' in error);
  },
  ollama({ error }) {
    assert.ok(typeof error === 'string' && error.length > 0);
  },
};

// A script does not know about schemas and forced calls. Where a grammar does not allow its first
// word, it ends the answer; and the answer goes on to its limit, because no grammar may be left
// unfinished.
const script = { rules: [{ say: 'x '.repeat(2000) }] };
const offScript = /The grammar cannot go on/;

const endpoints = [
  ['/v1/messages', 'messages_request', shapes.anthropic],
  ['/v1/messages/count_tokens', 'messages_request', shapes.anthropic],
  ['/v1/responses', 'responses_request', shapes.openai],
  ['/v1/responses/input_tokens', 'responses_request', shapes.openai],
  ['/api/chat', 'ollama_request', shapes.ollama],
  ['/api/generate', 'ollama_request', shapes.ollama],
];

describe(`${count} mutated bodies, seed ${seed}`, () => {
  const on = {};
  before(async () => {
    const path = join(temporaryFolder(), 'script.json');
    writeFileSync(path, JSON.stringify(script));
    const flags = ['--script', path, '-c', '1k', '--predict', '8'];
    on.server = await startServer(flags, { program: scriptedServer });
  });
  after(() => on.server?.stop());

  for (const [path, corpusName, checkShape] of endpoints) {
    test(`POST ${path}`, { timeout: 3_600_000 }, async (context) => {
      const corpus = corpusOf(corpusName);
      const seen = { accepted: 0, refused: 0, offScript: 0 };
      const ask = async (number) => {
        const body = mutated(corpus, number);
        const answer = await on.server.fetch(path, { method: 'POST', body });
        const text = await answer.text();
        try {
          if (answer.status === 200) {
            seen.accepted += 1;
          } else if (answer.status === 500 && offScript.test(text)) {
            seen.offScript += 1;
          } else {
            seen.refused += 1;
            assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status}: ${text}`);
            checkShape(JSON.parse(text));
          }
        } catch (error) {
          throw new Error(`body ${number}, seed ${seed}: ${body.toString('latin1')}`, { cause: error });
        }
      };
      let next = 0;
      const worker = async () => {
        while (next < count) await ask(next++);
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      context.diagnostic(`${path}: ${JSON.stringify(seen)}`);
      assert.ok(seen.accepted > 0 && seen.refused > 0, JSON.stringify(seen));
      await on.server.assertAlive();
    });
  }
});
