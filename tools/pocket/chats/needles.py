"""Needles in a haystack: facts hidden in a long text, then questions about them."""

from dataclasses import dataclass
from typing import NamedTuple

from chats.chat import Chat, ToolCall
from chats.distractions import distract
from chats.facts import RELATIVES, draw_attribute
from chats.passages import filler
from chats.phrases import mid_sentence, question_and_answer
from chats.sampler import Sampler
from chats.system import ROLES, system_message
from chats.tool_catalogue import READ_FILE, reworded
from chats.words import ADJECTIVES, CITIES, OBJECTS, PLACES, RELATIONS

INTROS = (
    "Read the text and answer the question.",
    "Read this text carefully. I will ask you about it.",
    "Here is a long text.",
    "Some important facts are hidden in this text. Find and remember them.",
    "Please read the following document.",
    "There is a secret hidden in the text below. Memorize it.",
    "Text:",
    "Document:",
    "",
    "Remember the secret codes in this text.",
    "I will give you a text with some filler. Remember the important facts.",
    "Below is some text.",
)

# Where the text is given: with the first question, in the system message, in a turn of its own,
# in parts over several turns, or as the result of a tool.
STYLES = ("one", "one", "one", "sys", "turn", "parts", "tool")

# Units longer than this on average are paragraphs, and are separated by an empty line.
PARAGRAPH_CHARS = 150


class Needle(NamedTuple):
    key: tuple[str, ...]
    hidden: str  # the sentence as it stands in the text
    questions: list[str]
    answer: str
    value: str


# ---- needles


def draw_needle(s: Sampler) -> Needle:
    relation, entity = s.choose(RELATIONS), s.entity()
    return s.mix(
        (0.80, lambda: _code_needle(s, relation, entity)),
        (0.90, lambda: _attribute_needle(s)),
        (1.00, lambda: _place_needle(s)),
    )


def _code_needle(s: Sampler, relation: str, entity: str) -> Needle:
    value = s.code()
    preposition = s.choose(["of", "of", "of", "for"])
    subject = f"{relation} {preposition} {entity}"
    fact = f"The {subject} is {value}."
    wordings = [
        fact, fact, fact, fact, "Remember: " + mid_sentence(fact),
        "Note that " + mid_sentence(fact), "Important: " + mid_sentence(fact),
        fact + " Remember it.",
    ]
    if preposition == "for":
        wordings.append(f"One of the {relation}s for {entity} is: {value}.")
    questions = [f"What is the {subject}?"] * 3 + [
        f"Tell me the {subject}.", f"What is the {subject} mentioned in the text?",
        f"Which {relation} belongs to {entity}?", f"Find the {subject} in the text.",
        f"According to the text, what is the {subject}?",
    ]
    return Needle((relation, entity), s.choose(wordings), questions, fact, value)


def _attribute_needle(s: Sampler) -> Needle:
    person = s.person()
    attribute, value = draw_attribute(s)
    subject = f"{person}'s {attribute}"
    called = " called" if attribute in RELATIVES else ""
    fact = f"{subject} is{called} {value}."
    # A value can itself contain "called"; it is then asked for like a name.
    if "called" in fact:
        questions = [f"What is {subject} called?"]
    else:
        questions = [f"What is {subject}?", f"According to the text, what is {subject}?"]
    return Needle((person, attribute), fact, questions, fact, value)


def _place_needle(s: Sampler) -> Needle:
    city = s.choose(CITIES)
    thing = f"{s.choose(ADJECTIVES)} {s.choose(OBJECTS)}"
    place = f"the {s.choose(ADJECTIVES)} {s.choose(PLACES)}"
    fact = f"The {thing} is hidden in {place} in {city}."
    questions = [f"Where is the {thing} hidden?", f"Where is the {thing}?"]
    return Needle((thing,), fact, questions, fact, place)


def draw_needles(s: Sampler, count: int) -> list[Needle]:
    """`count` needles on different subjects."""
    needles: dict[tuple[str, ...], Needle] = {}
    while len(needles) < count:
        needle = draw_needle(s)
        needles[needle.key] = needle
    return list(needles.values())


def hide(s: Sampler, units: list[str], needles: list[str]) -> list[str]:
    """The units with the needles between them, at random places but in the given order."""
    places = sorted(s.between(0, len(units)) for _ in needles)
    text = list(units)
    for place, needle in zip(reversed(places), reversed(needles)):
        text.insert(place, needle)
    return text


# ---- chats


@dataclass
class Haystack:
    """A text with hidden needles, and the needles to ask for."""

    units: list[str]
    separator: str
    needles: list[Needle]  # in the order in which the text states them
    asked: list[Needle]
    intro: str = ""
    body: str = ""

    def hidden(self, s: Sampler) -> list[str]:
        return hide(s, self.units, [needle.hidden for needle in self.needles])


