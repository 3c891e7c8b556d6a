"""The Sampler: one seeded random stream, with the words and the text it may draw from.

Everything random in a chat comes from a Sampler, so a seed and the two resources (corpus and
WordNet extract) reproduce every chat. The order of the draws is part of that contract: changing
it is harmless for training, but the chats of a given seed are then different ones.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from chats.words import (
    ADJECTIVES, ANIMALS, BLOCKED, CITIES, COLOURS, FIRST_NAMES, FOODS, LAST_NAMES, OBJECTS,
)

T = TypeVar("T")

ALPHABETS = (
    "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789",
    "abcdef0123456789",
    "abcdefghijklmnopqrstuvwxyz0123456789",
)

# How long a number is; five digits, the usual needle length in the tests, is the commonest.
DIGIT_COUNTS = (3, 4, 4, 5, 5, 5, 5, 6, 7, 8)


class Sampler:
    """Draws choices, numbers and values.

    corpus   documents separated by NUL, each headed by a line "@@source|title"
    wordnet  {"gloss": {word: [part of speech, gloss]}, "nouns": [word, ...]}
    """

    def __init__(self, seed: int, corpus: str, wordnet: dict[str, Any]):
        self.rng = random.Random(seed)
        self.corpus = corpus
        self.glosses = wordnet["gloss"]
        self.words = [word for word in self.glosses if word not in BLOCKED]
        self.nouns = [word for word in wordnet["nouns"] if word not in BLOCKED]

    # ---- primitives

    def choose(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """`count` different options, in random order."""
        return self.rng.sample(options, count)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high], both ends included."""
        return self.rng.randint(low, high)

    def mix(self, *branches: tuple[float, Callable[[], T]]) -> T:
        """Runs one branch. Each is (upper end of its share of [0, 1), what to run); the last
        upper end is 1."""
        point = self.rng.random()
        for upper, run in branches:
            if point < upper:
                return run()
        raise ValueError("the shares must end at 1")

    # ---- values

    def digits(self, count: int = 0) -> str:
        """A number of `count` digits, or of a random length."""
        count = count or self.choose(DIGIT_COUNTS)
        return str(self.between(10 ** (count - 1), 10**count - 1))

    def alnum(self) -> str:
        length = self.between(4, 8)
        alphabet = self.choose(ALPHABETS)
        return "".join(self.choose(alphabet) for _ in range(length))

    def word(self) -> str:
        return self.choose(
            self.choose([self.words, self.nouns, OBJECTS, ANIMALS, COLOURS, FOODS]))

    def capitalized(self) -> str:
        return self.word().capitalize()

    def word_line(self, low: int, high: int) -> str:
        """Between `low` and `high` words, separated by blanks."""
        return " ".join(self.word() for _ in range(self.between(low, high)))

    def noun(self) -> str:
        return self.choose(self.choose([self.nouns, OBJECTS, ANIMALS]))

    def person(self) -> str:
        if self.chance(0.7):
            return self.choose(FIRST_NAMES)
        return self.choose(FIRST_NAMES) + " " + self.choose(LAST_NAMES)

    def code(self) -> str:
        """The value of a fact: mostly a number, sometimes letters, words or a mixture."""
        return self.mix(
            (0.55, self.digits),
            (0.65, self.alnum),
            (0.75, self.word),
            (0.83, lambda: f"{self.choose(COLOURS)}-{self.choose(ANIMALS)}-{self.digits(2)}"),
            (0.90, lambda: self.capitalized() + self.digits(2)),
            (0.95, lambda: f"{self.digits(3)}-{self.digits(4)}"),
            (1.00, lambda: f"{self.choose(ADJECTIVES)} {self.noun()}"),
        )

    def entity(self) -> str:
        """What a fact is about: a city, a person, a project, a thing."""
        return self.mix(
            (0.35, lambda: self.choose(CITIES)),
            (0.55, self.person),
            (0.65, lambda: "project " + self.capitalized()),
            (0.75, lambda: f"the {self.choose(ADJECTIVES)} {self.choose(ANIMALS)}"),
            (0.85, lambda: "the " + self.choose(OBJECTS)),
            (0.95, self.word),
            (1.00, lambda: "agent " + self.capitalized()),
        )
