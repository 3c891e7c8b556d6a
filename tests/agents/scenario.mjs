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
  const enough = turn.reuse >= least;
  assert.ok(enough, `${what}: ${turn.summary}, which is less than ${least * 100}%`);
}

// One turn that must go well. `least`: the share of the prompt that must be reused.
export async function goodTurn(place, kind, prompt, { session, least = 0, log = () => {} } = {}) {
  const turn = await place.turn(kind, prompt, session);
  assert.equal(turn.code, 0, `${turn.stdout}\n${turn.stderr}`);
  expectEndpoints(place, turn);
  log(`${place.agent.name}, ${kind} turn: ${turn.summary}`);
  expectReuse(turn, least, `${place.agent.name}, ${kind} turn`);
  return turn;
}

// The rest of a scenario after its first turn.
export async function continueAndRestart(place, first, log) {
  const session = place.agent.session(first.stdout, place.home);
  const same = { session, least: sameSession, log };
  await goodTurn(place, 'next', 'What is my cat called?', same);
  await goodTurn(place, 'resume', 'And what did I ask first?', same);
  await goodTurn(place, 'first', 'My dog is called Rex.', { least: newSession, log });
  await place.restartServer();
  await goodTurn(place, 'resume', 'Say it once more.', same);
  await goodTurn(place, 'first', 'My bird is called Pip.', { least: newSession, log });
}
