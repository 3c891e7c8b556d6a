// A server that ends and comes back: by a signal, by kill -9 at any moment, with other
// settings. Each answer is that of a server which has seen nothing, and what was written is
// not read again.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, before, describe, test } from 'node:test';

import { holdfast, run, temporaryFolder, useServer } from './server.mjs';
import {
  assertIntact, blobsIn, coldTurns, conversation, copyOf, interrupt, killRest, newFolder, say, serverOn, written,
} from './states.mjs';
import { ask, messageOf, startEndless, user } from './talk.mjs';

// --- told to stop --------------------------------------------------------------------------

// A conversation of three turns; before the last one `pause` gives another server.
async function threeTurns(first, pause, { lines }) {
  let server = first;
  const messages = [];
  const turns = [];
  for (const [i, line] of lines.slice(0, 3).entries()) {
    if (i === 2) server = await pause(server);
    messages.push(user(line));
    const answer = await ask(server.client(), messages, { cache_receipt: true, logprobs: true, max_tokens: 40 });
    messages.push(messageOf(answer));
    turns.push({ receipt: answer.cache_receipt, logprobs: answer.choices[0].logprobs.content });
  }
  await interrupt(server);
  return turns;
}

// The last of three turns, without a restart before it and with one.
async function lastTurns(flags, talk) {
  const without = await threeTurns(await serverOn('off', ...flags), (server) => server, talk);
  const folder = newFolder();
  const withOne = await threeTurns(await serverOn(folder, ...flags), async (server) => {
    await interrupt(server);
    return serverOn(folder, ...flags);
  }, talk);
  await assertIntact(folder);
  return [without.at(-1), withOne.at(-1)];
}

describe('after a stop the conversation goes on where it was', () => {
  afterEach(killRest);
  for (const mode of [[], ['--exact', 'prompt'], ['--deterministic', '--spec', 'mtp']]) {
    test(`with the MTP head, ${mode[0] ?? 'as by default'}`, async () => {
      const [without, withOne] = await lastTurns(['--parallel', '1', ...mode], conversation(1, 60));
      assert.equal(withOne.receipt.restored_from, 'disk');
      assert.equal(withOne.receipt.restored_tokens, without.receipt.restored_tokens);
      assert.equal(withOne.receipt.companion.held_tokens, withOne.receipt.restored_tokens);
      assert.ok(withOne.receipt.bytes_fetched > 0);
      assert.ok(withOne.receipt.fetch_ms > 0);
      assert.deepEqual(withOne.logprobs, without.logprobs);
    });
  }

  // Their answers are noise, so only those of a deterministic server can be compared.
  const genmodel = join(dirname(holdfast), 'holdfast-genmodel');
  for (const shape of ['tiny-250k', 'tiny-attention', 'tiny-mamba2', 'tiny-swa']) {
    test(`a model of the shape ${shape}`, { skip: !existsSync(genmodel) && 'there is no holdfast-genmodel' }, async () => {
      const model = join(temporaryFolder(), 'model.gguf');
      const made = await run(['--shape', shape, '--out', model], { program: genmodel });
      assert.equal(made.code, 0, made.stderr);
      const flags = ['-m', model, '--parallel', '1', '-c', '8192', '--deterministic'];
      const [without, withOne] = await lastTurns(flags, conversation(2, 20));
      assert.equal(withOne.receipt.restored_from, 'disk');
      assert.equal(withOne.receipt.restored_tokens, without.receipt.restored_tokens);
      assert.deepEqual(withOne.logprobs, without.logprobs);
    });
  }
});

// --- one folder, read by others --------------------------------------------------------------

async function tokensOf(server, messages) {
  const kwargs = { chat_template_kwargs: { enable_thinking: false } };
  const { json: { prompt } } = await server.post('/apply-template', { messages, ...kwargs });
  const { json } = await server.post('/tokenize', { content: prompt, add_special: true, parse_special: true });
  return json.tokens;
}

