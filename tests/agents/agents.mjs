// The agents: how each is pointed at a server by its own documented settings, and its command
// lines for a first turn, a next one and a resume.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('node_modules', import.meta.url));
const morePackages = fileURLToPath(new URL('more/node_modules', import.meta.url));
const platform = `${process.platform}-${process.arch}`;

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
}

// What a program printed, one JSON object a line, other lines left out.
function jsonLines(text) {
  return text.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}

// The program of a package, started without its install script: that of its part for this machine.
const binary = (...path) => join(packages, ...path);

const claude = {
  name: 'claude',
  program: binary('@anthropic-ai', `claude-code-${platform}`, 'claude'),
  endpoint: 'POST /v1/messages',
  others: ['HEAD /', 'GET /', 'POST /v1/messages/count_tokens', 'GET /v1/models'],
  environment: (url) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: '200',
    DISABLE_AUTOUPDATER: '1',
  }),
  first: (prompt) => [...claude.common, prompt],
  next: (prompt) => [...claude.common, '--continue', prompt],
  resume: (prompt, id) => [...claude.common, '--resume', id, prompt],
  common: ['-p', '--model', 'holdfast', '--output-format', 'json', '--allowedTools=Bash'],
  session: (output) => jsonLines(output).at(-1).session_id,
  // How its model changes a file.
  tool: {
    name: 'Bash',
    arguments: (command) => ({ command, description: 'Write a file' }),
    result: '"tool_result"',
  },
};

const codex = {
  name: 'codex',
  program: binary('.bin', 'codex'),
  endpoint: 'POST /v1/responses',
  others: ['GET /v1/models'],
  prepare(home, url) {
    write(join(home, '.codex/config.toml'), `model = "holdfast"
model_provider = "holdfast"
model_context_window = 65536
check_for_update_on_startup = false

[model_providers.holdfast]
name = "Holdfast"
base_url = "${url}/v1"
wire_api = "responses"

[features]
plugins = false
remote_plugin = false
apps = false

[analytics]
enabled = false
`);
  },
  environment: () => ({}),
  first: (prompt) => ['exec', ...codex.common, prompt],
  next: (prompt) => ['exec', 'resume', '--last', ...codex.common, prompt],
  resume: (prompt, id) => ['exec', 'resume', ...codex.common, id, prompt],
  common: ['--json', '--dangerously-bypass-approvals-and-sandbox'],
  session: (output) => jsonLines(output).find((line) => line.thread_id).thread_id,
  tool: {
    name: 'exec_command',
    arguments: (command) => ({ cmd: command }),
    result: '"function_call_output"',
  },
};

export const agents = { claude, codex };
export const installed = (agent) => existsSync(agent.program);
