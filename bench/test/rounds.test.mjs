import assert from 'node:assert/strict';
import { test } from 'node:test';

import { atMost, exactly, goesOn, interleave } from '../rounds.mjs';

// How many rounds there are, each `seconds` long.
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

// Servers that compute nothing and write down what happens to them.
function twoServers(events) {
  return ['a', 'b'].map((name) => ({ name, pid: process.pid, again: async () => events.push(`${name} again`), answer: async () => {} }));
}

const measureInto = (events) => async (server, input) => {
  events.push(`${server.name} ${input}`);
  return { value: input };
};

test('servers are started for each round, and take turns', async () => {
  const events = [];
  const samples = await interleave(twoServers(events), exactly(2), (round) => round, measureInto(events));
  assert.deepEqual(events, ['a again', 'b again', 'a 0', 'b 0', 'b again', 'a again', 'b 1', 'a 1']);
  assert.deepEqual(samples.values('a', 'value'), [0, 1]);
  assert.equal(samples.sitting, 1);
});

test('servers that learn have a rehearsal, which is not counted', async () => {
  const events = [];
  const samples = await interleave(twoServers(events), exactly(3), (round) => round, measureInto(events), { sitting: 2, rehearsed: true });
  assert.equal(events.filter((event) => event === 'a again').length, 2);
  assert.equal(events.filter((event) => event.startsWith('a ') && event !== 'a again').length, 5);
  assert.deepEqual(samples.values('b', 'value'), [0, 1, 2]);
  assert.equal(samples.sitting, 2);
});
