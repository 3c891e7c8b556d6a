// How clients use a server that remembers: the workloads of the reuse test and of
// the reuse bench. Each is a function of a CountingClient (reuse.mjs).
//
// Every text comes from a seed, and every workload opens with a system prompt of
// its own, so that workloads share no more than the opening of the template.
import { haystack } from './haystack.mjs';

export const user = (content) => ({ role: 'user', content });
export const assistant = (content) => ({ role: 'assistant', content });
export const think = (on) => ({ chat_template_kwargs: { enable_thinking: on } });
export const system = (name, tokens, seed) => ({ role: 'system', content: `${name}. ${prose(tokens, seed)}` });

// About `tokens` tokens of the pocket model's, 11.4 in a sentence.
export function prose(tokens, seed) {
  const { text } = haystack({ seed, sentences: Math.ceil(tokens / 11.4) });
  return text.split('\n').filter((line) => !line.includes('secret code')).join('\n');
}

// What the pocket model has an answer to.
export const cities = ['Lisbon', 'Oslo', 'Kyoto', 'Cairo', 'Boston', 'Prague', 'Nairobi', 'Dublin'];
export const question = (i) => `What is the secret code of ${cities[i % cities.length]}?`;

// Short thoughts, and answers that end by themselves.
const facts = ['My name is Alice.', 'My dog is called Rex.', 'What is my name?', 'What is my dog called?'];

// A conversation whose client sends `kept` of each answer back.
export class Conversation {
  messages;

  constructor(client, opening, { extra = think(false), kept = ({ content }) => assistant(content ?? '') } = {}) {
    this.client = client;
    this.messages = [...opening];
    this.extra = extra;
    this.kept = kept;
  }

  async say(text) {
    this.messages.push(user(text));
    this.messages.push(this.kept(await this.client.chat(this.messages, this.extra)));
  }
}

// --- one conversation --------------------------------------------------------

async function threeShortMessages(client) {
  const talk = new Conversation(client, []);
  for (const text of ['Good morning!', 'My name is Alice.', 'What is my name?']) await talk.say(text);
}

export async function fiveTurns(client) {
  const talk = new Conversation(client, [system('Five turns', 1200, 11)]);
  for (let turn = 0; turn < 5; ++turn) await talk.say(`${prose(100, 20 + turn)}\n${question(turn)}`);
}

// The pocket model's own template shows the thoughts of the last turn alone.
export async function thinkingThatIsDropped(client) {
  const extra = { ...think(true), max_tokens: 96 };
  const talk = new Conversation(client, [system('Thoughts that go', 900, 31)], { extra });
  for (const text of facts) await talk.say(text);
}

async function thinkingThatStays(client) {
  const kept = ({ content, reasoning_content }) => ({ ...assistant(content ?? ''), reasoning_content });
  const extra = { ...think(true), max_tokens: 96 };
  const talk = new Conversation(client, [system('Thoughts that stay', 900, 32)], { extra, kept });
  for (const text of facts) await talk.say(text);
}

// The second message is edited; then both branches go on in turn.
export async function branches(client) {
  const first = new Conversation(client, [system('Branches', 600, 41)]);
  await first.say(`${prose(150, 42)}\n${question(0)}`);
  const opening = [...first.messages];
  await first.say(`${prose(150, 43)}\n${question(1)}`);
  await first.say(question(2));
  const second = new Conversation(client, opening);
  await second.say(`${prose(150, 44)}\n${question(1)}`);
  await first.say(question(3));
  await second.say(question(4));
  await first.say(question(5));
}

// A long conversation comes from elsewhere; then its end is cut off, here and there.
export async function cutBack(client) {
  const messages = [system('Cut back', 300, 51)];
  for (let turn = 0; turn < 8; ++turn) {
    messages.push(user(`${prose(250, 52 + turn)}\n${question(turn)}`), assistant(prose(100, 62 + turn)));
  }
  messages.push(user(question(0)));
  const upToTurn = (turn) => messages.slice(0, 2 * turn);  // ends with that turn's question
  for (const turn of [9, 6, 3, 7]) await client.chat(upToTurn(turn), think(false));
}

export async function repetition(client) {
  const messages = [system('The same again', 1500, 71), user(question(0))];
  for (let time = 0; time < 4; ++time) await client.chat(messages, think(false));
}

// --- long texts --------------------------------------------------------------

