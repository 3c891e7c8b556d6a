// A prompt that takes long to read, and agents that would give up a silent stream: neither Claude
// Code nor Codex does, and neither asks again. `make test` lowers the agents' own limits and takes
// half a minute; with AGENT_SLOW=600 the limits are the agents' own, which are minutes, and the
// prompt takes ten of them.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { agents } from './agents.mjs';
import { goodTurn } from './scenario.mjs';
import { Workplace } from './workplace.mjs';

const names = ['claude', 'codex'].filter((name) => (process.env.AGENTS ?? name).includes(name));
const slow = Number(process.env.AGENT_SLOW ?? 0);
const seconds = slow || 15;
const limit_ms = 12_000; // of a silence, where it is lowered
// A sign of life every 5 s, in Messages later every 50 s; on a busy machine.
const longest_silence_ms = slow ? { claude: 65_000, codex: 15_000 } : { claude: limit_ms, codex: limit_ms };
const answer = 'Here I am at last.';

// What ends a silent stream, lowered: for Claude Code its watch on bytes, because the one on events
// takes nothing below five minutes. Apart from both it ends every request after API_TIMEOUT_MS,
// silent or not; agents.mjs sets that as `holdfast launch` does.
const withLowLimit = {
  claude: (agent) => ({
    ...agent,
    environment: (url) => ({
      ...agent.environment(url),
      CLAUDE_ENABLE_BYTE_WATCHDOG: '1',
      CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS: `${limit_ms}`,
    }),
  }),
  codex: (agent) => ({
    ...agent,
    first: (prompt) => [
      ...agent.first(prompt), '-c', `model_providers.holdfast.stream_idle_timeout_ms=${limit_ms}`,
    ],
  }),
};

// The same server, with nothing in its cache and a model as slow as this.
async function slowDown(place, us_per_token) {
  const script = { read_us_per_token: us_per_token, rules: [{ say: answer }] };
  await place.server.stop();
  rmSync(join(place.folder, 'cache'), { recursive: true });
  writeFileSync(join(place.folder, 'script.json'), JSON.stringify(script));
  await place.startServer();
}

describe(`a prompt of ${seconds} seconds`, { concurrency: true }, () => {
  for (const name of names) {
    test(name, async (context) => {
      const agent = slow ? agents[name] : withLowLimit[name](agents[name]);
      const place = await Workplace.open(agent, { script: { rules: [] } });
      try {
        const quick = await goodTurn(place, 'first', 'Are you there?');
        const { prompt_tokens } = quick.asked[0].receipt;
        await slowDown(place, Math.ceil((seconds * 1e6) / prompt_tokens));
        const began = performance.now();
        const turn = await goodTurn(place, 'first', 'Are you there?');
        const taken = (performance.now() - began) / 1000;
        const [asked] = turn.asked;
        context.diagnostic(
          `${name}: ${asked.receipt.prompt_tokens} tokens in ${taken.toFixed(1)} s, ` +
            `${asked.arrivals_ms.length} pieces, longest silence ${Math.round(asked.longestSilence_ms)} ms`,
        );
        assert.ok(taken >= seconds, `${taken} s`);
        assert.equal(turn.asked.length, 1, 'it asked again');
        assert.ok(asked.complete);
        assert.match(turn.stdout, new RegExp(answer));
        assert.ok(asked.longestSilence_ms < longest_silence_ms[name], `${asked.longestSilence_ms} ms`);
      } finally {
        await place.close();
      }
    });
  }
});
