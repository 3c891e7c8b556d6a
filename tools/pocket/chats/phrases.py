"""Small helpers for wording: quotes, articles, ways to vary a question."""

from chats.sampler import Sampler

QUOTES = ('"%s"', "'%s'", "%s", "%s")

VALUE_ONLY = (
    " Answer with the value only.", " Reply with only the value.", " Only give the value.",
    " Answer with just the code.", " Just the value, please.", " Answer with the number only.",
)

OPENERS = ("", "Hey, ", "Now tell me: ", "Question: ", "So, ")


def quoted(s: Sampler, text: str) -> str:
    """The text in double, single or (half the time) no quotes."""
    return s.choose(QUOTES) % text


def with_article(noun: str) -> str:
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def lower_initial(text: str) -> str:
    return text[0].lower() + text[1:]


def mid_sentence(sentence: str) -> str:
    """The sentence as it reads after a comma; a leading "I" stays."""
    return sentence if sentence.startswith(("I ", "I'm")) else lower_initial(sentence)


def varied(s: Sampler, question: str) -> str:
    """The question, now and then typed carelessly or with an opener."""
    if s.chance(0.08):
        question = lower_initial(question)
    if s.chance(0.06):
        question = question.rstrip("?.")
    return s.choose(OPENERS) + question if s.chance(0.08) else question


def question_and_answer(s: Sampler, question: str, answer: str, value: str) -> tuple[str, str]:
    """One exchange; a tenth of them ask for the bare value."""
    if s.chance(0.10):
        return question + s.choose(VALUE_ONLY), value
    return varied(s, question), answer
