// acp.mjs PROGRAM [SESSION] PROMPT: one turn of an agent that speaks the Agent Client Protocol
// on its standard input and output; JSON-RPC, one message a line. For agents that have no other way
// to go on with a session without a terminal. Prints the session and what was said.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [program, ...rest] = process.argv.slice(2);
const prompt = rest.at(-1);
const session = rest.length > 1 ? rest[0] : undefined;

const child = spawn(program, ['--acp'], { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
const said = [];
let lastId = 0;

function send(message) {
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function ask(method, params) {
  const id = ++lastId;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

// What the agent wants of its client: permission to use a tool, which it gets.
function answer({ id, method, params }) {
  if (method !== 'session/request_permission') {
    return send({ id, error: { code: -32601, message: `${method} is not offered here` } });
  }
  const allow = params.options.find((option) => option.kind.startsWith('allow'));
  return send({ id, result: { outcome: { outcome: 'selected', optionId: allow.optionId } } });
}

createInterface({ input: child.stdout }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.method && message.id !== undefined) return answer(message);
  if (message.method === 'session/update') {
    const { update } = message.params;
    if (update.sessionUpdate === 'agent_message_chunk') said.push(update.content.text ?? '');
    return undefined;
  }
  const asked = waiting.get(message.id);
  if (message.error) asked?.reject(new Error(JSON.stringify(message.error)));
  else asked?.resolve(message.result);
  return undefined;
});
child.on('exit', (code) => process.exit(code || 1)); // before its turn was over

await ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
const place = { cwd: process.cwd(), mcpServers: [] };
const opened = session
  ? await ask('session/load', { sessionId: session, ...place })
  : await ask('session/new', place);
const sessionId = session ?? opened.sessionId;
said.length = 0; // a loaded session is told again first
const { stopReason } = await ask('session/prompt', { sessionId, prompt: [{ type: 'text', text: prompt }] });
console.log(JSON.stringify({ sessionId, stopReason, said: said.join('') }));
child.removeAllListeners('exit');
child.kill();
process.exit(stopReason === 'end_turn' ? 0 : 1);
