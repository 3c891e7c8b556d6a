// A client that talks to a server as chat programs do, by streams, and keeps its own
// account: how long each first token took, and what could have been reused.
//
// It offers what the workloads of tests/clients/workloads.mjs ask of a client. The oracle
// is that of tests/clients/reuse.mjs: the longest common prefix of a prompt, in tokens,
// with any earlier prompt and its answer. Templates and tokens are asked for outside the
// time that counts; `busy_ms` is the time with a request under way.
import { Ledger } from '../tests/clients/reuse.mjs';
import { eventsOf, exchange, post } from './client.mjs';

const path = '/v1/chat/completions';
// Each request has a connection of its own: a server may close an old one just as it is used.
const alone = { agent: false };
const always = { temperature: 0, max_tokens: 16, stream: true, stream_options: { include_usage: true } };

// Logprobs name the ids of an answer. llama-server has none in a stream with tools; of such an
// answer the oracle then knows nothing, for either server.
const bodyOf = (messages, extra) => ({ ...always, logprobs: !extra.tools, ...extra, messages });

// --- what a stream says --------------------------------------------------------

function addToolCalls(calls, pieces) {
  for (const { index = 0, id, type, function: part } of pieces) {
    calls[index] ??= { id, type: type ?? 'function', function: { name: '', arguments: '' } };
    calls[index].function.name += part?.name ?? '';
    calls[index].function.arguments += part?.arguments ?? '';
  }
}

// {message, ids, first_ms, timings} of the events of one chat; first_ms is the time at
// which anything to show had come, NaN where nothing did.
export function readChat(events) {
  const said = { content: '', reasoning_content: '', tool_calls: [] };
  const chat = { message: null, ids: [], first_ms: NaN, last_ms: NaN, timings: null };
  for (const { at_ms, data } of events) {
    if (data === '[DONE]') continue;
    const json = JSON.parse(data);
    if (json.error) throw new Error(`the stream ended with an error: ${JSON.stringify(json.error)}`);
    chat.timings = json.timings ?? chat.timings;
    const choice = json.choices?.[0];
    const { content, reasoning_content, tool_calls } = choice?.delta ?? {};
    said.content += content ?? '';
    said.reasoning_content += reasoning_content ?? '';
    if (tool_calls) addToolCalls(said.tool_calls, tool_calls);
    chat.ids.push(...(choice?.logprobs?.content ?? []).map(({ id }) => id));
    if (!content && !reasoning_content && !tool_calls) continue;
    if (Number.isNaN(chat.first_ms)) chat.first_ms = at_ms;
    chat.last_ms = at_ms;
  }
  chat.message = { role: 'assistant', content: said.content };
  if (said.reasoning_content) chat.message.reasoning_content = said.reasoning_content;
  if (said.tool_calls.length > 0) chat.message.tool_calls = said.tool_calls;
  return chat;
}

// --- the client ------------------------------------------------------------------

// One record for each request:
//   prompt_tokens, oracle, cached   in tokens; cached is what the server says
//   first_ms                        from sending to the first token; NaN where it never came
//   written                         tokens of the answer
export class Talker {
  textShare = 1;
  records = [];
  busy_ms = 0;
  counted_from = 0;  // the record from which on first tokens are judged: after a restart, those after it
  server;
  #ledger = new Ledger();
  #tokens;        // text -> tokens, shared by all who use the same model
  #underWay = 0;
  #since_ms = 0;
  #late_ms = 0;   // what the client did for the next request before it was sent
  #restart;

  // `restart` stops the server and returns {server, late_ms}: its next life, and how long
  // the client was busy to bring its state back.
  constructor(server, { tokens = new Map(), restart } = {}) {
    this.server = server;
    this.#tokens = tokens;
    this.#restart = restart;
  }

  async chat(messages, extra) {
    const [message] = await this.chatsAtOnce([messages], extra);
    return message;
  }

