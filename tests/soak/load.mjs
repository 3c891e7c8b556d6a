// The clients: conversations that go on, branch and are edited, in three protocols, and requests that no sane
// client sends. Every answer is looked at; a share of them is compared with a server that remembers nothing.
//
// Requests fail while the server is being killed or the disk is full only as `world.expecting` says.
import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';

import { cities, prose, question } from '../clients/workloads.mjs';
import { exchange, leaveStream, post } from './exchange.mjs';

const user = (content) => ({ role: 'user', content });
const said = (content) => ({ role: 'assistant', content });
const quiet = { chat_template_kwargs: { enable_thinking: false } };
const chat = { model: 'pocket', temperature: 0, max_tokens: 24, ...quiet };

const grammar = 'root ::= "The code is " [0-9]{5} "."';
const schema = {
  type: 'object', additionalProperties: false, required: ['city', 'code'],
  properties: { city: { type: 'string', maxLength: 12 }, code: { type: 'integer' } },
};
const asSchema = { type: 'json_schema', json_schema: { name: 'code', schema } };

// Each must be refused with a 4xx, whatever the server has been through.
const refusals = [
  ['/v1/chat/completions', '{"messages":[{"role":"user","content":"Hel'],
  ['/v1/chat/completions', '['.repeat(50_000)],
  ['/v1/chat/completions', { ...chat, messages: [user('x')], max_tokens: 'many' }],
  ['/v1/chat/completions', { ...chat, messages: [user('x')], grammar: 'root ::= "a"{10,5}' }],
  ['/v1/chat/completions', { ...chat, messages: [user('x')], grammar: `root ::= ${'('.repeat(3000)}` }],
  ['/v1/chat/completions', { ...chat, messages: [user('word '.repeat(40_000))] }],
  ['/v1/messages', { model: 'x', max_tokens: 5, messages: [{ role: 'robot', content: 'x' }] }],
  ['/v1/responses', { model: 'x', input: 'x', previous_response_id: 'resp_unknown' }],
  ['/v1/completions', { prompt: { deep: [] } }],
];

export class Load {
  constructor(world, random, book) {
    this.world = world;
    this.random = random;
    this.book = book;
    this.talks = [];
    this.rounds = {
      turn: 30, branch: 10, again: 8, messages: 10, responses: 8, together: 6, cancel: 8, vanish: 6, large: 4,
      constrained: 8, refused: 8, looks: 6, slots: 4, emptied: 1,
    };
  }

  // One round of one client. Never throws for what the world explains.
  async round() {
    const kind = this.random.weighted(this.rounds);
    this.book.count('rounds');
    try {
      await this[kind]();
    } catch (error) {
      if (this.world.expecting()) this.book.count('explained');
      else this.book.trouble('surprise', `${kind}: ${error.message} ${error.cause?.message ?? ''}`);
    }
  }

  // --- what is asked -----------------------------------------------------------------------------------------

  async turn() {
    const talk = this.someTalk();
    const next = [...talk.messages, user(question(this.random.below(8)))];
    const { content } = await this.ask(next);
    talk.messages = [...next, said(content)];
  }

  async branch() {
    const { messages } = this.someTalk();
    const kept = messages.slice(0, 1 + 2 * this.random.below(Math.ceil(messages.length / 2)));
    const talk = { messages: [...kept, user(`Count from 1 to ${5 + this.random.below(20)}.`)] };
    if (talk.messages.length === 2 || kept.at(-1).role === 'user') talk.messages = kept;
    talk.messages.push(said((await this.ask(talk.messages)).content));
    this.talks.push(talk);
  }

  async again() {
    const { messages } = this.someTalk();
    await this.ask(messages.slice(0, -1));
  }

  async messages() {
    const { messages } = this.someTalk();
    const body = { model: 'pocket', max_tokens: 16, temperature: 0, messages: [...messages, user('Hello!')] };
    const answer = await this.post('/v1/messages', body);
    await this.compare('/v1/messages', body, answer.content, (cold) => cold.content);
  }

  async responses() {
    const first = { model: 'pocket', temperature: 0, max_output_tokens: 16, reasoning: { effort: 'none' } };
    const opening = { ...first, input: this.someTalk().messages[0].content };
    const one = await this.post('/v1/responses', opening);
    await this.post('/v1/responses', { ...first, input: 'Good morning!', previous_response_id: one.id });
    const texts = ({ output }) => output.map(({ content }) => content?.map(({ text }) => text));
    await this.compare('/v1/responses', opening, texts(one), texts);
  }

  async together() {
    const talks = Array.from({ length: 5 }, () => this.someTalk().messages);
    await Promise.all(talks.map((messages, i) => this.ask([...messages, user(question(i))])));
    const several = { ...chat, n: 3, temperature: 1, messages: talks[0].slice(0, 1) };
    const { choices } = await this.post('/v1/chat/completions', several);
    if (choices.length !== 3) throw new Error(`${choices.length} choices of 3`);
  }

