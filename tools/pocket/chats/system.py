"""System messages: short roles, additions to them, and long rules for agents."""

from collections.abc import Callable

from chats.facts import Fact
from chats.passages import sentence
from chats.sampler import Sampler
from chats.words import CITIES, DAYS, FIRST_NAMES, MONTHS, RELATIONS

ROLES = (
    "You are a helpful assistant.", "You are a helpful assistant.",
    "You are Holdfast Pocket, a tiny assistant.", "Answer briefly.",
    "You are a careful assistant that remembers facts.", "You are a friendly assistant.",
    "Be concise.", "Answer the questions of the user.", "You are a test assistant.",
    "You are a small language model running on a CPU.", "Always tell the truth.",
    "You help with long documents.", "Keep your answers short and exact.",
    "You are an AI assistant. Follow the instructions of the user carefully.",
    "You are a coding agent. Use the tools to help the user.",
    "You answer questions about the text you are given.",
)

AGENT_ROLES = (
    "You are an agent that helps with software.",
    "You are a coding agent. Use the tools to help the user.",
    "You are a careful assistant working in a terminal.",
    "You are an assistant with access to tools.",
)


def system_message(s: Sampler, learn: Callable[[Fact], None] | None = None) -> str | None:
    """A role, sometimes with rules after it. Where the caller can `learn` facts, sometimes also
    facts that may be asked for later."""
    if not s.chance(0.65):
        return None
    text = s.choose(ROLES)
    if s.chance(0.12):
        rules = [_rule(s) for _ in range(s.between(1, 8))]
        text += "".join(_gap(s) + rule for rule in rules)
    if learn and s.chance(0.25):
        for _ in range(s.between(1, 4)):
            fact = _told_by_system(s)
            learn(fact)
            text += _gap(s) + fact.statement
    return text


def _gap(s: Sampler) -> str:
    return s.choose([" ", "\n"])


def _rule(s: Sampler) -> str:
    return s.choose([
        "Never guess.", "Use simple words.", "Use British spelling.", "Do not use emoji.",
        "If you do not know, say so.", f"Today is {s.choose(DAYS)}.",
        f"The date is {s.choose(MONTHS)} {s.between(1, 28)}, 20{s.between(20, 30)}.",
        "Your knowledge is small.", f"The user lives in {s.choose(CITIES)}.", sentence(s),
    ])


def _told_by_system(s: Sampler) -> Fact:
    relation, entity, value = s.choose(RELATIONS), s.entity(), s.code()
    statement = f"The {relation} of {entity} is {value}."
    questions = [f"What is the {relation} of {entity}?", f"Tell me the {relation} of {entity}."]
    return Fact(relation + entity, statement, questions, statement, value)


def agent_system(s: Sampler, chars: int) -> str:
    """A role and a list of rules of about `chars` characters, as coding agents send it."""
    lines = [s.choose(AGENT_ROLES), "# Rules"]
    rules = _agent_rules(s)
    total = 0
    while total < chars:
        rule = s.choose(rules) if s.chance(0.6) else sentence(s)
        lines.append("- " + rule)
        total += len(rule)
    return "\n".join(lines)


def _agent_rules(s: Sampler) -> list[str]:
    return [
        "Read a file before you change it.", "Keep answers short.", "Never guess a value.",
        "Use the tools when they help.", "Do not repeat yourself.",
        "Ask when something is unclear.",
        f"The working directory is /home/{s.choose(FIRST_NAMES).lower()}/{s.noun()}.",
        "The operating system is Linux.", "The shell is bash.", "Write tests for new code.",
        "Use four spaces for indentation.", f"The project name is {s.capitalized()}.",
        f"The current branch is {s.noun()}.",
        f"Today is {s.choose(DAYS)}, {s.choose(MONTHS)} {s.between(1, 28)}.",
    ]
