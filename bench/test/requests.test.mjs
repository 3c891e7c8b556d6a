import assert from 'node:assert/strict';
import { test } from 'node:test';

import { togetherRate } from '../requests.mjs';

const answer = (token_ms, predicted_n = token_ms.length) => ({ token_ms, timings: { predicted_n } });

test('what is written together is counted while all are at it, and nothing else', () => {
  // From 10 to 40 ms: three of the first's tokens, three of the second's.
  assert.equal(togetherRate([answer([0, 10, 20, 30, 40]), answer([10, 20, 30, 40, 50, 60])]), 200);
  // A piece has two tokens.
  assert.equal(togetherRate([answer([0, 10, 20, 30, 40], 10), answer([10, 20, 30, 40, 50, 60], 12)]), 400);
});

test('answers that came one after the other were not written together', () => {
  assert.ok(Number.isNaN(togetherRate([answer([0, 10]), answer([20, 30])])));
});
