"""Chats in which the model calls tools and answers from their results."""

from chats.chat import Chat, ToolCall
from chats.distractions import distract
from chats.sampler import Sampler
from chats.system import ROLES, agent_system
from chats.tool_catalogue import Example, catalogue, reworded
from chats.words import CITIES


def tools_chat(s: Sampler) -> Chat:
    """One to four turns, most of them needing a tool; the last may end on the call itself."""
    offered = _offered_tools(s)
    chat = Chat(tools=[reworded(s, example.tool) for example in offered])
    chat.system = s.choose(ROLES) if s.chance(0.5) else None
    if s.chance(0.12):
        chat.system = agent_system(s, s.between(300, 3000))
    turns = s.between(1, 4)
    for turn in range(turns):
        if s.chance(0.3):
            distract(s, chat)
        if s.chance(0.85):
            _tool_turn(s, chat, offered, last=turn == turns - 1)
        else:
            distract(s, chat)
    return chat


def _offered_tools(s: Sampler) -> list[Example]:
    examples = catalogue(s)
    count = s.between(1, 5) if s.chance(0.9) else s.between(6, 12)
    by_name: dict[str, Example] = {}
    for example in s.sample(examples, count):
        by_name.setdefault(example.name, example)  # an invented tool can take a known name
    return list(by_name.values())


def _tool_turn(s: Sampler, chat: Chat, offered: list[Example], last: bool) -> None:
    """A request for one of the offered tools, with values of its own."""
    names = {example.name for example in offered}
    usable = [example for example in catalogue(s) if example.name in names] or offered
    if s.chance(0.08) and any(example.name == "get_weather" for example in usable):
        _two_calls(s, chat)
    else:
        with_result = not last or s.chance(0.65)
        _one_call(s, chat, s.choose(usable), with_result)


def _one_call(s: Sampler, chat: Chat, example: Example, with_result: bool) -> None:
    chat.user(s.choose(example.requests))
    chat.call_tools(ToolCall(example.name, example.arguments), thought=s.choose([
        f"I need the tool {example.name} for this.", f"I should call {example.name}.",
    ]))
    if with_result:
        chat.tool_result(example.result)
        chat.assistant(example.answer, "The tool gave the answer.")


def _two_calls(s: Sampler, chat: Chat) -> None:
    """Two calls in one message, two results, one answer."""
    cities = s.sample(CITIES, 2)
    chat.user(s.choose([
        "What is the weather in %s and %s?", "Compare the weather in %s and %s.",
    ]) % tuple(cities))
    chat.call_tools(*(ToolCall("get_weather", {"city": city}) for city in cities),
                    thought="I need the tool get_weather twice.")
    degrees = [s.between(-5, 35) for _ in cities]
    conditions = s.sample(["sunny", "cloudy", "rainy", "windy"], 2)
    for condition, degree in zip(conditions, degrees):
        chat.tool_result(f"{condition}, {degree} C")
    chat.assistant(" ".join(
        f"The weather in {city} is {condition} with {degree} degrees."
        for city, condition, degree in zip(cities, conditions, degrees)),
        "The tool gave both answers.")
