"""Tasks on lists, tables and fields: count, pick, reverse, extract, look up, write JSON."""

import json
from typing import Any

from chats.chat import Chat
from chats.passages import STOCK_SENTENCES
from chats.sampler import Sampler
from chats.words import (
    ANIMALS, CITIES, COLOURS, COUNTRIES, DAYS, FIRST_NAMES, FOODS, INSTRUMENTS, JOBS, LANGUAGES,
    MONTHS, NUMBER_WORDS, OBJECTS, ORDINALS, RELATIONS, SPORTS,
)

# (what the question calls them, pool)
KINDS_TO_LIST = (
    ("animals", ANIMALS), ("colours", COLOURS), ("colors", COLOURS), ("cities", CITIES),
    ("names", FIRST_NAMES), ("foods", FOODS), ("jobs", JOBS), ("instruments", INSTRUMENTS),
    ("sports", SPORTS), ("languages", LANGUAGES), ("objects", OBJECTS),
    ("countries", COUNTRIES),
)

# (what the question calls them, pool, sentences that mention one)
KINDS_TO_EXTRACT = (
    ("animals", ANIMALS, ("A {} sat near the door.", "We saw a {} on the road.",
                          "There was a {} in the garden.")),
    ("colours", COLOURS, ("The door was {}.", "She wore a {} coat.", "He bought a {} lamp.")),
    ("cities", CITIES, ("We flew to {}.", "Then we went to {}.", "My friend lives in {}.")),
    ("names", FIRST_NAMES, ("I met {} there.", "{} was late.", "Then {} came in.")),
    ("foods", FOODS, ("We ate {}.", "The shop sells {}.", "She cooked {}.")),
    ("jobs", JOBS, ("He is a {}.", "The {} was tired.", "She talked to the {}.")),
)

TABLE_COLUMNS = RELATIONS + ("value", "number", "score", "price", "extension", "colour")
TABLE_SEPARATORS = (": ", " = ", " - ", " -> ", " | ", ", ")


def some_items(s: Sampler, low: int = 2, high: int = 9) -> list[str]:
    """Between `low` and `high` different words of one kind."""
    pool = s.choose([ANIMALS, COLOURS, FOODS, OBJECTS, CITIES, FIRST_NAMES, JOBS, s.nouns])
    return s.sample(pool, s.between(low, high))


def count_items(s: Sampler, chat: Chat) -> None:
    items = some_items(s)
    chat.user(s.choose([
        "How many items are in this list: %s?", "Count the items: %s",
        "How many words are listed here: %s?", "Count these: %s.",
    ]) % ", ".join(items))
    counting = ", ".join(str(i + 1) for i in range(len(items)))
    chat.assistant(f"There are {len(items)} items.", f"I count {counting}.")


def nth_item(s: Sampler, chat: Chat) -> None:
    items = some_items(s, 3, 9)
    i = s.between(0, len(items) - 1)
    say_last = i == len(items) - 1 and s.chance(0.5)
    which = "last" if say_last else ORDINALS[i]
    chat.user(s.choose([
        "What is the %s item in this list: %s?", "Which is the %s of these: %s?",
        "Pick the %s item from: %s.", "Take this list and give me the %s element: %s",
    ]) % (which, ", ".join(items)))
    chat.assistant(f"The {which} item is {items[i]}.",
                   f"The list starts with {items[0]}; the {which} item is {items[i]}.")


def rearrange_list(s: Sampler, chat: Chat) -> None:
    """Reverse a list, or write it as bullets."""
    items = some_items(s, 2, 6)
    if s.chance(0.5):
        chat.user(s.choose([
            "Reverse this list: %s", "Write these in reverse order: %s",
        ]) % ", ".join(items))
        chat.assistant(", ".join(reversed(items)), "The last item comes first.")
    else:
        chat.user(s.choose([
            "Make a bullet list of these: %s", "Write these as a list, one per line: %s",
            "Turn this into a bullet list: %s",
        ]) % ", ".join(items))
        chat.assistant("\n".join("- " + item for item in items), "One item per line.")