  // One of them has to compute what they share: the oracle lets it be the first.
  async chatsAtOnce(conversations, extra = {}) {
    const known = this.#ledger.length;
    const answers = await Promise.all(conversations.map((messages) => this.#answer(messages, extra)));
    const prompts = [];
    for (const [i, messages] of conversations.entries()) prompts.push(await this.#promptOf(messages, extra, answers[i]));
    answers.forEach((answer, i) => this.#note(answer, prompts[i], { known, others: prompts.slice(0, i > 0 ? 1 : 0) }));
    return answers.map(({ message }) => message);
  }

  // Sends a chat and hangs up once the server has read `share` of it. What it said to have
  // read by then counts as seen.
  async giveUp(messages, share, extra = {}) {
    const tokens = await this.#tokenize(await this.#textOf(messages, extra));
    const known = this.#ledger.length;
    const progress = await this.#busy(() => this.#readUntil(messages, share, extra));
    this.records.push({ prompt_tokens: tokens.length, oracle: this.#ledger.oracle(tokens, [], known),
      cached: progress.cache, first_ms: NaN, written: 0 });
    this.#ledger.add(tokens.slice(0, progress.processed));
  }

  async restart() {
    const { server, late_ms } = await this.#restart(this.server);
    this.server = server;
    this.#late_ms = late_ms;
    this.counted_from = this.records.length;
  }

  // --- requests ------------------------------------------------------------------

  async #busy(work) {
    if (this.#underWay++ === 0) this.#since_ms = performance.now();
    try {
      return await work();
    } finally {
      if (--this.#underWay === 0) this.busy_ms += performance.now() - this.#since_ms;
    }
  }

  async #answer(messages, extra) {
    const late_ms = this.#late_ms;
    this.#late_ms = 0;
    const answer = await this.#busy(() => exchange(this.server, path, bodyOf(messages, extra), alone));
    if (answer.status !== 200) {
      throw new Error(`${this.server.name} answered ${answer.status}: ${answer.pieces.map(({ bytes }) => bytes).join('').slice(0, 300)}`);
    }
    const chat = readChat(eventsOf(answer));
    if (!chat.timings) throw new Error(`${this.server.name} sent no timings`);
    const first_ms = Number.isNaN(chat.first_ms) ? answer.ended_ms : chat.first_ms;
    return { ...chat, first_ms: late_ms + first_ms - answer.sent_ms };
  }

  #note({ first_ms, timings, ids }, prompt, { known, others }) {
    this.records.push({ prompt_tokens: prompt.length, oracle: this.#ledger.oracle(prompt, others, known),
      cached: timings.cache_n, first_ms, written: timings.predicted_n });
    this.#ledger.add([...prompt, ...ids]);
  }

  #readUntil(messages, share, extra) {
    const hangUp = new AbortController();
    const answer = { pieces: [] };
    let progress = null;
    const onPiece = (_, bytes) => {
      answer.pieces.push({ at_ms: 0, bytes });
      const last = eventsOf(answer).map(({ data }) => /^\{/.test(data) && JSON.parse(data).prompt_progress).filter(Boolean).at(-1);
      if (progress || !last || last.processed < share * last.total || last.processed === last.total) return;
      progress = last;
      hangUp.abort();
    };
    const body = { ...bodyOf(messages, extra), return_progress: true };
    return exchange(this.server, path, body, { ...alone, signal: hangUp.signal, onPiece }).then(() => {
      if (progress) return progress;
      throw new Error('the prompt was read before the client could give up');
    });
  }

  // --- tokens ----------------------------------------------------------------------

  async #textOf(messages, { tools, chat_template_kwargs }) {
    return (await post(this.server, '/apply-template', { messages, tools, chat_template_kwargs }, alone)).json.prompt;
  }

  async #tokenize(content) {
    if (!this.#tokens.has(content)) {
      const { json } = await post(this.server, '/tokenize', { content, add_special: true, parse_special: true }, alone);
      this.#tokens.set(content, json.tokens);
    }
    return this.#tokens.get(content);
  }

  // The oracle is worth nothing when it counts other tokens than the server.
  async #promptOf(messages, extra, { timings }) {
    const tokens = await this.#tokenize(await this.#textOf(messages, extra));
    const counted = timings.cache_n + timings.prompt_n;
    if (tokens.length === counted) return tokens;
    throw new Error(`the prompt has ${tokens.length} tokens, ${this.server.name} counts ${counted}`);
  }
}