// The question follows the document in one message, as retrieval clients write it.
async function questionsOnDocument(client) {
  const opening = system('A document', 60, 81);
  const document = prose(15_000 * client.textShare, 82);
  for (let i = 0; i < 8; ++i) {
    await client.chat([opening, user(`${document}\n\n${question(i)}`)], think(false));
  }
}

function withWordChanged(text, place) {
  const words = text.split(' ');
  words[Math.floor(place * words.length)] += 'ward';
  return words.join(' ');
}

export async function editInTheMiddle(client) {
  const opening = system('An edit', 60, 91);
  const text = prose(10_000 * client.textShare, 92);
  for (const version of [text, withWordChanged(text, 0.5), withWordChanged(text, 0.9)]) {
    await client.chat([opening, user(version)], think(false));
  }
}

export async function giveUpAndRetry(client) {
  const messages = [system('Impatience', 6400, 101), user(question(0))];
  for (const share of [0.3, 0.6]) await client.giveUp(messages, share, think(false));
  await client.chat(messages, think(false));
}

// --- several at a time -------------------------------------------------------

export async function subagents(client) {
  const opening = system('Subagents', 5000, 111);
  for (let i = 0; i < 8; ++i) {
    await client.chat([opening, user(`${cities[i]} is your task. ${prose(30, 112 + i)}`)], think(false));
  }
}

export async function sixConversations(client) {
  const talks = Array.from({ length: 6 }, (_, i) =>
    new Conversation(client, [system(`${cities[i]}, one of six`, 1000, 121 + i)]));
  for (let turn = 0; turn < 3; ++turn) {
    for (const [i, talk] of talks.entries()) await talk.say(`${prose(60, 131 + 6 * turn + i)}\n${question(turn)}`);
  }
}

export async function eightAtOnce(client) {
  const opening = system('All at once', 4000, 151);
  await client.chatsAtOnce(cities.map((city) => [opening, user(`${city} has a secret code. What is it?`)]), think(false));
}

// --- tools -------------------------------------------------------------------

export const weather = { type: 'function', function: {
  name: 'get_weather', description: 'Get the current weather for a city',
  parameters: { type: 'object', properties: { city: { type: 'string', description: 'The city name' } }, required: ['city'] },
} };

// What the client sends: of the results of tools only the last two are whole.
function pruned(messages) {
  const results = messages.filter(({ role }) => role === 'tool');
  const old = new Set(results.slice(0, -2));
  return messages.map((message) => (old.has(message) ? { ...message, content: '[pruned]' } : message));
}

// The calls are the client's own, so that the loop is as long with every model.
export async function prunedTools(client) {
  const messages = [system('An agent', 1500, 161), user('What is the weather in each of the cities?')];
  for (const [i, city] of cities.slice(0, 6).entries()) {
    await client.chat(pruned(messages), { ...think(false), tools: [weather] });
    const call = { name: 'get_weather', arguments: JSON.stringify({ city }) };
    messages.push({ role: 'assistant', content: '', tool_calls: [{ id: `call_${i}`, type: 'function', function: call }] });
    messages.push({ role: 'tool', tool_call_id: `call_${i}`, content: prose(300, 162 + i) });
  }
  await client.chat(pruned(messages), { ...think(false), tools: [weather] });
}

// `long` ones take most of the time, for they read most of the tokens.
//
// The short messages come first: their oracle is so small that even the opening of
// the template, known from another workload, would be felt.
export const workloads = [
  { name: 'three short messages', run: threeShortMessages },
  { name: 'five-turn chat', run: fiveTurns },
  { name: 'thinking, dropped from the history', run: thinkingThatIsDropped },
  { name: '8 questions on a 15K document', run: questionsOnDocument, long: true },
  { name: 'branch, edit, return twice', run: branches },
  { name: '8 subagents on a 5K system prompt', run: subagents },
  { name: '6 conversations in turn', run: sixConversations },
  { name: 'prefix of an earlier prompt', run: cutBack },
  { name: 'edit in the middle of 10K', run: editInTheMiddle, long: true },
  { name: 'agent that prunes tool results', run: prunedTools },
  { name: 'identical request repeated', run: repetition },
  { name: '8 at once on a new prefix', run: eightAtOnce },
  { name: 'give up and retry', run: giveUpAndRetry },
];

// Needs a template that shows all thoughts: keep_thoughts.jinja.
export const keepingWorkloads = [{ name: 'thinking, kept in the history', run: thinkingThatStays }];

// Runs one; its records.
export async function recordsOf(workload, client) {
  const before = client.records.length;
  await workload.run(client);
  return client.records.slice(before);
}