def list_some(s: Sampler, chat: Chat) -> None:
    """A given number of things of a kind, any will do."""
    kind, pool = s.choose(KINDS_TO_LIST)
    count = s.between(2, 10)
    number = str(count) if s.chance(0.6) else NUMBER_WORDS[count]
    items = s.sample(pool, count)
    chat.user(s.choose([
        "List %s %s.", "Name %s %s.", "Give me %s %s.", "Tell me %s %s.",
    ]) % (number, kind))
    if s.chance(0.5):
        answer = ", ".join(items) + "."
    else:
        answer = "\n".join(f"{i}. {item}" for i, item in enumerate(items, start=1))
    chat.assistant(answer, f"The user wants {count} {kind}.")


def extract(s: Sampler, chat: Chat) -> None:
    """Find the things of a kind that a short text mentions."""
    count = s.between(2, 5)
    kind, pool, mentions = s.choose(KINDS_TO_EXTRACT)
    items = s.sample(pool, count)
    text = []
    for item in items:
        text.append(s.choose(mentions).format(item))
        if s.chance(0.4):
            text.append(s.choose(STOCK_SENTENCES))
    chat.user(s.choose([
        "List the %s in this text: %s", "Which %s are mentioned? %s",
        "Find all %s in the text: %s",
    ]) % (kind, " ".join(text)))
    chat.assistant(", ".join(items), f"The text names {' and '.join(items[:2])}.")


def write_json(s: Sampler, chat: Chat) -> None:
    """Values in running text, given in another order than the fields that are asked for."""
    record = some_record(s)
    fields = s.sample(list(record), s.between(1, 5))
    given = fields[:]
    s.rng.shuffle(given)

    def shown(value: Any) -> str:
        return json.dumps(value) if isinstance(value, bool) else str(value)

    chat.user(s.choose([
        "Return a JSON object with the fields %s. The values are: %s.",
        "Write JSON with the keys %s from this text: %s.", "Answer in JSON with %s. Data: %s.",
        "Extract %s as JSON from: %s.",
    ]) % (", ".join(fields), s.choose([", ", "; "]).join(
        s.choose(["%s is %s", "%s: %s", "%s = %s"]) % (name, shown(record[name]))
        for name in given)))
    chat.assistant(json.dumps({name: record[name] for name in fields}),
                   f"I need the fields {', '.join(fields)}.")


def some_record(s: Sampler) -> dict[str, Any]:
    return {
        "name": s.person(), "age": s.between(1, 99), "city": s.choose(CITIES),
        "job": s.choose(JOBS), "color": s.choose(COLOURS), "pet": s.choose(ANIMALS),
        "id": int(s.digits(4)), "code": s.code(),
        "email": s.choose(FIRST_NAMES).lower() + "@example.com", "food": s.choose(FOODS),
        "active": s.choose([True, False]), "price": s.between(1, 500),
        "product": s.choose(OBJECTS), "count": s.between(1, 50), "day": s.choose(DAYS),
        "month": s.choose(MONTHS), "year": s.between(1900, 2030),
        "language": s.choose(LANGUAGES), "title": s.word() + " " + s.word(),
    }


def look_up(s: Sampler, chat: Chat, rows: int = 0, questions: int = 0) -> None:
    """A table of names and values, then questions on some of its rows; 0 draws a size."""
    rows = rows or s.between(3, 25)
    pool = s.choose([FIRST_NAMES, CITIES, ANIMALS, OBJECTS, s.nouns])
    names = s.sample(pool, min(rows, len(pool)))
    value = s.choose([
        s.digits, lambda: s.digits(4), lambda: s.choose(COLOURS), s.code, s.word,
    ])
    column = s.choose(TABLE_COLUMNS)
    separator = s.choose(TABLE_SEPARATORS)
    table = [(name, value()) for name in names]
    head = s.choose([
        "Here is a table with the %s of each entry:", "This list gives the %s for each name:",
        "Remember the %s of each one:", "Table of %s:",
    ]) % column
    body = "\n".join(name + separator + entry for name, entry in table)
    asked = s.sample(table, min(questions or s.between(1, 4), len(table)))
    for i, (name, entry) in enumerate(asked):
        question = s.choose([
            "What is the %s of %s?", "Which %s does %s have?", "Look up the %s of %s.",
            "Give me the %s of %s.", "Tell me the %s of %s.",
        ]) % (column, name)
        chat.user(f"{head}\n{body}\n\n{question}" if i == 0 else question)
        chat.assistant(f"The {column} of {name} is {entry}.", s.choose([
            f"I look for {name} in the table.", f"The table says {name}{separator}{entry}.",
        ]))
