"""Tasks on words and letters: repeat, define, spell, change case, find a neighbour.

A task is a function (sampler, chat) that appends one question and its answer to the chat.
"""

from chats.chat import Chat
from chats.passages import plain_sentence, sentence
from chats.phrases import quoted
from chats.sampler import Sampler
from chats.words import ADJECTIVES, ANIMALS, CITIES, FIRST_NAMES, NUMBER_WORDS


def repeat(s: Sampler, chat: Chat) -> None:
    text = s.mix(
        (0.35, lambda: s.word_line(1, 8)),
        (0.60, lambda: sentence(s)),
        (0.80, lambda: " ".join(s.code() for _ in range(s.between(1, 4)))),
        (1.00, lambda: plain_sentence(s)),
    )
    chat.user(s.choose([
        "Repeat after me: %s", "Say exactly: %s", "Repeat: %s", "Please repeat this: %s",
        "Echo: %s", "Repeat the following text exactly: %s", "Say: %s", "Copy this: %s",
        "Write exactly this: %s", "Please say %s",
    ]) % text)
    chat.assistant(text, s.choose([
        "The user wants me to repeat the text.", "I must repeat it exactly.", "I copy the text.",
    ]))


def say_times(s: Sampler, chat: Chat) -> None:
    times = s.between(2, 12)
    word = s.choose([
        s.word(), s.choose(FIRST_NAMES), "hello", "yes", "test", "ok",
        s.choose(ADJECTIVES) + " " + s.choose(ANIMALS),
    ])
    number = str(times) if s.chance(0.6) else NUMBER_WORDS[times]
    chat.user(s.choose([
        "Say %s %s times.", "Write %s %s times.", "Repeat the word %s %s times.",
        "Please say %s %s times.",
    ]) % (quoted(s, word), number))
    chat.assistant(" ".join([word] * times), f"I write {word} {times} times.")


def define(s: Sampler, chat: Chat) -> None:
    word = s.choose(s.words)
    part_of_speech, gloss = s.glosses[word]
    chat.user(s.choose([
        "Define the word %s.", "What does %s mean?", "Define %s.",
        "What is the meaning of the word %s?", "Give me a definition of %s.",
        "Explain the word %s.",
    ]) % quoted(s, word))
    chat.assistant(f"{word.capitalize()} ({part_of_speech}): {gloss.rstrip('.')}.",
                   f"The user asks for the meaning of {word}.")


def change_case(s: Sampler, chat: Chat) -> None:
    words = " ".join(s.word() for _ in range(s.choose([1, 1, 1, 2, 3])))
    if s.chance(0.65):
        chat.user(s.choose([
            "Write %s in upper case.", "Convert %s to uppercase.", "Make %s upper case.",
            "Uppercase this: %s", "Put %s in capital letters.",
        ]) % quoted(s, words))
        chat.assistant(words.upper(), "I write every letter as a capital letter.")
    else:
        chat.user(s.choose([
            "Write %s in lower case.", "Convert %s to lowercase.", "Make %s lower case.",
            "Lowercase this: %s",
        ]) % quoted(s, words.upper()))
        chat.assistant(words.lower(), "I write every letter as a small letter.")


def spell(s: Sampler, chat: Chat) -> None:
    draw = s.choose([s.word, lambda: s.choose(CITIES), lambda: s.choose(FIRST_NAMES)])
    word = draw()
    chat.user(s.choose([
        "Spell the word %s.", "Spell %s.", "How do you spell %s?",
        "Please spell %s letter by letter.",
    ]) % quoted(s, word))
    chat.assistant("-".join(word), f"I write the letters of {word} one by one.")


def neighbour_word(s: Sampler, chat: Chat) -> None:
    """The word after or before a given one, in a line of random words."""
    words = s.sample(s.words, s.between(6, 25))
    i = s.between(1, len(words) - 2)
    after = s.chance(0.5)
    if after:
        templates = ["Here are some words: %s. Which word comes after %s?",
                     "Words: %s. What word follows %s?"]
    else:
        templates = ["Here are some words: %s. Which word comes before %s?",
                     "Words: %s. What word is before %s?"]
    side, neighbour = ("after", words[i + 1]) if after else ("before", words[i - 1])
    chat.user(s.choose(templates) % (" ".join(words), quoted(s, words[i])))
    chat.assistant(f"The word {side} {words[i]} is {neighbour}.",
                   f"I look for {words[i]} in the list.")
