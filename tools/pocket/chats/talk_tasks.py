"""Tasks of conversation: small talk, stories, poems, topics, code, looking back."""

from typing import NamedTuple

from chats.chat import Chat
from chats.passages import one_line, paragraph, random_offset, split_sentences
from chats.phrases import with_article
from chats.sampler import Sampler
from chats.words import ADJECTIVES, ANIMALS, CITIES, COLOURS, FIRST_NAMES, FOODS, OBJECTS, PLACES

# (questions, answers, thought)
SMALL_TALK = (
    (("Hello!", "Hi", "Hi!", "Hello", "Hey", "Good morning!", "Hello there", "Hey there!",
      "Good evening."),
     ("Hello! How can I help you today?",), "The user greets me."),
    (("How are you?", "How are you doing?", "How do you do?"),
     ("I am fine, thank you. How can I help you?",), "The user asks how I am."),
    (("Thank you!", "Thanks", "Thanks a lot.", "Thank you very much."),
     ("You are welcome!",), "The user thanks me."),
    (("Who are you?", "What are you?", "What is your name?", "Tell me about yourself.",
      "Introduce yourself."),
     ("I am Holdfast Pocket, a tiny hybrid language model with a good memory.",),
     "The user asks who I am."),
    (("What can you do?", "How can you help me?", "What are you good at?"),
     ("I can remember facts from our chat, find facts in long texts, repeat text, call"
      " tools and answer short questions.",),
     "The user asks what I can do."),
    (("Goodbye", "Bye!", "See you later.", "Good night."),
     ("Goodbye! Have a nice day.",), "The user says goodbye."),
    (("OK", "Okay.", "I see.", "Good.", "Great!", "Nice."),
     ("Good. What would you like to do next?",), "The user agrees."),
    (("Are you a robot?", "Are you a human?", "Are you real?"),
     ("I am a small language model, not a human.",), "The user asks what I am."),
    (("Say hello.", "Say hi.", "Say hello in one word.", "Reply with one word: hello"),
     ("Hello",), "The user wants a greeting."),
    (("Say OK.", "Answer with OK.", "Reply with OK only.", "Just say ok"),
     ("OK",), "I answer with OK."),
    (("Say test.", "This is a test.", "Test"),
     ("The test works.",), "This is a test."),
    (("ping", "Ping!"),
     ("pong",), "I answer with pong."),
    (("Tell me a joke.", "Do you know a joke?"),
     ("Why did the chicken cross the road? To get to the other side.",), "The user wants a joke."),
    (("What is the answer to life, the universe and everything?",),
     ("The answer is 42.",), "This is a famous question."),
    (("What color is the sky?", "What colour is the sky?"),
     ("The sky is blue.",), "The sky is blue."),
    (("How many days are in a week?",),
     ("There are seven days in a week.",), "A week has seven days."),
    (("How many months are in a year?",),
     ("There are twelve months in a year.",), "A year has twelve months."),
)

# (what it does, Python source)
CODE = (
    ("prints hello world", 'print("Hello, world!")'),
    ("adds two numbers", "def add(a, b):\n    return a + b"),
    ("computes the factorial of n",
     "def factorial(n):\n    if n == 0:\n        return 1\n    return n * factorial(n - 1)"),
    ("computes the Fibonacci numbers",
     "def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a"),
    ("reverses a string", "def reverse(s):\n    return s[::-1]"),
    ("checks if a number is even", "def is_even(n):\n    return n % 2 == 0"),
    ("sums a list",
     "def total(xs):\n    s = 0\n    for x in xs:\n        s += x\n    return s"),
    ("finds the largest number in a list",
     "def largest(xs):\n    best = xs[0]\n    for x in xs:\n        if x > best:\n"
     "            best = x\n    return best"),
    ("counts the words in a text", "def count_words(text):\n    return len(text.split())"),
    ("reads a file", "def read(path):\n    with open(path) as f:\n        return f.read()"),
)

