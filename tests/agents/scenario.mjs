// What every agent must get: two turns, a resume, a new session, and all of it again after the
// server was started again, each with most of its prompt reused.
import assert from 'node:assert/strict';

export const sameSession = 0.95;
export const newSession = 0.75;

function expectEndpoints(place, turn) {
  const { agent } = place;
  assert.ok(turn.asked.length > 0, `${agent.name} did not call ${agent.endpoint}\n${turn.stderr}`);
  for (const exchange of turn.exchanges) {
    const known = [agent.endpoint, ...agent.others].includes(exchange.endpoint);
    assert.ok(known, `${agent.name} called ${exchange.endpoint}, which nobody expected`);
  }
}

function expectReuse(turn, least, what) {
  if (turn.reuse >= least) return;
  const differences = turn.asked.map(({ receipt: { difference, missing } }) =>
    JSON.stringify({ difference, missing }, null, 2));
  assert.fail(
    `${what}: ${turn.summary}, which is less than ${least * 100}%. What was known and what was ` +
      `sent part here:\n${differences.join('\n')}`,
  );
}

// The pocket model does not always find an end, and Codex takes an answer that reached its limit for
// a failed turn. What was reused counts all the same.
const ranOn = ({ stdout }) => /Incomplete response returned, reason: max_output_tokens/.test(stdout);

// One turn that must go well. `least`: the share of the prompt that must be reused.
export async function goodTurn(place, kind, prompt, { session, least = 0, log = () => {} } = {}) {
  const turn = await place.turn(kind, prompt, session);
  assert.ok(turn.code === 0 || ranOn(turn), `exit ${turn.code}\n${turn.stdout}\n${turn.stderr}`);
  expectEndpoints(place, turn);
  log(`${place.agent.name}, ${kind} turn: ${turn.summary}`);
  expectReuse(turn, least, `${place.agent.name}, ${kind} turn`);
  return turn;
}

// The rest of a scenario after its first turn. Greetings, because the pocket model answers those
// and makes something up for most else.
export async function continueAndRestart(place, first, log) {
  const session = place.agent.session(first.stdout, place.home);
  const same = { session, least: sameSession, log };
  await goodTurn(place, 'next', 'How are you?', same);
  await goodTurn(place, 'resume', 'Thank you!', same);
  await goodTurn(place, 'first', 'Hello again!', { least: newSession, log });
  await place.restartServer();
  await goodTurn(place, 'resume', 'Good bye!', same);
  await goodTurn(place, 'first', 'Good morning!', { least: newSession, log });
}

// Nothing was sent elsewhere, or wanted to be, but for what an agent tries whatever it is told.
export function expectNoKnocks({ agent, trap }) {
  const unknown = trap.hosts.filter((host) => !agent.stillTries?.test(host));
  assert.deepEqual(unknown, [], `${agent.name} wanted to reach others`);
}
