// An engine that is checked before it is believed: what a server does about faults that are planted
// under it (tests/faults), what it remembers, and what people are told.
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { eventually, pocketModel, run, startServer, temporaryFolder } from './server.mjs';
import { ask, messageOf, textOf, user } from './talk.mjs';

const faults = process.env.PLANTED_FAULTS ?? join(import.meta.dirname, '../../build/tests/libplanted_faults.so');
const small = ['--ctx-size', '4096'];

function withFault(fault, extra = {}) {
  return { HOLDFAST_CHECK_ENGINE: 'always', LD_PRELOAD: faults, HOLDFAST_PLANTED_FAULT: fault, ...extra };
}

async function withEngine(flags, env, body) {
  const server = await startServer([...small, ...flags], { env });
  try {
    await body(server, (await server.getJson('/props')).engine);
    await server.stop();
  } finally {
    server.child.kill('SIGKILL');
  }
}

async function runnableVariants() {
  const { stdout } = await run(['doctor', '--json', ...small]);
  return JSON.parse(stdout).engine.cpu_variants.filter(({ runs }) => runs);
}

const question = 'My cat is called Minka. What is my cat called?';

describe('a fault in the engine is found at the start, and what has it is given up', () => {
  for (const [fault, givenUp, setting] of [
    ['extra-buffers', /^without extra buffer types$/, { extra_buffers: false, slots_together: true, drafts: true }],
    ['variant', /^with the CPU variant \w+$/, { extra_buffers: true, slots_together: true, drafts: true }],
    ['three-slots', /^with slots decoded one by one$/, { slots_together: false, drafts: true }],
    ['rows', /^without drafts$/, { slots_together: true, drafts: false }],
  ]) {
    test(fault, async (t) => {
      if (fault === 'variant' && (await runnableVariants()).length < 2) return t.skip('there is one variant');
      await withEngine([], withFault(fault), async (server, engine) => {
        assert.match(engine.given_up, givenUp);
        for (const [name, value] of Object.entries(setting)) assert.equal(engine[name], value, name);
        assert.equal(engine.check.result, 'passed');
        assert.equal(engine.check.unchecked, 0);
        assert.ok(engine.fault.length > 10);
        const told = server.lines.filter((line) => line.includes('this engine answers wrongly here'));
        assert.equal(told.length, 1);
        assert.match(told[0], / warn /);
        assert.match(await (await server.fetch('/metrics')).text(), /^holdfast_engine_gave_up 1$/m);
        const asked = Array.from({ length: 6 }, () => ask(server.client(), question));
        for (const answer of await Promise.all(asked)) assert.match(textOf(answer), /Minka/);
      });
    });
  }

  test('where nothing helps nothing is served, and the reason is said', async () => {
    const { code, stderr } = await run(['serve', '--port', '0', '--threads', '1', ...small], { env: withFault('nan') });
    assert.equal(code, 1);
    assert.match(stderr, /does not compute what it should/);
    assert.match(stderr, /no number/);
    assert.match(stderr, /holdfast doctor/);
  });

  test('who turns the check off is believed', async () => {
    await withEngine([], withFault('extra-buffers', { HOLDFAST_CHECK_ENGINE: 'off' }), async (server, engine) => {
      assert.equal(engine.given_up, null);
      assert.equal(engine.check.result, 'off');
    });
  });
});

describe('a sound engine passes', () => {
  const once = (folder, extra = {}) => ({ HOLDFAST_CHECK_ENGINE: 'once', HOLDFAST_CACHE_DIR: folder, ...extra });
  const always = { HOLDFAST_CHECK_ENGINE: 'always' };

  test('as it is, and says so', async () => {
    await withEngine([], always, async (server, engine) => {
      assert.equal(engine.given_up, null);
      assert.equal(engine.check.result, 'passed');
      assert.ok(engine.check.kinds >= 29);
      assert.ok(server.log.includes('engine check: passed'));
      assert.match(await (await server.fetch('/metrics')).text(), /^holdfast_engine_gave_up 0$/m);
    });
  });

  test('with one slot, and deterministic, fewer kinds of batch are formed', async () => {
    for (const flags of [['--parallel', '1', '--spec', 'off'], ['--deterministic']]) {
      await withEngine(flags, always, (server, engine) => {
        assert.equal(engine.check.result, 'passed');
        assert.ok(engine.check.kinds < 12, `${engine.check.kinds}`);
      });
    }
  });

  test('once, and is remembered until something is different', async () => {
    const folder = temporaryFolder();
    // A start has little time for it; what is left is done while nobody asks.
    await withEngine([], once(folder), async (server) => {
      const unchecked = async () => (await server.getJson('/props')).engine.check.unchecked;
      await eventually(async () => (await unchecked()) === 0, 'a complete check');
    });
    assert.equal(readdirSync(join(folder, 'checks')).length, 1);
    await withEngine([], once(folder), (server, engine) => assert.equal(engine.check.result, 'passed before'));
    await withEngine(['--parallel', '3'], once(folder), (server, engine) => {
      assert.notEqual(engine.check.result, 'passed before');
    });
    const [known] = readdirSync(join(folder, 'checks'));
    for (const name of readdirSync(join(folder, 'checks'))) writeFileSync(join(folder, 'checks', name), '{"format":');
    await withEngine([], once(folder), (server, engine) => {
      assert.notEqual(engine.check.result, 'passed before', `a damaged ${known} is no check`);
    });
  });

  test('what was given up is remembered with it', async () => {
    const folder = temporaryFolder();
    const env = withFault('extra-buffers', once(folder));
    await withEngine([], env, (server, engine) => assert.match(engine.given_up, /buffer/));
    await withEngine([], env, (server, engine) => {
      assert.match(engine.given_up, /buffer/);
      assert.equal(engine.extra_buffers, false);
      assert.ok(!server.log.includes('trying again'), 'it begins where it held');
    });
  });

  test('a variant by name', async () => {
    const other = (await runnableVariants()).filter(({ distrust }) => distrust === null).at(-1).name;
    await withEngine(['--cpu-variant', other], always, (server, engine) => {
      assert.equal(engine.cpu_variant, other);
      assert.equal(engine.check.result, 'passed');
    });
    const { code, stderr } = await run(['serve', '--port', '0', '--cpu-variant', 'zen9'], { env: always });
    assert.equal(code, 1);
    assert.match(stderr, /no CPU variant 'zen9'/);
    assert.ok(stderr.includes(other), stderr);
  });
});

