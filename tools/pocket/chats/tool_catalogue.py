"""The tools the model can be offered, each with one example of its use.

An Example is a tool's declaration with a request that needs it, the call, the result and the
answer. `catalogue` draws one Example of every tool, all with fresh values.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from chats.list_tasks import some_items
from chats.passages import sentence
from chats.sampler import Sampler
from chats.words import CITIES, DAYS, FIRST_NAMES, LANGUAGES, OBJECTS

CONDITIONS = ("sunny", "cloudy", "rainy", "windy", "snowy", "foggy", "clear")
CURRENCIES = ("EUR", "USD", "GBP", "JPY", "CHF", "SEK")
COMMANDS = ("ls", "pwd", "date", "whoami", "uname")
INVENTED_VERBS = ("get", "find", "fetch", "check", "set", "update", "delete", "make")

Schema = dict[str, Any]


class Example(NamedTuple):
    tool: Schema
    arguments: dict[str, Any]
    requests: Sequence[str]
    result: str
    answer: str

    @property
    def name(self) -> str:
        return self.tool["function"]["name"]


# ---- declarations


def declare(name: str, description: str, properties: dict[str, Schema],
            required: Sequence[str] | None = None) -> Schema:
    """A tool in the form of the OpenAI API; all properties are required unless named."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties if required is None else required),
            },
        },
    }


def typed(kind: str, description: str = "") -> Schema:
    return {"type": kind, "description": description} if description else {"type": kind}


def string(description: str = "") -> Schema:
    return typed("string", description)


READ_FILE = declare("read_file", "Read a file", {"path": string("Path of the file")})


def reworded(s: Sampler, tool: Schema) -> Schema:
    """The same declaration as other clients would send it: fields missing, added, reordered."""
    function = dict(tool["function"])
    parameters = dict(function["parameters"])
    if s.chance(0.3):
        del function["description"]
    if s.chance(0.15):
        parameters = {key: parameters[key] for key in ("type", "required", "properties")}
    if s.chance(0.15):
        parameters["additionalProperties"] = False
    function["parameters"] = parameters
    if s.chance(0.1):
        function["strict"] = s.choose([True, False])
    if s.chance(0.1):
        return {"function": function, "type": "function"}
    return {"type": "function", "function": function}


# ---- examples


@dataclass(frozen=True)
class Details:
    """Values shared by the examples of one catalogue."""

    city: str
    word: str
    a: int
    b: int
    person: str
    path: str
    symbol: str
    minutes: int
    language: str
    degrees: int
    condition: str
    code: str
    time: str
    amount: int
    currencies: list[str]
    thing: str
    day: str
    items: list[str]


