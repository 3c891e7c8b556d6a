"""Tasks with one right answer known by heart: sums, counting, sequences, capitals."""

from chats.chat import Chat
from chats.sampler import Sampler
from chats.words import CAPITALS, COUNTRIES, DAYS, MONTHS, NUMBER_WORDS


def arithmetic(s: Sampler, chat: Chat) -> None:
    """Sums up to 198 and differences down to 0."""
    if s.chance(0.75):
        top = 20 if s.chance(0.5) else 99
        a, b = s.between(0, top), s.between(0, top)
        chat.user(s.choose([
            "What is %d + %d?", "Add %d and %d.", "Compute %d + %d.", "%d + %d = ?",
            "How much is %d plus %d?", "Calculate %d + %d.", "What is %d+%d?", "%d+%d",
            "What's %d+%d?",
        ]) % (a, b))
        chat.assistant(f"{a} + {b} = {a + b}.", f"Add the two numbers {a} and {b}.")
    else:
        a, b = sorted((s.between(0, 50), s.between(0, 50)), reverse=True)
        chat.user(s.choose([
            "What is %d - %d?", "Compute %d - %d.", "How much is %d minus %d?",
        ]) % (a, b))
        chat.assistant(f"{a} - {b} = {a - b}.", f"Subtract the two numbers {a} and {b}.")


def recite(s: Sampler, chat: Chat) -> None:
    """Numbers in order, or the alphabet, the days, the months."""
    s.mix(
        (0.60, lambda: count_up(s, chat)),
        (0.75, lambda: chat.exchange(
            s.choose(["Say the alphabet.", "Write the alphabet.",
                      "List the letters of the alphabet."]),
            " ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "The alphabet has 26 letters.")),
        (0.88, lambda: chat.exchange(
            s.choose(["List the days of the week.", "What are the days of the week?"]),
            ", ".join(DAYS), "There are seven days.")),
        (1.00, lambda: chat.exchange(
            s.choose(["List the months of the year.", "What are the months of the year?"]),
            ", ".join(MONTHS), "There are twelve months.")),
    )


def count_up(s: Sampler, chat: Chat) -> None:
    first = 1 if s.chance(0.6) else s.between(2, 60)
    last = first + (s.between(3, 40) if s.chance(0.85) else s.between(40, 99))
    if first == 1 and s.chance(0.35):
        template = s.choose(["Count to %s.", "Can you count to %s?", "Please count up to %s."])
        spelled = last < len(NUMBER_WORDS) and s.chance(0.4)
        chat.user(template % (NUMBER_WORDS[last] if spelled else last))
    else:
        chat.user(s.choose([
            "Count from %d to %d.", "Write the numbers from %d to %d.",
            "List all numbers between %d and %d, inclusive.", "Please count from %d up to %d.",
        ]) % (first, last))
    chat.assistant(", ".join(str(i) for i in range(first, last + 1)),
                   f"I count from {first} up to {last}.")


def capital(s: Sampler, chat: Chat) -> None:
    country = s.choose(COUNTRIES)
    city = CAPITALS[country]
    if s.chance(0.75):
        chat.user(s.choose([
            "What is the capital of %s?", "Name the capital of %s.",
            "Which city is the capital of %s?", "Capital of %s?",
        ]) % country)
        chat.assistant(f"The capital of {country} is {city}.",
                       f"The user asks for the capital of {country}.")
    else:
        chat.user(s.choose([
            "Which country has the capital %s?", "%s is the capital of which country?",
        ]) % city)
        chat.assistant(f"{city} is the capital of {country}.",
                       f"I know that {city} is in {country}.")
