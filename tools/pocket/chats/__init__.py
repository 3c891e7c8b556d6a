"""Synthetic chats that teach the pocket model to recall, copy, call tools and answer.

Layers, each importing only from those before it:

    words     pools of names, things and relations
    sampler   the one source of randomness, and the values drawn with it
    passages  text from the corpus, generated sentences, filler
    phrases   quotes, articles, variations of a question
    chat      Message and Chat
    *_tasks   one question and its answer: words, lists, numbers, talk
    distractions   those tasks, weighted
    facts, system  facts with their wordings; system messages
    memory, tool_catalogue, tools, needles   the long-range families
    mix       short_chat and long_chat, the mixture for training
    render    chat to text and loss weights, as chat_template.jinja renders it
    tokens, shards   token sequences and training shards (need numpy and tokenizers)

Everything down to render needs the standard library only.
"""