describe('what a server has left', () => {
  afterEach(killRest);
  const cold = useServer([]);
  const talk = conversation(3, 90);
  const left = newFolder();
  let turns;
  before(async () => {
    turns = await coldTurns(cold.server, talk);
    const server = await serverOn(left);
    for (const turn of turns.slice(0, 2)) await say(server, turn);
    await interrupt(server);
  });

  // A server on a copy; its receipt for the third turn.
  async function thirdTurn(...flags) {
    const server = await serverOn(copyOf(left), ...flags);
    const receipt = await say(server, turns[2]);
    await interrupt(server);
    return receipt;
  }

  for (const flags of [[], ['--parallel', '4'], ['--ctx-size', '4096'], ['--spec', 'off']]) {
    test(`is used with ${flags.join(' ') || 'the same settings'}`, async () => {
      const { restored_from, restored_tokens, prompt_tokens } = await thirdTurn(...flags);
      assert.equal(restored_from, 'disk');
      assert.ok(restored_tokens > prompt_tokens - 40, `${restored_tokens} of ${prompt_tokens}`);
    });
  }

  for (const flags of [['-ctk', 'q8_0', '-ctv', 'q8_0'], ['--ubatch-size', '256']]) {
    test(`is not used with ${flags.join(' ')}`, async () => {
      const { restored_tokens, bytes_fetched } = await thirdTurn(...flags);
      assert.equal(restored_tokens, 0);
      assert.equal(bytes_fetched, 0);
    });
  }

  test('is named by the log, by receipts and by cache ls where it is not used', async () => {
    const folder = copyOf(left);
    const server = await serverOn(folder, '--grid-step', '512');
    const maker = 'a server with other settings (--grid-step 256, here 512)';
    assert.match(server.log, /cache on disk: .*, of it 0 B usable here/);
    assert.ok(server.log.includes(`of it was made by ${maker} and is not used`), server.log);
    // Nobody is told of a conversation that is not theirs.
    assert.equal((await say(server, turns[2], { cache_salt: 'pepper' })).missing, null);
    const { matched_tokens, missing, advice } = await say(server, turns[2]);
    assert.equal(matched_tokens, 0);
    assert.deepEqual([missing.why, missing.made_by], ['foreign', maker]);
    assert.match(advice, /started with --grid-step 256/);
    await interrupt(server);
    const { stdout } = await run(['cache', 'ls', '--cache-dir', folder]);
    assert.match(stdout, /\n  grid=256\n/);
    assert.match(stdout, /\n  grid=512\n/);
    assert.match(stdout, /\n  grid=512, a tenant's\n/);
  });

  test('is used up to the nearest snapshot by a prompt that parts from it', async () => {
    const words = talk.lines[0].split(' ');
    words[Math.floor(0.7 * words.length)] += 'ward';
    const parted = [user(words.join(' '))];
    const [turn] = await coldTurns(cold.server, { lines: [parted[0].content] });
    const server = await serverOn(copyOf(left));
    const [sent, known] = [await tokensOf(server, parted), await tokensOf(server, turns[0].messages)];
    const common = sent.findIndex((token, i) => token !== known[i]);
    const { restored_from, restored_tokens } = await say(server, turn);
    assert.equal(restored_from, 'disk');
    assert.ok(restored_tokens > common / 2 && restored_tokens <= common, `${restored_tokens} of ${common}`);
    await interrupt(server);
  });

  test('is kept when nothing more is asked', async () => {
    const folder = copyOf(left);
    const names = () => blobsIn(folder).map(({ path }) => path).sort();
    const there = names();
    await interrupt(await serverOn(folder));
    assert.deepEqual(names(), there);
  });
});

// --- kill -9 -------------------------------------------------------------------------------

// Streams a turn; `onEvent` is told of each event. Never fails: the server may be killed.
async function streamUntilKilled(server, { messages, answer }, onEvent) {
  let text = '';
  try {
    const extra = { stream: true, return_progress: true };
    for await (const chunk of await ask(server.client(), messages, extra)) {
      text += chunk.choices[0]?.delta?.content ?? '';
      const finish = chunk.choices[0]?.finish_reason;
      if (finish) assert.equal(text, answer);
      onEvent({ progress: chunk.prompt_progress, text, finish });
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
  }
  return text;
}

describe('kill -9', () => {
  afterEach(killRest);
  const cold = useServer([]);
  const talk = conversation(4, 60);
  let turns;
  before(async () => {
    turns = await coldTurns(cold.server, talk);
  });

  // Kills a server by `ending`; then the next one has at least the tokens of the turns that
  // were written before.
  async function surviving(ending, count) {
    const folder = newFolder();
    const server = await serverOn(folder);
    let least = 0;
    for (const turn of turns.slice(0, count)) least = (await say(server, turn)).prompt_tokens;
    await written(server);
    await ending(server, folder);
    await server.exited();
    await assertIntact(folder);
    const next = await serverOn(folder);
    const receipt = await say(next, turns[count + 1]);
    assert.ok(receipt.restored_tokens >= least - 4, `${receipt.restored_tokens} of ${least}`);
    await interrupt(next);
    await assertIntact(folder);
    return receipt;
  }

  test('while it writes an answer', () => surviving(async (server) => {
    await startEndless({ after() {} }, server.client(), { messages: turns[1].messages });
    await server.writing(1);
    server.signal('SIGKILL');
  }, 1));

  test('while it reads a prompt', () => surviving((server) =>
    streamUntilKilled(server, turns[0], ({ progress }) => {
      if (progress?.processed >= 256) server.signal('SIGKILL');
    }), 0));

  test('while states are being written', async () => {
    const { restored_tokens } = await surviving(async (server, folder) => {
      await say(server, turns[0]);
      while (blobsIn(folder).length === 0) await new Promise(setImmediate);
      server.signal('SIGKILL');
    }, 0);
    console.log(`    ${restored_tokens} tokens survived`);
  });

  test('right after an answer', () => surviving(async (server) => {
    await say(server, turns[1]);
    server.signal('SIGKILL');
  }, 1));

  // HOLDFAST_KILLS=300 HOLDFAST_SEED=5 HOLDFAST_TEST_TIMEOUT_MS=1200000 for a long run.
  test('at any moment, again and again', async () => {
    const kills = Number(process.env.HOLDFAST_KILLS || 12);
    const seed = Number(process.env.HOLDFAST_SEED || 1);
    console.log(`    ${kills} kills, seed ${seed}`);
    const random = numbersFrom(seed);
    const known = [];
    for (const one of [5, 6, 7]) known.push(await coldTurns(cold.server, conversation(one, 30), 3));
    const folder = newFolder();
    const seen = { events: 0, answers: 0, restored: 0 };
    for (let life = 0; life < kills; ++life) {
      await liveAndDie(folder, known.flat(), random, seen);
      await assertIntact(folder);
    }
    console.log(`    ${seen.answers} answers, ${seen.events} events, ${seen.restored} tokens from disk, ` +
      `${blobsIn(folder).length} blobs`);
    assert.ok(seen.restored > 0);
  });

  // Two clients ask until a certain event; then the server is killed.
  async function liveAndDie(folder, turnsKnown, random, seen) {
    const server = await serverOn(folder);
    let left = 1 + random(random(2) ? 20 : 120);
    const onEvent = ({ finish }) => {
      ++seen.events;
      if (finish) ++seen.answers;
      if (--left === 0) server.signal('SIGKILL');
    };
    const client = async () => {
      while (left > 0) await streamUntilKilled(server, turnsKnown[random(turnsKnown.length)], onEvent);
    };
    const first = await say(server, turnsKnown[random(turnsKnown.length)]);
    if (first.restored_from === 'disk') seen.restored += first.restored_tokens;
    await Promise.all([client(), client()]);
    await server.exited();
  }
});

// The generator of bench/prompts.mjs: whole numbers below a limit.
function numbersFrom(seed) {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) % limit;
  };
}
