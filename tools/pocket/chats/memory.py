"""Chats of many turns in which the user states facts and asks for them later."""

from chats.chat import Chat
from chats.distractions import distract
from chats.facts import RELATIVES, Fact, attribute_key, draw_attribute, draw_fact
from chats.phrases import mid_sentence, question_and_answer, varied
from chats.sampler import Sampler
from chats.system import system_message

ACKNOWLEDGEMENTS = (
    "OK, I will remember that.", "Got it.", "Noted.", "Thank you, I will remember that.",
    "I have noted that.", "Understood.",
)

PREFIXES = (
    "", "", "", "Please remember: ", "Remember this: ", "By the way, ", "Note: ", "FYI: ",
    "Please note that ", "Remember that ", "Just so you know, ", "One more thing: ",
)

CORRECTION_PREFIXES = (
    "Actually, ", "Correction: ", "Update: ", "Sorry, I meant: ", "Change of plan: ", "",
)

# (key of the fact, questions, answer while the user has not told it)
UNTOLD = (
    ("name", ("What is my name?", "Who am I?", "Do you know my name?", "What's my name?"),
     "You have not told me your name."),
    ("live", ("Where do I live?", "Which city do I live in?"),
     "You have not told me where you live."),
    ("age", ("How old am I?", "What is my age?"), "You have not told me how old you are."),
    ("job", ("What is my job?", "What do I do for work?"),
     "You have not told me what your job is."),
    ("birthday", ("When is my birthday?",), "You have not told me when your birthday is."),
    ("car", ("What car do I drive?",), "You have not told me which car you drive."),
    ("hobby", ("What is my hobby?",), "You have not told me your hobby."),
)

UNTOLD_THOUGHT = "The user did not say this."


class Memory:
    """The facts told so far in one chat, and the turns that state or ask for them."""

    def __init__(self, s: Sampler):
        self._s = s
        self._facts: dict[str, Fact] = {}
        self._asked: dict[str, int] = {}  # key -> how often

    def __bool__(self) -> bool:
        return bool(self._facts)

    def learn(self, fact: Fact) -> None:
        self._facts[fact.key] = fact

    # ---- stating

    def state(self, chat: Chat) -> None:
        """The user states one to three facts; a known key makes it a correction."""
        s = self._s
        facts = self._new_facts()
        first = facts[0]
        text = self._statement(facts, correction=first.key in self._facts)
        for fact in facts:
            self.learn(fact)
        reply = self._reply(facts)
        if s.chance(0.12) and len(facts) == 1:
            chat.exchange(f"{text} {s.choose(first.questions)}", first.answer,
                          "The user just told me.")
        else:
            chat.exchange(text, reply, "The user tells me a fact.")

    def _new_facts(self) -> list[Fact]:
        facts = [draw_fact(self._s)]
        for _ in range(2):
            if not self._s.chance(0.2):
                break
            another = draw_fact(self._s)
            if another.key not in [fact.key for fact in facts]:
                facts.append(another)
        return facts

    def _statement(self, facts: list[Fact], correction: bool) -> str:
        s = self._s
        prefix = s.choose(PREFIXES)
        if correction:
            prefix = s.choose(CORRECTION_PREFIXES)
        text = facts[0].statement
        if prefix.endswith((", ", "that ")) and text.startswith(("My", "The", "You")):
            text = mid_sentence(text)
        text = prefix + text
        for fact in facts[1:]:
            if s.chance(0.45) and fact.statement.startswith(("My", "I ", "The")):
                text = f"{text[:-1]} and {mid_sentence(fact.statement)}"
            else:
                text = f"{text} {fact.statement}"
        return text

    def _reply(self, facts: list[Fact]) -> str:
        """A greeting after a name, otherwise "Got it." or "Got it. Your pin is 4711."."""
        s = self._s
        first, alone = facts[0], len(facts) == 1
        if alone and first.acknowledgement and s.chance(0.8):
            return first.acknowledgement
        if s.chance(0.6) or not alone:
            return s.choose(ACKNOWLEDGEMENTS)
        return s.choose(["Got it. %s", "OK. %s", "Noted. %s"]) % first.answer

    # ---- asking

    def ask(self, chat: Chat) -> None:
        """A question on a told fact, mostly one that was seldom asked before.

        Requires at least one fact.
        """
        s = self._s
        key = self._key_to_ask()
        self._asked[key] = self._asked.get(key, 0) + 1
        fact = self._facts[key]
        question, answer = question_and_answer(
            s, s.choose(fact.questions), fact.answer, fact.value)
        chat.exchange(question, answer, s.choose([
            f"The user told me this earlier: {fact.value}.",
            f"Earlier in the chat the user said {fact.value}.",
            f"I remember the value {fact.value}.",
            f"The user said it was {fact.value}.",
        ]))

    def _key_to_ask(self) -> str:
        s = self._s
        keys = list(self._facts)
        if s.chance(0.7):
            candidates = s.sample(keys, min(len(keys), 4))
            return min(candidates, key=lambda key: self._asked.get(key, 0))
        return s.choose(keys)

    def ask_two(self, chat: Chat) -> None:
        """Two questions in one message; one question where only one fact is known."""
        if len(self._facts) < 2:
            self.ask(chat)
            return
        s = self._s
        first, second = (self._facts[key] for key in s.sample(list(self._facts), 2))
        chat.exchange(f"{s.choose(first.questions)} {s.choose(second.questions)}",
                      f"{first.answer} {second.answer}", "The user asks about two facts.")

    def ask_untold(self, chat: Chat) -> None:
        """A question whose answer the user has not given."""
        s = self._s
        if s.chance(0.4):
            key, questions, answer = s.choose(UNTOLD)
            if key not in self._facts:
                chat.exchange(varied(s, s.choose(questions)), answer, UNTOLD_THOUGHT)
                return
        for _ in range(10):
            attribute, _value = draw_attribute(s)
            if attribute_key(attribute) not in self._facts:
                self._ask_untold_attribute(chat, attribute)
                return

    def _ask_untold_attribute(self, chat: Chat, attribute: str) -> None:
        if attribute in RELATIVES:
            chat.exchange(f"What is my {attribute} called?",
                          f"You have not told me what your {attribute} is called.",
                          UNTOLD_THOUGHT)
        else:
            question = self._s.choose(
                ["What is my %s?", "Do you remember my %s?", "Tell me my %s."]) % attribute
            chat.exchange(question, f"You have not told me your {attribute}.", UNTOLD_THOUGHT)


def facts_chat(s: Sampler, turns: int = 0, max_chars: float = float("inf")) -> Chat:
    """Facts, questions and other tasks in turn, ending on a question where one can be asked."""
    memory = Memory(s)
    chat = Chat(system=system_message(s, memory.learn))
    total = 0
    for _ in range(turns or s.between(2, 14)):
        first_new = len(chat.messages)
        _facts_turn(s, chat, memory)
        total += chat.chars_since(first_new)
        if total > max_chars:
            break
    if memory:
        memory.ask(chat)
    elif s.chance(0.5):
        memory.ask_untold(chat)
    else:
        memory.state(chat)
    return chat


def _facts_turn(s: Sampler, chat: Chat, memory: Memory) -> None:
    if not memory:
        s.mix(
            (0.06, lambda: memory.ask_untold(chat)),
            (1.00, lambda: memory.state(chat)),
        )
    else:
        s.mix(
            (0.22, lambda: memory.state(chat)),
            (0.60, lambda: memory.ask(chat)),
            (0.65, lambda: memory.ask_untold(chat)),
            (0.70, lambda: memory.ask_two(chat)),
            (1.00, lambda: distract(s, chat)),
        )
