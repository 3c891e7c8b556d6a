// A prompt that takes ten minutes to read: neither Claude Code nor Codex gives up, although both
// end a stream that is silent for five. In real time, so this is not part of `make test`.
// IDLE_SECONDS makes it shorter.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { agents } from './agents.mjs';
import { goodTurn } from './scenario.mjs';
import { Workplace } from './workplace.mjs';

const names = ['claude', 'codex'].filter((name) => (process.env.AGENTS ?? name).includes(name));
const seconds = Number(process.env.IDLE_SECONDS ?? 600);
const longest_silence_ms = 15_000; // a sign of life every 5 s, on a busy machine
const answer = 'Here I am at last.';

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
      const place = await Workplace.open(agents[name], { script: { rules: [] } });
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
        assert.ok(asked.longestSilence_ms < longest_silence_ms, `${asked.longestSilence_ms} ms`);
      } finally {
        await place.close();
      }
    });
  }
});
