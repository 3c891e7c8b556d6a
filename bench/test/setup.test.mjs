import assert from 'node:assert/strict';
import { test } from 'node:test';

import { groupOf } from '../groups.mjs';
import { modelFolder } from '../models.mjs';
import { exactly } from '../rounds.mjs';
import { groups, wishesFrom } from '../setup.mjs';
import { sizedWorkloads, workloads } from '../workloads.mjs';

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
  const names = [...workloads, ...sizedWorkloads].map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
});

test('models lie outside the repository', () => {
  assert.equal(modelFolder({ XDG_CACHE_HOME: '/somewhere' }), '/somewhere/holdfast/models');
});
