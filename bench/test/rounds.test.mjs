import assert from 'node:assert/strict';
import { test } from 'node:test';

import { atMost, exactly, goesOn } from '../rounds.mjs';

// How many rounds of so many seconds there are.
function count(rounds, seconds) {
  let done = 0;
  while (goesOn(rounds, done, done * seconds)) ++done;
  return done;
}

test('what is cheap is repeated often, what is dear as often as it must be', () => {
  const rounds = { least: 2, most: 9, seconds: 25 };
  assert.equal(count(rounds, 1), 9);
  assert.equal(count(rounds, 6), 4);
  assert.equal(count(rounds, 100), 2);
  assert.equal(count(exactly(5), 100), 5);
  assert.equal(count(exactly(1), 0.1), 1);
});

test('a limit counts for both ends', () => {
  assert.deepEqual(atMost(1, { least: 2, most: 5, seconds: 60 }), { least: 1, most: 1, seconds: 60 });
  assert.deepEqual(atMost(Infinity, exactly(3)), exactly(3));
});