def needle_chat(s: Sampler, chars: int = 0, needles: int = 0, questions: int = 0,
                style: str = "") -> Chat:
    """A haystack of about `chars` characters. Zero or "" draws a value."""
    haystack, style = _draw_haystack(s, chars, needles, questions, style)
    chat = Chat()
    give_text = {"one": _with_question, "sys": _in_system_message, "turn": _in_own_turn,
                 "parts": _in_parts, "tool": _as_tool_result}[style]
    answered = give_text(s, chat, haystack)
    for needle in haystack.asked[answered:]:
        if s.chance(0.08):
            distract(s, chat)
        _ask(s, chat, needle)
    if style in ("one", "turn", "sys") and len(haystack.needles) > 1 and s.chance(0.15):
        _ask_for_all(s, chat, haystack)
    return chat


def _draw_haystack(s: Sampler, chars: int, count: int, questions: int,
                   style: str) -> tuple[Haystack, str]:
    needles = draw_needles(s, count or s.choose([1, 1, 1, 2, 3, 4, 6, 8]))
    count = len(needles)
    chars = chars or int(s.choose([300, 600, 1200, 2000, 3500]) * (0.6 + s.rng.random()))
    units = filler(s, chars)
    if units and sum(map(len, units)) / len(units) > PARAGRAPH_CHARS:
        separator = "\n\n"
    else:
        separator = s.choose(["\n", " ", "\n"])
    in_text_order = s.sample(needles, count)
    questions = questions or s.between(1, min(count, 4))
    style = style or s.choose(STYLES)
    asked = s.sample(needles, min(questions, count))
    asked += [s.choose(needles) for _ in range(questions - count)]
    haystack = Haystack(units, separator, in_text_order, asked)
    haystack.body = separator.join(haystack.hidden(s))
    haystack.intro = s.choose(INTROS)
    return haystack, style


# Each of the following gives the text in one style and returns how many of the questions it has
# already asked.


def _with_question(s: Sampler, chat: Chat, haystack: Haystack) -> int:
    chat.system = system_message(s)
    needle, intro, body = haystack.asked[0], haystack.intro, haystack.body
    question, answer = question_and_answer(
        s, s.choose(needle.questions), needle.answer, needle.value)
    if s.chance(0.12):
        text = f"{question}\n\n{body}"
    elif s.chance(0.15):
        text = f"{intro}\n\n{question}\n\n{body}\n\n{question}"
    else:
        opening = intro + "\n\n" if intro else ""
        label = s.choose(["", "", "Question: ", "Now answer: ", "Question: "])
        text = f"{opening}{body}\n\n{label}{question}"
    chat.exchange(text, answer, s.choose([
        f"The text says: {needle.hidden}", f"I look for it in the text: {needle.value}.",
    ]))
    return 1


def _in_system_message(s: Sampler, chat: Chat, haystack: Haystack) -> int:
    chat.system = f"{s.choose(ROLES)}\n\n{haystack.intro}\n{haystack.body}".strip()
    return 0


def _in_own_turn(s: Sampler, chat: Chat, haystack: Haystack) -> int:
    chat.system = system_message(s)
    chat.exchange(f"{haystack.intro}\n\n{haystack.body}", s.choose([
        "I have read the text.", "OK, I have read it.",
        "I have read the text. What would you like to know?",
    ]), "The user gives me a text.")
    return 0


def _in_parts(s: Sampler, chat: Chat, haystack: Haystack) -> int:
    chat.system = system_message(s)
    parts = s.between(2, 6)
    text = haystack.hidden(s)
    size = max(1, len(text) // parts)
    for number, start in enumerate(range(0, len(text), size), start=1):
        heading = s.choose([
            "Part %d:\n", "Here is part %d:\n\n", "Document %d:\n", "Chapter %d\n\n",
        ]) % number
        chat.exchange(heading + haystack.separator.join(text[start:start + size]), s.choose([
            "OK.", f"I have read part {number}.", "Understood.",
            f"Thank you, I have read part {number}.",
        ]), f"The user gives me part {number}.")
    return 0


def _as_tool_result(s: Sampler, chat: Chat, haystack: Haystack) -> int:
    path = s.noun() + ".txt"
    chat.tools = [reworded(s, READ_FILE)]
    chat.system = system_message(s)
    needle = haystack.asked[0]
    question = s.choose(needle.questions)
    chat.user(s.choose([
        "Read %s and tell me: %s", "Look into %s. %s", "Open the file %s and answer: %s",
    ]) % (path, question))
    chat.call_tools(ToolCall("read_file", {"path": path}), thought="I should call read_file.")
    chat.tool_result(haystack.body)
    chat.assistant(needle.answer, f"The file says: {needle.hidden}")
    return 1


def _ask(s: Sampler, chat: Chat, needle: Needle) -> None:
    question, answer = question_and_answer(
        s, s.choose(needle.questions), needle.answer, needle.value)
    chat.exchange(question, answer, s.choose([
        f"The text says: {needle.hidden}", f"I look for it in the text: {needle.value}.",
        f"The text gives the value {needle.value}.",
    ]))


def _ask_for_all(s: Sampler, chat: Chat, haystack: Haystack) -> None:
    chat.exchange(s.choose([
        "List all the facts I asked you to remember.", "List all the hidden facts.",
        "What were all the secrets in the text?",
    ]), "\n".join("- " + needle.answer for needle in haystack.needles),
        "I list the facts in the order of the text.")