describe('holdfast doctor', () => {
  test('has a page for people', async () => {
    const { code, stdout, stderr } = await run(['doctor', '-m', pocketModel, ...small]);
    assert.equal(stderr, '');
    for (const part of ['Machine', 'Engine', 'Model', 'Check', 'Disk', 'CPU variant']) assert.ok(stdout.includes(part), part);
    assert.equal(code, 0);
    assert.match(stdout, /passed: \d+ of \d+ kinds of batch.*Nothing is wrong/s);
  });

  test('and one for programs, which the server goes by', async () => {
    const folder = temporaryFolder();
    const env = { HOLDFAST_CHECK_ENGINE: 'once', HOLDFAST_CACHE_DIR: folder };
    await withEngine([], env, () => {});
    const { stdout } = await run(['doctor', '--json', ...small, '--threads', '1'], { env });
    const page = JSON.parse(stdout);
    assert.equal(page.check.result, 'passed');
    assert.ok(page.check.kinds.every(({ verdict }) => verdict === 'passed'));
    assert.ok(page.disk.write_mb_s > 0);
    await withEngine([], env, (server, engine) => assert.equal(engine.check.result, 'passed before'));
  });

  test('says what is wrong, and exits with 1', async () => {
    const { code, stdout } = await run(['doctor', ...small, '-c', '32768'], { env: withFault('three-slots') });
    assert.equal(code, 1);
    assert.match(stdout, /Problems.*answers\s+wrongly\s+here.*slots\s+decoded\s+one\s+by\s+one/s);
    const refused = await run(['doctor', ...small], { env: withFault('nan') });
    assert.equal(refused.code, 1);
    assert.match(refused.stdout, /does not compute what it should/);
    const missing = await run(['doctor', '-m', '/no/such.gguf']);
    assert.equal(missing.code, 1);
    assert.match(missing.stdout, /no such file/);
  });
});

describe('--prove', () => {
  const words = ['one', 'two', 'three', 'four', 'five'];
  const system = (i) => ({ role: 'system', content: `You are assistant ${words[i]}. `.repeat(20) });

  async function talkByTurns(server, turns) {
    const talks = words.map((_, i) => [system(i)]);
    let asked = 0;
    for (let turn = 0; turn < turns; ++turn) {
      for (const talk of talks) {
        talk.push(user(`My number is ${turn}. What is my number?`));
        const answer = await ask(server.client(), talk, { max_tokens: 30, cache_receipt: true });
        talk.push(messageOf(answer));
        asked += 1;
        const disproved = /^holdfast_cache_disproved 1$/m.test(await (await server.fetch('/metrics')).text());
        if (disproved) return { asked, talks };
        // Proofs are made while nobody asks.
        if (asked % 10 === 0) await proofsMade(server);
      }
    }
    return { asked, talks };
  }
  async function proofs(server) {
    const text = await (await server.fetch('/metrics')).text();
    const count = (result) => Number(text.match(new RegExp(`holdfast_proofs_total{result="${result}"} (\\d+)`))[1]);
    return { equal: count('equal'), different: count('different') };
  }
  async function proofsMade(server) {
    const { equal, different } = await proofs(server);
    await eventually(async () => {
      const now = await proofs(server);
      return now.equal > equal || now.different > different;
    }, 'a proof');
  }

  test('finds nothing wrong where nothing is', async () => {
    await withEngine(['--prove', '1', '--parallel', '2'], {}, async (server) => {
      await talkByTurns(server, 4);
      const { equal, different } = await proofs(server);
      assert.ok(equal > 0);
      assert.equal(different, 0);
      const { data: receipts } = await server.getJson('/cache/receipts?limit=100');
      assert.ok(receipts.some(({ proof }) => proof === 'equal'));
    });
  });

  test('finds restores that go wrong after the start, and nothing is restored since', async () => {
    // The check would find it, too, if it went on while idle.
    const env = withFault('restores', { HOLDFAST_CHECK_ENGINE: 'off' });
    await withEngine(['--prove', '1', '--parallel', '2', '--spec', 'off'], env, async (server, engine) => {
      assert.equal(engine.given_up, null);
      const { asked, talks } = await talkByTurns(server, 20);
      assert.equal((await proofs(server)).different, 1, `${asked} requests`);
      await server.logged(/error.*a restored state is wrong/);
      const { data: receipts } = await server.getJson('/cache/receipts?limit=100');
      assert.ok(receipts.some(({ proof }) => proof !== null && proof !== 'equal'));
      for (const talk of talks) {
        talk.push(user('And what is two and two?'));
        const answer = await ask(server.client(), talk, { max_tokens: 10, cache_receipt: true });
        assert.ok(['nothing', 'live slot'].includes(answer.cache_receipt.restored_from));
      }
    });
  });
});
