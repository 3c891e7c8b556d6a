// A client that keeps its own account of what a server could have reused.
//
// Works against every server that has OpenAI's chats and llama-server's
// /apply-template, /tokenize, `timings` and `prompt_progress`. Nothing here trusts
// what a server says about its cache, except the number that is judged: how many
// tokens of a prompt it did not compute.
//
// The oracle of a request is the longest common prefix of its prompt, in tokens,
// with anything seen before: an earlier prompt followed by the tokens of its
// answer. At most the prompt less one token, for something must be computed to
// know what comes next. Prompts that share no more than the opening of the template
// share nothing.

// <|im_start|>, a role, a new line, and a first letter.
const opening_tokens = 4;

function commonPrefix(a, b) {
  const limit = Math.min(a.length, b.length);
  let at = 0;
  while (at < limit && a[at] === b[at]) ++at;
  return at;
}

// All that a server has seen; a plain list, so that it is plainly right.
export class Ledger {
  #seen = [];

  // With `known` only the first `known` entries count.
  oracle(prompt, others = [], known = this.#seen.length) {
    const seen = [...this.#seen.slice(0, known), ...others];
    const longest = seen.reduce((most, one) => Math.max(most, commonPrefix(one, prompt)), 0);
    return longest <= opening_tokens ? 0 : Math.min(longest, prompt.length - 1);
  }

  add(tokens) {
    this.#seen.push(tokens);
  }

  get length() {
    return this.#seen.length;
  }
}

// The events of a stream as they come.
async function* eventsOf(response) {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body) {
    text += decoder.decode(bytes, { stream: true });
    const events = text.split('\n\n');
    text = events.pop();
    for (const event of events) {
      if (event.startsWith('data: {')) yield JSON.parse(event.slice('data: '.length));
    }
  }
}

// One record for each request, in the order in which they were sent:
//   prompt_tokens, oracle, cached   in tokens; cached is what the server says
//   first_ms                        from sending to the first token; NaN where it never came
//   answer                          each token written with its logprob; null when the client gave up
//   receipt                         Holdfast's, null elsewhere and when the client gave up
export class CountingClient {
  #url;
  #settings;
  #ledger = new Ledger();
  records = [];

  // `settings` go into every request.
  // Long texts are this share of their full size.
  textShare = 1;

  constructor(url, settings = {}) {
    this.#url = url;
    this.#settings = { temperature: 0, max_tokens: 16, logprobs: true, cache_receipt: true, ...settings };
  }

  // Sends a chat; the answer's message.
  async chat(messages, extra) {
    const [message] = await this.chatsAtOnce([messages], extra);
    return message;
  }

