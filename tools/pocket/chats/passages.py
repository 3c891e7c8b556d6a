"""Running text: passages cut from the corpus, generated sentences, and filler for haystacks."""

import re
from collections.abc import Callable
from itertools import count

from chats.sampler import Sampler
from chats.words import (
    ADJECTIVES, ANIMALS, CITIES, COLOURS, DAYS, FIRST_NAMES, FOODS, MONTHS, OBJECTS, PLACES,
)

# How far a cut looks ahead for the next paragraph or sentence, in characters.
LOOKAHEAD = 1500

# Tries before a search for a fitting passage gives up and returns a stock sentence.
TRIES = 20

STOCK_SENTENCES = (
    "The grass is green.", "The sky is blue.", "The sun is yellow.", "Here we go.",
    "There and back again.", "The quick brown fox jumps over the lazy dog.",
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit.", "This is filler text.",
    "Nothing important is written here.", "It was a quiet day.", "The wind blew softly.",
    "Rain fell on the roof.",
)

PLAIN_SENTENCES = (
    "The {adjective} {thing} is in the {place}.",
    "{name} likes {food}.",
    "{name} went to {city} on {day}.",
    "The {thing} of the {animal} is {colour}.",
    "{name} saw a {adjective} {animal} near the {place}.",
    "In {month} the {place} is {adjective}.",
    "{name} bought {count} {thing}s in {city}.",
    "A {animal} sleeps under the {thing}.",
)

LINE_LABELS = ("Line", "Item", "Entry", "Paragraph", "Record", "Section", "Step", "Note")

LOG_LEVELS = ("INFO", "WARN", "DEBUG", "ERROR")
LOG_SOURCES = ("server", "cache", "worker", "db", "auth")
LOG_EVENTS = (
    "request done in ms", "slot freed", "cache hit", "retry", "connection closed by peer",
    "queue length",
)


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def split_sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?]) ", text)


# ---- passages of the corpus


def random_offset(s: Sampler, margin: int) -> int:
    """An offset into the corpus with `margin` characters after it, where it is that long."""
    return s.rng.randrange(max(1, len(s.corpus) - margin))


def next_start(corpus: str, offset: int) -> int:
    """The next paragraph after `offset` (in text without paragraphs: the next sentence)."""
    at = corpus.find("\n\n", offset, offset + LOOKAHEAD)
    if at < 0:
        at = corpus.find(". ", offset, offset + LOOKAHEAD)
    return offset if at < 0 else at + 2


def paragraph(s: Sampler, max_chars: int = 400, min_chars: int = 40) -> str:
    """A paragraph, or its first sentences, without markup and within one document."""
    for _ in range(TRIES):
        start = next_start(s.corpus, random_offset(s, 3000))
        end = s.corpus.find("\n\n", start, start + max_chars + 1)
        if end < 0:
            end = s.corpus.rfind(". ", start, start + max_chars) + 1
        text = s.corpus[start:end].strip()
        markup = "@@" in text or "\x00" in text or "<" in text
        if min_chars <= len(text) <= max_chars and not markup:
            return text
    return "The sky is blue and the grass is green."


def sentence(s: Sampler, min_chars: int = 20, max_chars: int = 140) -> str:
    """A whole sentence of the corpus."""

    def fits(text: str) -> bool:
        return min_chars <= len(text) <= max_chars and text[0].isupper() and text[-1] in ".!?"

    for _ in range(TRIES):
        found = [text for text in split_sentences(one_line(paragraph(s, 1500))) if fits(text)]
        if found:
            return s.choose(found)
    return (f"The {s.choose(ADJECTIVES)} {s.choose(ANIMALS)} sat near"
            f" the {s.choose(PLACES)}.")


def plain_sentence(s: Sampler) -> str:
    """A generated sentence such as "Alice likes rice."."""
    return s.choose(PLAIN_SENTENCES).format(
        adjective=s.choose(ADJECTIVES),
        thing=s.choose(OBJECTS),
        place=s.choose(PLACES),
        name=s.choose(FIRST_NAMES),
        food=s.choose(FOODS),
        city=s.choose(CITIES),
        day=s.choose(DAYS),
        animal=s.choose(ANIMALS),
        colour=s.choose(COLOURS),
        month=s.choose(MONTHS),
        count=s.between(2, 99),
    )


# ---- filler: a list of text units of about `chars` characters in all


def filler(s: Sampler, chars: int) -> list[str]:
    return s.mix(
        (0.55, lambda: running_text(s, chars)),
        (0.68, lambda: repeated_sentences(s, chars)),
        (0.80, lambda: units_until(chars, lambda: plain_sentence(s))),
        (0.88, lambda: numbered_lines(s, chars)),
        (0.94, lambda: word_lines(s, chars)),
        (1.00, lambda: log_lines(s, chars)),
    )


def units_until(chars: int, make: Callable[[], str]) -> list[str]:
    units: list[str] = []
    total = 0
    while total < chars:
        units.append(make())
        total += len(units[-1]) + 1
    return units


def running_text(s: Sampler, chars: int) -> list[str]:
    """Paragraphs of whole stretches of documents."""
    units: list[str] = []
    total = 0
    while total < chars:
        start = next_start(s.corpus, random_offset(s, chars + 5000))
        stretch = s.corpus[start:start + min(chars - total + 100, s.between(2000, 20000))]
        stretch = without_markup(stretch.partition("\x00")[0])
        units += [unit for unit in stretch.split("\n\n") if unit.strip()]
        total += len(stretch) + 10
    return units


def without_markup(stretch: str) -> str:
    """No angle brackets (they could spell a special token) and no document header."""
    stretch = stretch.replace("<", "(").replace(">", ")")
    return stretch[stretch.find("\n") + 1:] if stretch.startswith("@@") else stretch


def repeated_sentences(s: Sampler, chars: int) -> list[str]:
    if s.chance(0.7):
        base = [s.choose(STOCK_SENTENCES) for _ in range(s.between(1, 6))]
    else:
        base = list(STOCK_SENTENCES[:5])
    return units_until(chars, lambda: " ".join(base) if s.chance(0.5) else s.choose(base))


def numbered_lines(s: Sampler, chars: int) -> list[str]:
    numbers = count(s.between(0, 3))
    label = s.choose(LINE_LABELS)
    content = s.choose([
        lambda _: sentence(s),
        lambda _: plain_sentence(s),
        lambda _: s.word_line(3, 10),
        lambda _: s.choose(STOCK_SENTENCES),
        lambda number: f"This is line {number} of the text.",
    ])
    varied = s.chance(0.6)

    def line() -> str:
        number = next(numbers)
        return f"{label} {number}: {content(number) if varied else plain_sentence(s)}"

    return units_until(chars, line)


def word_lines(s: Sampler, chars: int) -> list[str]:
    pool = [s.word() for _ in range(s.between(8, 300))]

    def line() -> str:
        words = " ".join(s.choose(pool) for _ in range(s.between(5, 14)))
        return words + s.choose([".", ".", ""])

    return units_until(chars, line)


def log_lines(s: Sampler, chars: int) -> list[str]:
    now = s.between(0, 50000)

    def line() -> str:
        nonlocal now
        now += s.between(1, 60)
        clock = f"{now // 3600 % 24:02d}:{now // 60 % 60:02d}:{now % 60:02d}"
        return (f"[{clock}] {s.choose(LOG_LEVELS)} {s.choose(LOG_SOURCES)}:"
                f" {s.choose(LOG_EVENTS)} {s.between(1, 9999)}")

    return units_until(chars, line)