  async cancel() {
    const messages = [...this.someTalk().messages, user('Count from 1 to 99.')];
    const body = { ...chat, messages, stream: true, max_tokens: 400, ignore_eos: true };
    await leaveStream(this.world.server, '/v1/chat/completions', body, this.random.below(12));
    this.book.count('cancelled');
  }

  // A connection that breaks somewhere in the request.
  async vanish() {
    const body = JSON.stringify({ ...chat, messages: this.someTalk().messages });
    const bytes = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socket = connect(Number(new URL(this.world.server.url).port), '127.0.0.1');
    const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => {}));
    socket.write(bytes.slice(0, this.random.below(bytes.length + 1)), () => socket.destroy());
    await closed;
    this.book.count('vanished');
  }

  async large() {
    await this.ask([user(`${prose(1500 + this.random.below(2000), this.random.below(40))}\n${question(3)}`)]);
  }

  async constrained() {
    const messages = this.someTalk().messages.slice(0, 1);
    if (this.random.once(2)) {
      const { content } = await this.ask(messages, { grammar });
      if (!/^The code is \d{5}\.$/.test(content)) throw new Error(`not of the grammar: ${content}`);
    } else {
      const { content } = await this.ask(messages, { response_format: asSchema, max_tokens: 60 });
      const { city, code } = JSON.parse(content);
      if (typeof city !== 'string' || !Number.isInteger(code)) throw new Error(`not of the schema: ${content}`);
    }
  }

  async refused() {
    const [path, body] = this.random.pick(refusals);
    const { status, json } = await post(this.world.server, path, body);
    if (status < 400 || status > 499 || !json.error) throw new Error(`${path} was answered ${status}, not refused`);
    this.book.count('refused');
  }

  async looks() {
    for (const path of ['/health', '/slots', '/cache', '/cache/receipts', '/metrics', '/v1/models', '/props']) {
      const { status } = await exchange(this.world.server, path);
      if (status !== 200) throw new Error(`GET ${path}: ${status}`);
    }
  }

  // Some slots are busy or empty, and a full disk takes nothing: any answer but a failure of the server's own.
  async slots() {
    const slot = this.random.below(this.world.slots);
    const act = (action, filename) =>
      post(this.world.server, `/slots/${slot}?action=${action}`, filename ? { filename } : '');
    const name = `talk${this.random.below(3)}.bin`;
    for (const action of this.random.once(2) ? ['save', 'restore'] : ['restore', 'erase']) {
      const { status, json } = await act(action, action === 'erase' ? undefined : name);
      if (status >= 500 && !this.world.expecting()) throw new Error(`${action}: ${status} ${JSON.stringify(json)}`);
      this.book.count(`slot ${action}`);
    }
  }

  async emptied() {
    const { status } = await exchange(this.world.server, '/cache', { method: 'DELETE' });
    if (status !== 200) throw new Error(`DELETE /cache: ${status}`);
    this.book.count('emptied');
  }

  // --- how it is asked ---------------------------------------------------------------------------------------

  // One of a dozen conversations, which are replaced when they have become long.
  someTalk() {
    this.talks = this.talks.filter(({ messages }) => messages.length < 16).slice(-12);
    if (this.talks.length < 12 && (this.talks.length === 0 || this.random.once(3))) {
      const text = prose(100 + this.random.below(500), this.random.below(1000));
      const city = this.random.pick(cities);
      this.talks.push({ messages: [user(`${text}\nWhat is the secret code of ${city}?`), said('I do not know.')] });
    }
    return this.random.pick(this.talks);
  }

  async post(path, body) {
    const { status, json } = await post(this.world.server, path, body);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(json).slice(0, 300)}`);
    this.book.count('answers');
    return json;
  }

  async ask(messages, extra = {}) {
    const body = { ...chat, messages, logprobs: true, ...extra };
    const facts = ({ choices: [{ message, logprobs, finish_reason }] }) => ({ message, logprobs, finish_reason });
    const answer = facts(await this.post('/v1/chat/completions', body));
    await this.compare('/v1/chat/completions', body, answer, facts);
    return answer.message;
  }

  // A server that keeps the ids of its answers may read a history in other tokens than one that has never seen
  // it: such answers are comparable only where no history is sent.
  async compare(path, body, answer, facts) {
    const history = body.messages?.some(({ role }) => role === 'assistant') ?? false;
    if ((history && this.world.keepsIds) || !this.random.once(this.world.compareEvery)) return;
    const { status, json } = await post(this.world.cold, path, { ...body, cache_prompt: false });
    const expected = status === 200 ? facts(json) : { status, json };
    this.book.count('compared');
    if (isDeepStrictEqual(answer, expected)) return;
    const show = (value) => JSON.stringify(value?.message ?? value).slice(0, 300);
    this.book.trouble('wrong', `${path} ${show(answer)}, the cold server ${show(expected)}; ${JSON.stringify(body)}`);
  }
}
