// A proxy that stands between an agent and the server and notes what passes, and a trap for
// everything that an agent sends elsewhere.
import { createServer, request as httpRequest } from 'node:http';

// One request and its answer, as they passed.
class Exchange {
  constructor(request) {
    this.method = request.method;
    this.path = request.url;
    this.headers = request.headers;
    this.requestText = '';
    this.status = 0;
    this.text = '';
    this.complete = false;
    this.arrivals_ms = []; // of pieces of the answer, since the request
    this.began = performance.now();
  }

  // "POST /v1/messages": without what follows the question mark.
  get endpoint() {
    return `${this.method} ${this.path.split('?')[0]}`;
  }

  get request() {
    return JSON.parse(this.requestText);
  }

  // The payloads of a stream, or the one object of another answer.
  get payloads() {
    if (!this.text.includes('data: ')) return this.text.startsWith('{') ? [JSON.parse(this.text)] : [];
    const lines = this.text.split('\n').filter((line) => line.startsWith('data: {'));
    return lines.map((line) => JSON.parse(line.slice(6)));
  }

  // In all three protocols; undefined where the answer names none.
  get answerId() {
    for (const payload of this.payloads) {
      const id = payload.message?.id ?? payload.response?.id ?? payload.id;
      if (id) return id;
    }
    return undefined;
  }

  // {prompt, cached} in tokens, as the client is told; undefined where it is not.
  get usage() {
    const told = this.payloads.map((p) => p.message?.usage ?? p.response?.usage ?? p.usage);
    const all = Object.assign({}, ...told.filter(Boolean));
    if ('cache_read_input_tokens' in all) {
      const cached = all.cache_read_input_tokens;
      return { prompt: all.input_tokens + cached + (all.cache_creation_input_tokens ?? 0), cached };
    }
    const details = all.prompt_tokens_details ?? all.input_tokens_details;
    if (!details) return undefined;
    return { prompt: all.prompt_tokens ?? all.input_tokens, cached: details.cached_tokens };
  }

  // The longest time without any byte of an answer.
  get longestSilence_ms() {
    const times = [0, ...this.arrivals_ms];
    return Math.max(...times.slice(1).map((time, i) => time - times[i]));
  }
}

async function listenLocally(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${server.address().port}`;
}

function forward(incoming, outgoing, target, exchange) {
  const upstream = httpRequest(
    new URL(incoming.url, target),
    { method: incoming.method, headers: { ...incoming.headers, connection: 'close' } },
    (answer) => {
      exchange.status = answer.statusCode;
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.on('data', (bytes) => {
        exchange.arrivals_ms.push(performance.now() - exchange.began);
        exchange.text += bytes.toString('utf8');
        outgoing.write(bytes);
      });
      answer.on('end', () => {
        exchange.complete = true;
        outgoing.end();
      });
    },
  );
  upstream.on('error', () => outgoing.destroy());
  outgoing.on('close', () => upstream.destroy()); // the agent went: the server must see it
  incoming.on('data', (bytes) => {
    exchange.requestText += bytes.toString('utf8');
    upstream.write(bytes);
  });
  incoming.on('end', () => upstream.end());
}

// `target` may be changed: the same address stays in front of a server that was started again.
export async function startProxy(target) {
  const proxy = { target, exchanges: [] };
  const server = createServer((incoming, outgoing) => {
    const exchange = new Exchange(incoming);
    proxy.exchanges.push(exchange);
    forward(incoming, outgoing, proxy.target, exchange);
  });
  server.requestTimeout = 0;
  proxy.url = await listenLocally(server);
  // What has passed since the last call.
  proxy.take = () => proxy.exchanges.splice(0);
  proxy.close = () => {
    server.close();
    server.closeAllConnections();
  };
  return proxy;
}

// Refuses everything, and notes whom an agent wanted to reach. `environment` leads there.
export async function startTrap() {
  const trap = { hosts: [] };
  const server = createServer((incoming, outgoing) => {
    trap.hosts.push(incoming.url);
    outgoing.writeHead(403).end();
  });
  server.on('connect', (incoming, socket) => {
    trap.hosts.push(incoming.url);
    socket.on('error', () => {});
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  const url = await listenLocally(server);
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
  trap.environment = {
    ...Object.fromEntries(names.flatMap((name) => [[name, url], [name.toLowerCase(), url]])),
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
  };
  trap.close = () => {
    server.close();
    server.closeAllConnections();
  };
  return trap;
}
