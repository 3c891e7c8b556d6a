// One HTTP client for both servers. Times are milliseconds of performance.now().
//
// While an answer arrives its pieces are only put on a list with their time; they
// are read afterwards, so that the client takes as little of the processor as it can.
import http from 'node:http';

const patience_ms = 600_000;

function open(server, path, body, { agent, limit_ms = patience_ms } = {}) {
  const payload = JSON.stringify(body);
  return http.request({
    host: '127.0.0.1',
    port: server.port,
    path,
    method: 'POST',
    agent: agent ?? server.agent,
    timeout: limit_ms,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) },
  }).end(payload);
}

// Resolves when the answer has ended: {status, sent_ms, ended_ms, pieces: [{at_ms, bytes}]}.
// `onPiece(count, bytes)` is told of each piece; `signal` (an AbortSignal) hangs up.
export function exchange(server, path, body, options = {}) {
  return new Promise((resolve, reject) => {
    const answer = { status: 0, sent_ms: performance.now(), ended_ms: 0, pieces: [], aborted: false };
    const request = open(server, path, body, options);
    const finish = () => {
      if (answer.ended_ms > 0) return;
      answer.ended_ms = performance.now();
      resolve(answer);
    };
    options.signal?.addEventListener('abort', () => {
      answer.aborted = true;
      request.destroy();
      finish();
    });
    request.on('timeout', () => request.destroy(new Error('the server was silent for too long')));
    // A server may close a connection that rested in the very moment in which it is used again.
    const wasClosed = (error) => error.code === 'ECONNRESET' && request.reusedSocket && answer.status === 0;
    request.on('error', (error) => {
      if (answer.aborted) finish();
      else if (wasClosed(error)) resolve(exchange(server, path, body, options));
      else reject(error);
    });
    request.on('response', (response) => {
      answer.status = response.statusCode;
      response.on('data', (bytes) => {
        answer.pieces.push({ at_ms: performance.now(), bytes });
        options.onPiece?.(answer.pieces.length, bytes);
      });
      response.on('error', (error) => (answer.aborted ? finish() : reject(error)));
      response.on('end', finish);
    });
  });
}

const bodyOf = (answer) => Buffer.concat(answer.pieces.map((piece) => piece.bytes)).toString();

// POSTs and returns {json, sent_ms, ended_ms}; an answer other than 200 is an error.
export async function post(server, path, body, options) {
  const answer = await exchange(server, path, body, options);
  if (answer.status !== 200) {
    throw new Error(`${server.name} answered ${answer.status} to ${path}: ${bodyOf(answer).slice(0, 300)}`);
  }
  return { json: JSON.parse(bodyOf(answer)), sent_ms: answer.sent_ms, ended_ms: answer.ended_ms };
}

// The events of a stream with the time at which each was complete: [{at_ms, data}].
export function eventsOf(answer) {
  const events = [];
  let text = '';
  for (const { at_ms, bytes } of answer.pieces) {
    text += bytes.toString('latin1'); // a character may be cut; the frame of an event is ASCII
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 2);
      if (line.startsWith('data: ')) events.push({ at_ms, data: Buffer.from(line.slice(6), 'latin1').toString() });
    }
  }
  return events;
}

function carriesText(event) {
  if (event.data === '[DONE]') return false;
  const choice = JSON.parse(event.data).choices?.[0];
  const text = choice?.text || choice?.delta?.content || choice?.delta?.reasoning_content;
  return Boolean(text);
}

// POSTs with stream: true. Returns {status, sent_ms, ended_ms, token_ms: [...], timings, done}:
// token_ms has the time of every event with text, and done says that [DONE] came.
export async function stream(server, path, body, options) {
  const answer = await exchange(server, path, { ...body, stream: true }, options);
  const events = eventsOf(answer);
  const withTimings = [...events].reverse().find((event) => event.data.includes('"timings"'));
  return {
    status: answer.status,
    aborted: answer.aborted,
    sent_ms: answer.sent_ms,
    ended_ms: answer.ended_ms,
    token_ms: events.filter(carriesText).map((event) => event.at_ms),
    timings: withTimings ? JSON.parse(withTimings.data).timings : null,
    done: events.at(-1)?.data === '[DONE]',
  };
}

export async function tokenize(server, content) {
  return (await post(server, '/tokenize', { content })).json.tokens;
}

export function healthy(server) {
  return new Promise((resolve) => {
    const request = http.get({ host: '127.0.0.1', port: server.port, path: '/health', agent: false,
      timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