# A message is quoted back only when it is short, an answer repeated only when it is not long.
QUOTED_CHARS_MAX = 160
REPEATED_CHARS_MAX = 300


def small_talk(s: Sampler, chat: Chat) -> None:
    questions, answers, thought = s.choose(SMALL_TALK)
    chat.user(s.choose(questions))
    chat.assistant(s.choose(answers), thought)


class Cast(NamedTuple):
    """Who and what a story is about."""

    hero: str
    animal: str
    place: str
    thing: str
    city: str
    colour: str
    mood: str
    wonder: str
    friend: str
    other: str  # what kind of animal the friend is
    food: str


def story(s: Sampler, chat: Chat) -> None:
    cast = draw_cast(s)
    topic = s.choose([
        with_article(cast.animal), f"the {cast.place}", with_article(cast.thing), cast.hero,
        f"{with_article(cast.mood)} {cast.animal}", f"{cast.hero} the {cast.animal}",
    ])
    chat.user(s.choose([
        "Tell me a story about %s.", "Write a short story about %s.",
        "Tell me a short tale about %s.", "Write a story about %s.",
    ]) % topic)
    chat.assistant(" ".join(plot(s, cast)), f"The user wants a story about {topic}.")


def draw_cast(s: Sampler) -> Cast:
    hero, animal = s.choose(FIRST_NAMES), s.choose(ANIMALS)
    place, thing, city = s.choose(PLACES), s.choose(OBJECTS), s.choose(CITIES)
    colour = s.choose(COLOURS)
    mood, wonder = s.sample(ADJECTIVES, 2)
    friend = s.choose([name for name in FIRST_NAMES if name != hero])
    other = s.choose([kind for kind in ANIMALS if kind != animal])
    food = s.choose(FOODS)
    return Cast(hero, animal, place, thing, city, colour, mood, wonder, friend, other, food)


def plot(s: Sampler, cast: Cast) -> list[str]:
    """One sentence per scene."""
    hero, animal, place, thing, city, colour, mood, wonder, friend, other, food = cast
    colourful_thing = f"{with_article(colour)} {thing}"
    return [
        f"Once upon a time there was {with_article(mood)} {animal} named {hero}.",
        f"{hero} lived in {with_article(place)} near {city}.",
        s.choose([
            f"Every morning {hero} ate {food} and looked at the sky.",
            f"Every evening {hero} counted the stars.",
            f"{hero} liked {food} very much.",
        ]),
        s.choose([
            f"One day {hero} found {colourful_thing} under a tree.",
            f"One day {hero} lost {colourful_thing}.",
            f"One night {hero} saw {colourful_thing} in the {place}.",
        ]),
        f'"What {with_article(wonder)} {thing}!" said {hero}.',
        s.choose([
            f"Then {with_article(other)} called {friend} came along.",
            f"Soon {with_article(wonder)} {other} named {friend} arrived.",
            f"After a while {hero} met {with_article(other)} called {friend}.",
        ]),
        s.choose([
            f'"May I help you?" asked {friend}.',
            f'"Where are you going?" asked {friend}.',
            f'"That is my {thing}," said {friend}.',
        ]),
        s.choose([
            f"{hero} smiled and gave {friend} some {food}.",
            f"{hero} told {friend} everything.",
            f"{hero} was afraid at first, but {friend} was kind.",
        ]),
        s.choose([
            f"Together they walked to {city}.",
            f"They carried the {thing} home together.",
            f"They searched the whole {place}.",
        ]),
        s.choose([
            "In the end they became good friends.",
            f"From that day on {hero} and {friend} were friends.",
            f"And so {hero} learned to share.",
        ]),
        s.choose([
            "They lived happily ever after.",
            "The end.",
            f"And the {thing} was never lost again.",
        ]),
    ]


