// The workloads of the bench: how chat programs and agents use a server. Each is a function
// of a client (talker.mjs) that sends chats and keeps what it was told; most are those of
// the reuse test. All texts come from seeds.
//
//   slots      how many the servers have; 4 unless said
//   long       left out of a quick run
//   model      a shape of holdfast-genmodel instead of the pocket model
//   restarts   stops the server in between; the servers get a folder for their states
//   context    tokens that one conversation needs, where 16384 are too few
//   rounds     the most of them
//   flags      more of them for a contestant, by its kind
//   chance     what is known when a request comes is a matter of chance, or of time where memory is scarce
import * as client from '../tests/clients/workloads.mjs';
import { assistant, cities, Conversation, prose, question, system, think, user, weather } from '../tests/clients/workloads.mjs';

// --- long contexts -----------------------------------------------------------------

// A document and a question; then another question on the same document.
const secondQuery = (tokens, seed) => async (talker) => {
  const opening = system('A long document', 60, seed);
  const document = prose(tokens * talker.textShare, seed + 1);
  for (const i of [0, 1]) await talker.chat([opening, user(`${document}\n\n${question(i)}`)], think(false));
};

// --- one conversation ----------------------------------------------------------------

async function fiftyTurns(talker) {
  const talk = new Conversation(talker, [system('Fifty turns', 400, 301)]);
  for (let turn = 0; turn < 50; ++turn) await talk.say(`${prose(40, 302 + turn)}\n${question(turn)}`);
}

// An answer is asked for again, then the question is edited, twice.
async function editAndRegenerate(talker) {
  const talk = new Conversation(talker, [system('Edit and regenerate', 1500, 401)]);
  await talk.say(`${prose(200, 402)}\n${question(0)}`);
  const opening = [...talk.messages];
  const ask = (text) => talker.chat([...opening, user(text)], think(false));
  const first = `${prose(200, 403)}\n${question(1)}`;
  await ask(first);
  await ask(first);
  await ask(first);
  await ask(`${prose(200, 403)}\n${question(2)}`);
  await ask(`${prose(120, 404)}\n${question(3)}`);
  await ask(`${prose(120, 404)}\n${question(4)}`);
}

// Calls and results grow the history, as a coding agent's do. The calls are the client's
// own, so that the loop is as long with every model.
async function agentLoop(talker) {
  const messages = [system('An agent with tools', 2000, 501), user('What is the weather in each of the cities?')];
  for (let step = 0; step < 12; ++step) {
    await talker.chat(messages, { ...think(false), tools: [weather] });
    const call = { name: 'get_weather', arguments: JSON.stringify({ city: cities[step % cities.length] }) };
    messages.push({ role: 'assistant', content: '', tool_calls: [{ id: `call_${step}`, type: 'function', function: call }] });
    messages.push({ role: 'tool', tool_call_id: `call_${step}`, content: prose(200, 502 + step) });
  }
  messages.push(user('Thank you. Which one is warmest?'));
  await talker.chat(messages, { ...think(false), tools: [weather] });
}

async function restartInTheMiddle(talker) {
  const talk = new Conversation(talker, [system('A restart', 3000, 601)]);
  for (let turn = 0; turn < 3; ++turn) await talk.say(`${prose(100, 602 + turn)}\n${question(turn)}`);
  await talker.restart();
  for (let turn = 3; turn < 5; ++turn) await talk.say(`${prose(100, 602 + turn)}\n${question(turn)}`);
}

// --- several at a time ------------------------------------------------------------------

// All go on at the same time, each as soon as it has its answer.
async function sixteenConversations(talker) {
  const talk = async (i) => {
    const one = new Conversation(talker, [system(`Number ${i} of sixteen, ${cities[i % 8]}`, 800, 701 + i)]);
    for (let turn = 0; turn < 3; ++turn) await one.say(`${prose(60, 721 + 16 * turn + i)}\n${question(turn)}`);
  };
  await Promise.all(Array.from({ length: 16 }, (_, i) => talk(i)));
}

// A conversation whose answers the client itself writes, for models that cannot. It goes
// back once, as one does who edits the last question.
async function scriptedTurns(talker) {
  const messages = [system('Scripted turns', 200, 801)];
  for (let turn = 0; turn < 4; ++turn) {
    messages.push(user(`${prose(20, 802 + turn)}\n${question(turn)}`));
    await talker.chat(messages, { ...think(false), max_tokens: 8 });
    messages.push(assistant(prose(10, 812 + turn)));
  }
  await talker.chat([...messages.slice(0, -2), user(question(5))], { ...think(false), max_tokens: 8 });
}