  // Sends chats at the same moment. One of them has to compute what they share: the
  // oracle lets it be the one that reused least, because requests that are prepared side
  // by side begin in any order.
  async chatsAtOnce(conversations, extra = {}) {
    const prompts = [];
    for (const messages of conversations) prompts.push(await this.#promptText(messages, extra));
    const answers = await Promise.all(conversations.map((messages) => this.#answer(messages, extra)));
    const tokens = [];
    for (const [i, text] of prompts.entries()) tokens.push(await this.#promptTokens(text, answers[i].json));
    const cached = answers.map(({ json }) => json.usage.prompt_tokens_details.cached_tokens);
    const first = cached.indexOf(Math.min(...cached));
    answers.forEach((answer, i) => {
      this.#note(answer, tokens[i], this.#ledger.oracle(tokens[i], i === first ? [] : [tokens[first]]));
    });
    answers.forEach(({ json }, i) => this.#ledger.add([...tokens[i], ...answerTokens(json)]));
    return answers.map(({ json }) => json.choices[0].message);
  }

  // Sends a chat and hangs up as soon as the server says that it has read `share`
  // of the prompt. What it has read by then is seen.
  async giveUp(messages, share, extra = {}) {
    const tokens = await this.#tokenize(await this.#promptText(messages, extra));
    const progress = await this.#readUntil(messages, share, extra);
    if (progress.total !== tokens.length) {
      throw new Error(`the prompt has ${tokens.length} tokens, the server counts ${progress.total}`);
    }
    this.records.push({ prompt_tokens: tokens.length, oracle: this.#ledger.oracle(tokens),
      cached: progress.cache, first_ms: NaN, answer: null, receipt: null });
    this.#ledger.add(tokens.slice(0, progress.processed));
  }

  async #readUntil(messages, share, extra) {
    const hangUp = new AbortController();
    const body = { ...this.#settings, ...extra, messages, stream: true, return_progress: true };
    const response = await this.#post('/v1/chat/completions', body, hangUp.signal);
    const events = eventsOf(response);
    for (;;) {
      const { value, done } = await events.next();
      const progress = value?.prompt_progress;
      if (done || (progress && progress.processed === progress.total)) break;
      if (!progress || progress.processed < share * progress.total) continue;
      hangUp.abort();
      return progress;
    }
    throw new Error('the prompt was read before the client could give up');
  }

  async #answer(messages, extra) {
    const sent_ms = performance.now();
    const response = await this.#post('/v1/chat/completions', { ...this.#settings, ...extra, messages });
    const json = await response.json();
    return { json, took_ms: performance.now() - sent_ms };
  }

  #note({ json, took_ms }, tokens, oracle) {
    this.records.push({
      prompt_tokens: tokens.length,
      oracle,
      cached: json.usage.prompt_tokens_details.cached_tokens,
      first_ms: took_ms - json.timings.predicted_ms,
      answer: json.choices[0].logprobs?.content.map(({ token, logprob }) => [token, logprob]) ?? [],
      receipt: json.cache_receipt ?? null,
    });
  }

  // --- tokens ----------------------------------------------------------------

  async #promptText(messages, extra) {
    const { chat_template_kwargs } = { ...this.#settings, ...extra };
    const { tools } = extra;
    const response = await this.#post('/apply-template', { messages, tools, chat_template_kwargs });
    return (await response.json()).prompt;
  }

  async #tokenize(content) {
    const response = await this.#post('/tokenize', { content, add_special: true, parse_special: true });
    return (await response.json()).tokens;
  }

  // The oracle is worth nothing when it counts other tokens than the server.
  async #promptTokens(text, { usage }) {
    const tokens = await this.#tokenize(text);
    if (tokens.length === usage.prompt_tokens) return tokens;
    throw new Error(`the prompt has ${tokens.length} tokens, the server counts ${usage.prompt_tokens}: ...${text.slice(-300)}`);
  }

  async #post(path, body, signal) {
    const response = await fetch(this.#url + path, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal,
    });
    if (response.ok) return response;
    throw new Error(`${path} was answered ${response.status}: ${(await response.text()).slice(0, 300)}`);
  }
}

// Both servers name the ids, less the one that ends the turn.
function answerTokens({ choices, usage }) {
  const tokens = choices[0].logprobs?.content.map(({ id }) => id) ?? [];
  if (usage.completion_tokens - tokens.length > 1) {
    throw new Error(`${usage.completion_tokens} tokens were written, ${tokens.length} named`);
  }
  return tokens;
}

// --- sums --------------------------------------------------------------------

const total = (list, number) => list.reduce((sum, one) => sum + number(one), 0);

// What a list of records says. More than the oracle knew (a server reads on for a
// moment after a client has left) makes up for nothing elsewhere.
export function account(records) {
  const lost = ({ oracle, cached }) => Math.max(0, oracle - cached);
  const oracle = total(records, (record) => record.oracle);
  const missed = total(records, lost);
  return {
    requests: records.length,
    oracle,
    reused: oracle - missed,
    share: oracle === 0 ? 1 : 1 - missed / oracle,
    grid: total(records.filter(({ receipt }) => receipt?.missing?.why === 'grid'), lost),
    computed: total(records, ({ prompt_tokens, cached }) => prompt_tokens - cached),
  };
}
