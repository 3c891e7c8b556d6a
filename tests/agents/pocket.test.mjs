// Every agent with the pocket model: two turns, a resume, new sessions and a restart. The model is
// too simple to use a tool; what agents do with tools is in scripted.test.mjs.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { agents } from './agents.mjs';
import { continueAndRestart, expectNoKnocks, goodTurn } from './scenario.mjs';
import { Workplace } from './workplace.mjs';

const names = process.env.AGENTS?.split(',') ?? Object.keys(agents);

// Answers end somewhere, whatever the model thinks of the prompt.
const flags = ['--temp', '0', '--predict', '200'];

describe('an agent with the pocket model', () => {
  for (const name of names) {
    test(name, async (context) => {
      const place = await Workplace.open(agents[name], { flags });
      try {
        const log = (line) => context.diagnostic(line);
        const first = await goodTurn(place, 'first', 'Hello!', { log });
        assert.equal(first.asked.at(-1).receipt.complete, true);
        await continueAndRestart(place, first, log);
        expectNoKnocks(place);
      } finally {
        await place.close();
      }
    });
  }
});
