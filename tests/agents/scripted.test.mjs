// Claude Code and Codex with a model that follows a script, behind the real server: a round trip
// through a tool that changes a file, two turns, a resume, new sessions, and a restart.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { agents } from './agents.mjs';
import { continueAndRestart, expectNoKnocks, goodTurn, sameSession } from './scenario.mjs';
import { Workplace } from './workplace.mjs';

const names = (process.env.AGENTS ?? 'claude,codex').split(',');

function scriptFor({ tool }) {
  const call = { name: tool.name, arguments: tool.arguments('echo Minka > cat.txt') };
  return {
    rules: [
      // Requests for a title repeat what the user said, and have no tools.
      { when: 'Write the name of my cat', with: `"name": "${tool.name}"`, calls: [call] },
      { when: '<tool_response>', say: 'It is written.' },
    ],
  };
}

describe('an agent whose model calls tools', () => {
  for (const name of names) {
    const agent = agents[name];
    test(name, async (context) => {
      const place = await Workplace.open(agent, { script: scriptFor(agent) });
      try {
        const log = (line) => context.diagnostic(line);
        const prompt = 'My cat is called Minka. Write the name of my cat into cat.txt.';
        const first = await goodTurn(place, 'first', prompt, { log });
        assert.equal(readFileSync(join(place.repository, 'cat.txt'), 'utf8'), 'Minka\n');
        assert.match(place.git('status', '--porcelain').toString(), /\?\? cat\.txt/);
        assert.match(first.stdout, /It is written\./);
        // The request that carries the tool's result back.
        const { receipt } = first.asked.find(({ requestText }) => requestText.includes(agent.tool.result));
        assert.ok(receipt.restored_tokens >= sameSession * receipt.prompt_tokens, first.summary);
        // An agent that writes `git status` into its system prompt begins to differ there when it is
        // started again: nothing that a server could help.
        if (agent.statusInPrompt) rmSync(join(place.repository, 'cat.txt'));
        await continueAndRestart(place, first, log);
        expectNoKnocks(place);
      } finally {
        await place.close();
      }
    });
  }
});
