// One turn of a conversation that lies in a file:
//
//   node talk.mjs URL FILE QUESTION        prints "PROMPT_TOKENS CACHED_TOKENS RESTORED_FROM"
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const [url, file, question] = process.argv.slice(2);
const messages = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
messages.push({ role: 'user', content: question });
const response = await fetch(`${url}/v1/chat/completions`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ messages, temperature: 0, max_tokens: 32, cache_receipt: true }),
});
const answer = await response.json();
if (response.status !== 200) throw new Error(JSON.stringify(answer));
messages.push({ role: 'assistant', content: answer.choices[0].message.content ?? '' });
writeFileSync(file, JSON.stringify(messages));
const { prompt_tokens, prompt_tokens_details } = answer.usage;
console.log(prompt_tokens, prompt_tokens_details.cached_tokens, answer.cache_receipt.restored_from);