def _draw_details(s: Sampler) -> Details:
    city, word = s.choose(CITIES), s.word()
    return Details(
        city=city,
        word=word,
        a=s.between(1, 99),
        b=s.between(1, 99),
        person=s.choose(FIRST_NAMES),
        path=s.choose(["notes.txt", "main.cpp", "README.md", f"data/{word}.csv", "/etc/hosts",
                       f"src/{word}.py", f"{word}.log"]),
        symbol="".join(s.choose("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(s.between(3, 4))),
        minutes=s.between(1, 90),
        language=s.choose(LANGUAGES),
        degrees=s.between(-10, 38),
        condition=s.choose(CONDITIONS),
        code=s.code(),
        time=f"{s.between(0, 23):02d}:{s.between(0, 59):02d}",
        amount=s.between(5, 900),
        currencies=s.sample(CURRENCIES, 2),
        thing=s.choose(OBJECTS),
        day=s.choose(DAYS),
        items=some_items(s, 2, 4),
    )


def _get_weather(s: Sampler, d: Details) -> Example:
    return Example(
        declare("get_weather", "Get the current weather for a city",
                {"city": string("The city name")}),
        {"city": d.city},
        [f"What is the weather in {d.city}?", f"How is the weather in {d.city}?",
         f"Weather in {d.city} please.", f"Is it cold in {d.city} today?",
         f"Tell me the weather in {d.city}."],
        s.choose([
            json.dumps({"city": d.city, "temperature": d.degrees, "condition": d.condition}),
            json.dumps({"temperature": d.degrees, "condition": d.condition}),
            f"{d.condition}, {d.degrees} C", f"{d.degrees} degrees and {d.condition}"]),
        f"The weather in {d.city} is {d.condition} with {d.degrees} degrees.")


def _get_current_weather(s: Sampler, d: Details) -> Example:
    return Example(
        declare("get_current_weather", "Get the weather",
                {"location": string("City and country"),
                 "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}, ["location"]),
        {"location": d.city},
        [f"What is the weather like in {d.city}?", f"Weather for {d.city}?"],
        json.dumps({"temperature": d.degrees, "condition": d.condition}),
        f"The weather in {d.city} is {d.condition} with {d.degrees} degrees.")


def _get_time(s: Sampler, d: Details) -> Example:
    return Example(
        declare("get_time", "Get the current time in a city", {"city": string()}),
        {"city": d.city},
        [f"What time is it in {d.city}?", f"Tell me the time in {d.city}."],
        s.choose([d.time, json.dumps({"time": d.time})]),
        f"The time in {d.city} is {d.time}.")


def _add(s: Sampler, d: Details) -> Example:
    return Example(
        declare("add", "Add two numbers", {"a": typed("number"), "b": typed("number")}),
        {"a": d.a, "b": d.b},
        [f"Add {d.a} and {d.b} with the tool.", f"Use the tool to add {d.a} and {d.b}.",
         f"What is {d.a} plus {d.b}?"],
        str(d.a + d.b), f"The result is {d.a + d.b}.")


def _calculator(s: Sampler, d: Details) -> Example:
    return Example(
        declare("calculator", "Evaluate an expression", {"expression": string("The expression")}),
        {"expression": f"{d.a} * {d.b}"},
        [f"What is {d.a} * {d.b}?", f"Compute {d.a} times {d.b}."],
        str(d.a * d.b), f"The result is {d.a * d.b}.")


def _read_file(s: Sampler, d: Details) -> Example:
    return Example(
        READ_FILE, {"path": d.path},
        [f"Read the file {d.path}.", f"Show me {d.path}.", f"What is in {d.path}?",
         f"Open {d.path}."],
        f"The code is {d.code}.", f"The file {d.path} says: The code is {d.code}.")


def _list_files(s: Sampler, d: Details) -> Example:
    files = [item + ".txt" for item in d.items]
    return Example(
        declare("list_files", "List the files of a folder", {"path": string()}),
        {"path": d.word},
        [f"List the files in {d.word}.", f"Which files are in the folder {d.word}?"],
        "\n".join(files), f"The folder {d.word} has these files: {', '.join(files)}.")


def _search(s: Sampler, d: Details) -> Example:
    query = f"{d.word} {d.thing}"
    found = sentence(s, 20, 80)
    return Example(
        declare("search", "Search the web", {"query": string("The search query")}),
        {"query": query},
        [f"Search for {query}.", f"Find {query} on the web.", f"Look up {query}."],
        json.dumps({"results": [found]}), "I found this: " + found)


def _send_email(s: Sampler, d: Details) -> Example:
    return Example(
        declare("send_email", "Send an email",
                {"to": string("Recipient"), "subject": string()}),
        {"to": d.person, "subject": d.word},
        [f"Send an email to {d.person} with the subject {d.word}.",
         f"Email {d.person} about {d.word}."],
        s.choose(["sent", json.dumps({"status": "sent"}), "ok"]),
        f"I sent the email to {d.person}.")


def _set_timer(s: Sampler, d: Details) -> Example:
    return Example(
        declare("set_timer", "Set a timer", {"minutes": typed("integer", "Number of minutes")}),
        {"minutes": d.minutes},
        [f"Set a timer for {d.minutes} minutes.", f"Start a {d.minutes} minute timer."],
        s.choose(["ok", json.dumps({"status": "ok"})]),
        f"The timer is set for {d.minutes} minutes.")


def _translate(s: Sampler, d: Details) -> Example:
    return Example(
        declare("translate", "Translate text",
                {"text": string(), "language": string("Target language")}),
        {"text": d.word, "language": d.language},
        [f"Translate {d.word} to {d.language}.", f"How do you say {d.word} in {d.language}?"],
        d.code, f"In {d.language}, {d.word} is {d.code}.")


def _get_stock_price(s: Sampler, d: Details) -> Example:
    return Example(
        declare("get_stock_price", "Get the price of a stock",
                {"symbol": string("Ticker symbol")}),
        {"symbol": d.symbol},
        [f"What is the price of {d.symbol}?", f"How much is the stock {d.symbol}?",
         f"Get the stock price of {d.symbol}."],
        s.choose([str(d.amount), json.dumps({"symbol": d.symbol, "price": d.amount})]),
        f"The price of {d.symbol} is {d.amount}.")


def _convert_currency(s: Sampler, d: Details) -> Example:
    source, target = d.currencies
    return Example(
        declare("convert_currency", "Convert money",
                {"amount": typed("number"), "from": string(), "to": string()}),
        {"amount": d.a, "from": source, "to": target},
        [f"Convert {d.a} {source} to {target}.", f"How much is {d.a} {source} in {target}?"],
        str(d.amount), f"{d.a} {source} is {d.amount} {target}.")


def _lookup_code(s: Sampler, d: Details) -> Example:
    return Example(
        declare("lookup_code", "Look up the code of a name", {"name": string()}),
        {"name": d.person},
        [f"Look up the code of {d.person}.", f"What is the code of {d.person}?",
         f"Get the code for {d.person}."],
        s.choose([d.code, json.dumps({"name": d.person, "code": d.code})]),
        f"The code of {d.person} is {d.code}.")


def _create_event(s: Sampler, d: Details) -> Example:
    return Example(
        declare("create_event", "Create a calendar event", {"title": string(), "day": string()}),
        {"title": d.word, "day": d.day},
        [f"Create an event {d.word} on {d.day}.", f"Put {d.word} on my calendar for {d.day}."],
        s.choose(["created", "ok"]), f"I created the event {d.word} on {d.day}.")


def _get_user(s: Sampler, d: Details) -> Example:
    return Example(
        declare("get_user", "Get a user by id", {"id": typed("integer")}),
        {"id": d.amount},
        [f"Get the user with id {d.amount}.", f"Who is user {d.amount}?"],
        json.dumps({"id": d.amount, "name": d.person, "city": d.city}),
        f"User {d.amount} is {d.person} from {d.city}.")


def _run_command(s: Sampler, d: Details) -> Example:
    command = s.choose(COMMANDS)
    return Example(
        declare("run_command", "Run a shell command", {"command": string()}),
        {"command": command},
        [f"Run the command {command}.", f"Execute {command} in the shell."],
        d.code, f"The command {command} printed: {d.code}")


def _play_music(s: Sampler, d: Details) -> Example:
    return Example(
        declare("play_music", "Play a song", {"song": string()}),
        {"song": d.word},
        [f"Play the song {d.word}.", f"Play {d.word}."],
        "playing", f"I am playing {d.word}.")


def _turn_on(s: Sampler, d: Details) -> Example:
    return Example(
        declare("turn_on", "Turn a device on", {"device": string()}),
        {"device": d.thing},
        [f"Turn on the {d.thing}.", f"Switch the {d.thing} on."],
        "ok", f"The {d.thing} is on.")


def _invented(s: Sampler, d: Details) -> Example:
    """A tool nobody has seen before, so that the model reads the declarations it is given."""
    value = s.word()
    s.word()  # unused; keeps the draws of a seed as they were when the model was trained
    name = s.choose(INVENTED_VERBS) + "_" + s.noun()
    parameter = s.noun()
    spoken = name.replace("_", " ")
    return Example(
        declare(name, s.choose([f"Use this to {spoken}", spoken.capitalize()]),
                {parameter: string()}),
        {parameter: value},
        [f"{spoken.capitalize()} with {parameter} {value}.",
         f"Call {name} for the {parameter} {value}.", f"Use {name} with {parameter} = {value}."],
        d.code, f"The result is {d.code}.")


EXAMPLES = (
    _get_weather, _get_current_weather, _get_time, _add, _calculator, _read_file, _list_files,
    _search, _send_email, _set_timer, _translate, _get_stock_price, _convert_currency,
    _lookup_code, _create_event, _get_user, _run_command, _play_music, _turn_on, _invented,
)


def catalogue(s: Sampler) -> list[Example]:
    details = _draw_details(s)
    return [example(s, details) for example in EXAMPLES]
