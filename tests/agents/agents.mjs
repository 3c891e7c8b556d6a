// The agents: how each is pointed at a server by its own documented settings, and its command
// lines for a first turn, a next one and a resume.
import { mkdirSync, writeFileSync } from 'node:fs';
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
const moreBinary = (...path) => join(morePackages, ...path);

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
    API_TIMEOUT_MS: '3600000',
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

const chatEndpoint = { endpoint: 'POST /v1/chat/completions', others: ['GET /v1/models'] };

const opencode = {
  ...chatEndpoint,
  name: 'opencode',
  program: moreBinary(`opencode-${platform}`, 'bin', 'opencode'),
  environment: (url) => ({
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      model: 'holdfast/pocket',
      provider: {
        holdfast: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Holdfast',
          options: { baseURL: `${url}/v1`, apiKey: 'none' },
          models: { pocket: { name: 'Pocket', limit: { context: 65536, output: 200 } } },
        },
      },
    }),
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    npm_config_registry: 'http://127.0.0.1:1', // it wants to install its plugins' types
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  }),
  first: (prompt) => [...opencode.common, prompt],
  next: (prompt) => [...opencode.common, '--continue', prompt],
  resume: (prompt, id) => [...opencode.common, '--session', id, prompt],
  common: ['run', '--pure', '--format', 'json'],
  session: (output) => jsonLines(output).find((line) => line.sessionID).sessionID,
  tool: { name: 'bash', arguments: (command) => ({ command }), result: '"role":"tool"' },
};

const pi = {
  ...chatEndpoint,
  name: 'pi',
  program: moreBinary('.bin', 'pi'),
  prepare(home, url) {
    write(join(home, '.pi/agent/models.json'), {
      providers: {
        holdfast: {
          baseUrl: `${url}/v1`,
          api: 'openai-completions',
          apiKey: 'none',
          models: [{ id: 'pocket', contextWindow: 65536, maxTokens: 200 }],
        },
      },
    });
  },
  environment: () => ({ PI_OFFLINE: '1', PI_TELEMETRY: '0' }),
  first: (prompt) => [...pi.common, prompt],
  next: (prompt) => [...pi.common, '--continue', prompt],
  resume: (prompt, id) => [...pi.common, '--session', id, prompt],
  common: ['-p', '--mode', 'json', '--provider', 'holdfast', '--model', 'pocket'],
  session: (output) => jsonLines(output).find((line) => line.type === 'session').id,
  tool: { name: 'bash', arguments: (command) => ({ command }), result: '"role":"tool"' },
};

const qwen = {
  ...chatEndpoint,
  name: 'qwen',
  program: moreBinary('.bin', 'qwen'),
  prepare(home) {
    write(join(home, '.qwen/settings.json'), {
      general: { enableAutoUpdate: false, disableAutoUpdate: true },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
    });
  },
  environment: (url) => ({
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: 'none',
    OPENAI_MODEL: 'pocket',
    QWEN_CODE_MAX_OUTPUT_TOKENS: '200',
  }),
  first: (prompt) => [...qwen.common, prompt],
  next: (prompt) => [...qwen.common, '--continue', prompt],
  resume: (prompt, id) => [...qwen.common, '--resume', id, prompt],
  common: ['--auth-type', 'openai', '--yolo', '--output-format', 'stream-json'],
  session: (output) => jsonLines(output).find((line) => line.session_id).session_id,
  statusInPrompt: true,
  tool: { name: 'run_shell_command', arguments: (command) => ({ command }), result: '"role":"tool"' },
};

// Its own command line goes on with a session in a terminal only; the Agent Client Protocol does
// without one.
const cline = {
  ...chatEndpoint,
  name: 'cline',
  program: process.execPath,
  prepare(home, url) {
    write(join(home, '.cline/data/settings/global-settings.json'), {
      telemetryOptOut: true,
      autoUpdateEnabled: false,
      // The pocket model starts sub-agents under system prompts that it makes up: of such a prompt
      // nothing can have been seen before.
      disabledTools: ['spawn_agent'],
    });
    const settings = {
      provider: 'openai-compatible',
      apiKey: 'none',
      model: 'pocket',
      baseUrl: `${url}/v1`,
    };
    write(join(home, '.cline/data/settings/providers.json'), {
      version: 1,
      lastUsedProvider: settings.provider,
      modes: {},
      providers: {
        [settings.provider]: { settings, updatedAt: '2026-11-18T00:00:00Z', tokenSource: 'manual' },
      },
    });
  },
  environment: () => ({
    CLINE_PROVIDER: 'openai-compatible',
    CLINE_API_KEY: 'none',
    CLINE_MODEL: 'pocket',
    CLINE_NO_AUTO_UPDATE: '1',
    CLINE_SESSION_BACKEND_MODE: 'local', // no hub that outlives it
  }),
  first: (prompt) => [...cline.common, prompt],
  next: (prompt, id) => [...cline.common, id, prompt],
  resume: (prompt, id) => [...cline.common, id, prompt],
  common: [fileURLToPath(new URL('acp.mjs', import.meta.url)), moreBinary('.bin', 'cline')],
  session: (output) => jsonLines(output).at(-1).sessionId,
  stillTries: /^data\.cline\.bot:/, // feature flags
  tool: {
    name: 'run_commands',
    arguments: (command) => ({ commands: [command] }),
    result: '"role":"tool"',
  },
};

const continueCli = {
  ...chatEndpoint,
  name: 'continue',
  program: moreBinary('.bin', 'cn'),
  prepare(home, url) {
    write(join(home, '.continue/config.yaml'), `name: Holdfast
version: 1.0.0
schema: v1
models:
  - name: Pocket
    provider: openai
    model: pocket
    apiBase: ${url}/v1
    apiKey: none
    roles: [chat]
    defaultCompletionOptions:
      contextLength: 65536
      maxTokens: 200
`);
  },
  environment: () => ({ CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_CLI_ENABLE_TELEMETRY: '0' }),
  first: (prompt) => [...continueCli.common, prompt],
  next: (prompt) => [...continueCli.common, '--resume', prompt],
  resume: (prompt) => [...continueCli.common, '--resume', prompt],
  common: ['-p', '--auto'],
  session: () => '', // the last one
  statusInPrompt: true,
  tool: { name: 'Bash', arguments: (command) => ({ command }), result: '"role":"tool"' },
};

export const agents = { claude, codex, opencode, pi, qwen, cline, continue: continueCli };
