import assert from 'node:assert/strict';
import { test } from 'node:test';

import { groupOf } from '../groups.mjs';
import { modelFolder } from '../models.mjs';
import { exactly } from '../rounds.mjs';
import { groups, wishesFrom } from '../setup.mjs';
import { realWorkloads, sizedWorkloads, workloads } from '../workloads.mjs';

test('a whole run is one that nobody cut', () => {
  assert.ok(wishesFrom({}).whole);
  for (const name of ['QUICK', 'WORKLOADS']) assert.ok(!wishesFrom({ [name]: '1' }).whole);
  assert.ok(!wishesFrom({ VARIANTS: 'plain' }).whole);
  assert.ok(!wishesFrom({ SCENARIOS: 'speed,parity' }).whole);
  assert.deepEqual([...wishesFrom({ QUICK: '1' }).variants], ['plain', 'tight']);
  assert.deepEqual([...wishesFrom({}).variants], ['plain', 'tight', 'mtp']);
  assert.deepEqual(wishesFrom({ ROUNDS: '9' }).rounds.workloads.tight, exactly(9));
});

test('an unknown scenario is named, with those there are', () => {
  assert.throws(() => wishesFrom({ SCENARIOS: 'speed,reuse' }), /names 'reuse'; choose from parity,/);
  assert.throws(() => wishesFrom({ VARIANTS: 'loose' }), /names 'loose'/);
});

test('every group has its function, and every workload a name of its own', () => {
  assert.deepEqual(Object.keys(groupOf).sort(), [...groups].sort());
  const names = [...workloads, ...sizedWorkloads, ...realWorkloads].map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
});

// Tokens of the random models are letters; a message of the template has some 30 more.
test('conversations on models of real sizes fit their context', async () => {
  for (const { name, run, context, model, restarts } of realWorkloads) {
    let [longest, restarted] = [0, false];
    const chat = async (messages) => {
      longest = Math.max(longest, messages.reduce((sum, { content }) => sum + content.length + 30, 0));
      return { role: 'assistant', content: 'x' };
    };
    await run({ textShare: 1, chat, restart: async () => { restarted = true; } });
    assert.ok(longest > 300 && longest + 64 < context, `${name}: ${longest} of ${context}`);
    assert.equal(restarted, Boolean(restarts));
    assert.ok(name.endsWith(model));
  }
});

test('a quick run has some of them', () => {
  assert.ok(wishesFrom({ QUICK: '1' }).wanted.has('real'));
  const short = realWorkloads.filter(({ long }) => !long);
  assert.ok(short.length > 0 && short.length < realWorkloads.length);
});

test('models lie outside the repository', () => {
  assert.equal(modelFolder({ XDG_CACHE_HOME: '/somewhere' }), '/somewhere/holdfast/models');
});