export const workloads = [
  { name: 'second query on 8K', run: secondQuery(8000, 201) },
  { name: 'second query on 32K', run: secondQuery(31_000, 211), long: true, context: 36_864, rounds: 1 },
  { name: 'five-turn chat', run: client.fiveTurns },
  { name: 'fifty-turn chat', run: fiftyTurns },
  { name: 'agent loop with tool calls', run: agentLoop },
  { name: 'pruned tool results', run: client.prunedTools },
  { name: 'thinking, stripped by the client', run: client.thinkingThatIsDropped },
  { name: 'edit and regenerate', run: editAndRegenerate },
  { name: 'branch and return', run: client.branches },
  { name: 'subagents, one after the other', run: client.subagents },
  { name: 'subagents, 8 at once', run: client.eightAtOnce, chance: true },
  { name: '6 conversations on 1 slot', chance: true, run: client.sixConversations, slots: 1 },
  { name: '16 conversations on 4 slots', run: sixteenConversations, chance: true },
  { name: 'restart in the middle', run: restartInTheMiddle, slots: 1, restarts: true },
  { name: 'cancelled and retried', run: client.giveUpAndRetry, chance: true },
  { name: 'identical request', run: client.repetition },
  { name: 'prefix of a longer prompt', run: client.cutBack },
  { name: 'edit in the middle of a long message', run: client.editInTheMiddle, long: true, rounds: 1 },
];

// On random models of other sizes and kinds, whose tokens are letters, 3.3 for each of the
// pocket model's. The large ones are slow, so their texts are short.
const onShape = (model, more = {}) => ({ name: `conversation, ${model}`, run: scriptedTurns, model, slots: 1, context: 4096, ...more });

export const sizedWorkloads = [
  onShape('qwen35-0.8b'),
  onShape('qwen35-2b', { rounds: 1, long: true }),
  onShape('attention-1b', { rounds: 1 }),
  onShape('swa-1b'),
  { name: 'second query on 128K', run: secondQuery(40_000, 221), model: 'tiny-250k', slots: 1, context: 140_000, rounds: 1, long: true },
];

// --- real sizes --------------------------------------------------------------------------
//
// Models whose state is as large as a real one's (state-9b: 50 MiB a snapshot, 32 KiB a token) and
// whose weights are few, so that two cores show in minutes what a cache has to carry. Their tokens
// are letters too, and the client writes the answers.

const in_letters = 3.3;

// A conversation whose answers the client itself writes.
class Script {
  constructor(talker, messages, seed) {
    Object.assign(this, { talker, messages: [...messages], seed });
  }

  async ask(text) {
    this.messages.push(user(text));
    await this.talker.chat(this.messages, { ...think(false), max_tokens: 8 });
    this.messages.push(assistant(prose(10, this.seed++)));
  }
}

async function realTurns(talker) {
  const talk = new Script(talker, [system('Five turns', 250, 911)], 912);
  for (let turn = 0; turn < 5; ++turn) await talk.ask(`${prose(25, 921 + turn)}\n${question(turn)}`);
}

// The second question is edited; then both branches go on in turn.
async function realBranches(talker) {
  const first = new Script(talker, [system('Branches', 200, 931)], 932);
  await first.ask(`${prose(60, 941)}\n${question(0)}`);
  const opening = [...first.messages];
  await first.ask(`${prose(60, 942)}\n${question(1)}`);
  const second = new Script(talker, opening, 952);
  await second.ask(`${prose(60, 943)}\n${question(1)}`);
  await first.ask(question(2));
  await second.ask(question(3));
}

async function realSix(talker) {
  const talks = Array.from({ length: 6 }, (_, i) => new Script(talker, [system(`${cities[i]}, one of six`, 90, 961 + i)], 971 + 10 * i));
  for (let turn = 0; turn < 3; ++turn) {
    for (const talk of talks) await talk.ask(`${prose(12, 1041 + turn)}\n${question(turn)}`);
  }
}

async function realRestart(talker) {
  const talk = new Script(talker, [system('A restart', 300, 981)], 982);
  for (let turn = 0; turn < 2; ++turn) await talk.ask(`${prose(25, 991 + turn)}\n${question(turn)}`);
  await talker.restart();
  for (let turn = 2; turn < 4; ++turn) await talk.ask(`${prose(25, 991 + turn)}\n${question(turn)}`);
}

const real = (name, run, more = {}) => ({ name: `${name}, ${more.model ?? 'state-9b'}`, run, model: 'state-9b', slots: 1, context: 4096, ...more });

// What the conversation of realRestart takes on disk is about 300 MiB.
const too_small_MiB = 128;

export const realWorkloads = [
  real('second query on 3K', secondQuery(2800 / in_letters, 901)),
  real('five-turn chat', realTurns),
  real('branch and return', realBranches, { long: true }),
  real('6 conversations on 1 slot', realSix, { long: true, chance: true, rounds: 1 }),
  real('restart in the middle', realRestart, { restarts: true }),
  real(`restart, ${too_small_MiB} MiB of disk`, realRestart, { long: true, restarts: true, flags: { holdfast: ['--cache-disk', too_small_MiB] } }),
];
