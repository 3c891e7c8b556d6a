// System prompt, sampling, drafts and tools of one conversation. An empty field leaves it to the server.
import { IconButton } from '../lib/icons';
import { props } from '../lib/server';
import type { Conversation, Settings } from './model';
import { changed, keepSettings } from './store';

interface NumberField {
  name: 'temperature' | 'top_p' | 'top_k' | 'min_p' | 'repeat_penalty' | 'presence_penalty' | 'max_tokens' | 'seed';
  label: string;
  min: number;
  max?: number;
  step: number;
}

const fields: NumberField[] = [
  { name: 'temperature', label: 'Temperature', min: 0, max: 5, step: 0.1 },
  { name: 'top_p', label: 'Top p', min: 0, max: 1, step: 0.05 },
  { name: 'top_k', label: 'Top k', min: 0, step: 1 },
  { name: 'min_p', label: 'Min p', min: 0, max: 1, step: 0.01 },
  { name: 'repeat_penalty', label: 'Repeat penalty', min: 0.1, max: 5, step: 0.05 },
  { name: 'presence_penalty', label: 'Presence penalty', min: -2, max: 2, step: 0.1 },
  { name: 'max_tokens', label: 'Most tokens', min: 1, step: 1 },
  { name: 'seed', label: 'Seed', min: 0, step: 1 },
];

function usual(name: string): string {
  const value = props.value?.default_generation_settings.params[name];
  return typeof value === 'number' && value >= 0 ? String(Math.round(value * 1000) / 1000) : 'auto';
}

export function SettingsPanel({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const { settings } = conversation;
  const set = (patch: Partial<Settings>) => {
    conversation.settings = { ...settings, ...patch };
    keepSettings(conversation.settings);
    changed(conversation, 'soon');
  };
  const choice = (value: boolean | undefined) => (value === undefined ? 'auto' : value ? 'on' : 'off');
  const chosen = (text: string) => (text === 'auto' ? undefined : text === 'on');
  return (
    <aside class="settings" aria-label="Settings of this conversation">
      <header><h2>Settings</h2><IconButton icon="close" label="Close the settings" onClick={onClose} /></header>
      <label class="wide">System prompt
        <textarea rows={5} value={settings.system} onInput={(event) => set({ system: event.currentTarget.value })} />
      </label>
      <div class="grid">
        {fields.map(({ name, label, min, max, step }) => (
          <label key={name}>{label}
            <input type="number" inputMode="decimal" min={min} max={max} step={step} placeholder={usual(name)}
              value={settings[name] ?? ''} onInput={(event) =>
                set({ [name]: event.currentTarget.value === '' ? undefined : Number(event.currentTarget.value) })} />
          </label>
        ))}
        <label>Thinking
          <select value={choice(settings.thinking)} onChange={(event) => set({ thinking: chosen(event.currentTarget.value) })}>
            <option value="auto">as the template has it</option><option value="on">on</option><option value="off">off</option>
          </select>
        </label>
        <label>Drafts
          <select value={choice(settings.drafts)} onChange={(event) => set({ drafts: chosen(event.currentTarget.value) })}>
            <option value="auto">as the server has them</option><option value="off">off</option>
          </select>
        </label>
      </div>
      <details class="wide">
        <summary>Tools</summary>
        <label>OpenAI’s tools, as JSON
          <textarea rows={6} spellcheck={false} class="mono" value={settings.tools ?? ''} onInput={(event) => set({ tools: event.currentTarget.value })} />
        </label>
      </details>
      <p class="note">A change of the system prompt or the tools changes the beginning of the prompt: all that follows is read again. New
        conversations begin with these settings.</p>
    </aside>
  );
}
