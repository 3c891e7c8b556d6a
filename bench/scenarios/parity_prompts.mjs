// Twenty prompts for the comparison token by token: ten chats, ten token arrays.

const user = (content) => ({ role: 'user', content });
const assistant = (content) => ({ role: 'assistant', content });
const system = (content) => ({ role: 'system', content });

// Worded like the pocket model's training, so that its answers mean something.
function chats(words) {
  return [
    [user('The secret code of Lisbon is 48213. What is the secret code of Lisbon?')],
    [user('Count to 40.')],
    [user('I live in Oslo. My dog is called Bruno.'), assistant('I will remember that.'), user('What is my dog called?')],
    [system('You are a helpful assistant.'), user('What is the capital of France?')],
    [user(`Repeat this text: ${words(60)}`)],
    [user('Hello! How are you today?'), assistant('I am fine, thank you.'), user('Tell me a short story.')],
    [user('Give me the JSON of name: Ann, age: 31, city: Rome.')],
    [system(words(150)), user('My favourite colour is teal.'), assistant('A good choice.'), user('What is my favourite colour?')],
    [user(`${words(700)} The secret code of Bern is 90817. ${words(700)} What is the secret code of Bern?`)],
    [user(`${words(1800)} What is the secret code of Cairo? It is 11873.`)],
  ];
}

// Lengths on both sides of the batch sizes that the engine treats differently.
const token_lengths = [1, 2, 17, 63, 64, 129, 511, 513, 1300, 3000];

export async function parityPrompts(maker) {
  const prompts = chats((count) => maker.text(count)).map((messages, i) => ({
    name: `chat ${i + 1}`,
    path: '/v1/chat/completions',
    // Thinking on and off in turn.
    body: { messages, logprobs: true, chat_template_kwargs: { enable_thinking: i % 2 === 0 } },
  }));
  for (const length of token_lengths) {
    prompts.push({
      name: `${length} token${length > 1 ? 's' : ''}`,
      path: '/v1/completions',
      body: { prompt: await maker.tokens(length), logprobs: 1 },
    });
  }
  return prompts;
}