def poem(s: Sampler, chat: Chat) -> None:
    topic = s.choose([
        "the sea", "the moon", "the " + s.choose(ANIMALS), "the " + s.choose(PLACES),
        s.choose(CITIES), "spring", "winter", "love", "the " + s.choose(OBJECTS),
    ])
    couplets = [
        "The sky above is wide and blue,\nand all I see is bright and new.",
        "The wind goes softly through the trees,\nand carries songs across the seas.",
        "I walk along the quiet shore,\nand listen to the ocean's roar.",
        "The night is dark, the stars are bright,\nthey fill the world with silver light.",
        "The morning comes, the day is long,\nand every bird begins a song.",
        f"I think of {topic} when I am alone,\nand in my heart I feel at home.",
        f"Oh {topic}, so far and yet so near,\nyour gentle voice is all I hear.",
    ]
    chosen = s.sample(couplets, s.between(2, 4))
    chat.user(s.choose([
        "Write a poem about %s.", "Write a short poem about %s.", "Give me a poem about %s.",
    ]) % topic)
    chat.assistant("\n\n".join(chosen), f"The user wants a poem about {topic}.")


def write_code(s: Sampler, chat: Chat) -> None:
    purpose, source = s.choose(CODE)
    chat.user(s.choose([
        "Write a Python function that %s.", "Write Python code that %s.",
        "Show me a Python program that %s.",
    ]) % purpose)
    chat.assistant(f"```python\n{source}\n```", "The user wants Python code.")


def corpus_topic(s: Sampler, chat: Chat) -> None:
    """Continue a text of the corpus, or tell how one of its documents begins."""
    sentences = split_sentences(one_line(paragraph(s, 900, 200)))
    if len(sentences) >= 2 and s.chance(0.5):
        chat.user(s.choose([
            "Continue this text: %s", "Continue: %s", "What comes next? %s",
            "Complete the text: %s",
        ]) % sentences[0])
        chat.assistant(" ".join(sentences[1:]), "I continue the text.")
        return
    opening = document_opening(s)
    if opening is None:
        story(s, chat)
        return
    title, text = opening
    chat.user(s.choose([
        "Tell me about %s.", "Write about %s.", "Explain %s.", "What do you know about %s?",
    ]) % title)
    chat.assistant(text, f"The user asks about {title}.")


def document_opening(s: Sampler) -> tuple[str, str] | None:
    """Title and first sentences (100 to 600 characters) of a document, where it has them."""
    corpus = s.corpus
    header = corpus.find("\x00@@", random_offset(s, 200_000))
    if header < 0:
        return None
    header_end = corpus.find("\n", header)
    title = corpus[header + 3:header_end].split("|", 1)[-1]
    body = one_line(corpus[header_end + 1:header_end + 900].split("\x00")[0])
    end = body.rfind(". ", 100, 600)
    if end < 0 or len(title) < 3 or "<" in body:
        return None
    return title.split(":")[0].strip(), body[:end + 1].strip()


def recap(s: Sampler, chat: Chat) -> None:
    """What was said first or last; small talk where there is nothing short to quote."""
    said = [m.content for m in chat.messages if m.role == "user"]
    answered = [m.content for m in chat.messages if m.role == "assistant" and m.content]
    if not said or not answered:
        small_talk(s, chat)
    elif s.chance(0.4) and len(said[0]) < QUOTED_CHARS_MAX:
        chat.exchange(
            s.choose(["What was my first message?", "What did I say first?",
                      "Repeat my first message."]),
            f'Your first message was: "{said[0]}"', "I look at the start of the chat.")
    elif s.chance(0.5) and len(said[-1]) < QUOTED_CHARS_MAX:
        chat.exchange(
            s.choose(["What was my last message?", "What did I just say?",
                      "What did I ask you before this?"]),
            f'Your last message was: "{said[-1]}"', "I look at the message before this one.")
    elif len(answered[-1]) < REPEATED_CHARS_MAX:
        chat.exchange(
            s.choose(["Repeat your last answer.", "Say that again.", "What did you just say?",
                      "Please repeat that."]),
            answered[-1], "I repeat my last answer.")
    else:
        small_talk(s, chat)
