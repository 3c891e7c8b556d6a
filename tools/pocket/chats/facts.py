"""Facts a user can state and later ask for: about themselves, other people, codes.

A Fact carries its wording both ways, as a statement and as questions. The pocket model recalls
what is worded like this and little else, so tests must borrow these templates.
"""

from typing import NamedTuple

from chats.phrases import with_article
from chats.sampler import Sampler
from chats.words import (
    ANIMALS, CARS, CITIES, COLOURS, DAYS, DRINKS, FIRST_NAMES, FOODS, HOBBIES, INSTRUMENTS, JOBS,
    LANGUAGES, LAST_NAMES, MONTHS, RELATIONS, SPORTS, SUBJECTS,
)

# People, who are "called" something where other attributes "are" something.
RELATIVES = (
    "best friend", "brother", "sister", "mother", "father", "neighbour", "boss", "teacher",
    "doctor",
)


class Fact(NamedTuple):
    key: str  # what the fact is about; a second fact with this key replaces the first
    statement: str
    questions: list[str]
    answer: str
    value: str
    acknowledgement: str | None = None


class FactTemplates(NamedTuple):
    """A fact with all its wordings, before one is chosen."""

    key: str
    statements: list[str]
    questions: list[str]
    answer: str
    value: str
    acknowledgements: tuple[str, ...] = ()


def draw_fact(s: Sampler) -> Fact:
    return s.mix(
        (0.35, lambda: fact_about_user(s)),
        (0.72, lambda: attribute_of_user(s)),
        (0.88, lambda: attribute_of_person(s)),
        (1.00, lambda: code_of_entity(s)),
    )


# ---- "I live in Oslo."


def fact_about_user(s: Sampler) -> Fact:
    chosen = s.choose(user_fact_templates(s))
    statement = s.choose(chosen.statements)
    acknowledgements = chosen.acknowledgements
    return Fact(chosen.key, statement, chosen.questions, chosen.answer, chosen.value,
                s.choose(acknowledgements) if acknowledgements else None)


def user_fact_templates(s: Sampler) -> list[FactTemplates]:
    """All of them, with fresh values; the caller picks one."""
    city, job = s.choose(CITIES), s.choose(JOBS)
    age, year = s.between(5, 95), s.between(1930, 2015)
    animal, name = s.choose(ANIMALS), s.choose(FIRST_NAMES)
    food, instrument, car = s.choose(FOODS), s.choose(INSTRUMENTS), s.choose(CARS)
    hobby, language = s.choose(HOBBIES), s.choose(LANGUAGES)
    weekday, month, day = s.choose(DAYS), s.choose(MONTHS), s.between(1, 28)
    a_job, an_animal = with_article(job), with_article(animal)
    return [
        FactTemplates(
            "name",
            [f"My name is {name}.", f"I am {name}.", f"I'm {name}.", f"Hi, my name is {name}.",
             f"Hello, I am {name}.", f"You can call me {name}.", f"Hi! I'm {name}."],
            ["What is my name?", "Who am I?", "Do you remember my name?", "Tell me my name.",
             "What's my name?", "Do you know my name?"],
            f"Your name is {name}.", name,
            (f"Nice to meet you, {name}.", f"Hello {name}! Nice to meet you.")),
        FactTemplates(
            "live",
            [f"I live in {city}.", f"I moved to {city}.", f"My home is in {city}.",
             f"I'm from {city}."],
            ["Where do I live?", "In which city do I live?", "Which city do I live in?"],
            f"You live in {city}.", city),
        FactTemplates(
            "job",
            [f"I work as {a_job}.", f"I am {a_job}.", f"My job is {job}.",
             f"I'm {a_job} by profession."],
            ["What is my job?", "What do I do for work?", "What do I work as?",
             "What is my profession?"],
            f"You work as {a_job}.", job),
        FactTemplates(
            "age",
            [f"I am {age} years old.", f"My age is {age}.", f"I'm {age}.", f"I am {age}."],
            ["How old am I?", "What is my age?", "Do you know how old I am?"],
            f"You are {age} years old.", str(age)),
        FactTemplates(
            "born",
            [f"I was born in {year}."],
            ["When was I born?", "In which year was I born?"],
            f"You were born in {year}.", str(year)),
        FactTemplates(
            "pet " + animal,
            [f"I have {an_animal} named {name}.", f"My {animal} is called {name}.",
             f"My {animal}'s name is {name}.", f"I have {an_animal} called {name}."],
            [f"What is my {animal} called?", f"What is the name of my {animal}?",
             f"What is my {animal}'s name?"],
            f"Your {animal} is called {name}.", name),
        FactTemplates(
            "allergy",
            [f"I am allergic to {food}.", f"I can't eat {food} because of an allergy."],
            ["What am I allergic to?", "Do I have an allergy?"],
            f"You are allergic to {food}.", food),
        FactTemplates(
            "instrument",
            [f"I play the {instrument}.", f"I can play the {instrument}."],
            ["Which instrument do I play?", "What instrument do I play?"],
            f"You play the {instrument}.", instrument),
        FactTemplates(
            "car",
            [f"I drive a {car}.", f"I have a {car}.", f"My car is a {car}."],
            ["Which car do I drive?", "What car do I have?", "What car do I drive?"],
            f"You drive a {car}.", car),
        FactTemplates(
            "hobby",
            [f"My hobby is {hobby}.", f"I like {hobby} in my free time.", f"I love {hobby}."],
            ["What is my hobby?", "What do I like to do in my free time?"],
            f"Your hobby is {hobby}.", hobby),
        FactTemplates(
            "language",
            [f"I am learning {language}.", f"I study {language}."],
            ["Which language am I learning?", "What language do I study?"],
            f"You are learning {language}.", language),
        FactTemplates(
            "birthday",
            [f"My birthday is on {month} {day}.", f"I was born on {month} {day}."],
            ["When is my birthday?", "What is my birthday?"],
            f"Your birthday is on {month} {day}.", f"{month} {day}"),
        FactTemplates(
            "meeting",
            [f"My meeting is on {weekday}.", f"I have a meeting on {weekday}."],
            ["When is my meeting?", "On which day is my meeting?"],
            f"Your meeting is on {weekday}.", weekday),
    ]


# ---- attributes: "My favourite colour is teal." "Bob's pin is 4711."


def _shoe_size(s: Sampler) -> str:
    return str(s.between(30, 48))


def _small_number(s: Sampler) -> str:
    return str(s.between(1, 999))


def _any_word(s: Sampler) -> str:
    return s.word() if s.chance(0.6) else s.capitalized()


def _password(s: Sampler) -> str:
    return s.code() if s.chance(0.5) else s.alnum()


# (attribute, pool of its values or function that draws one)
ATTRIBUTES = (
    ("favourite colour", COLOURS), ("favorite color", COLOURS), ("favourite animal", ANIMALS),
    ("favourite food", FOODS), ("favorite food", FOODS), ("favourite drink", DRINKS),
    ("favourite city", CITIES), ("favourite sport", SPORTS), ("favourite subject", SUBJECTS),
    ("best friend", FIRST_NAMES), ("brother", FIRST_NAMES), ("sister", FIRST_NAMES),
    ("mother", FIRST_NAMES), ("father", FIRST_NAMES), ("neighbour", FIRST_NAMES),
    ("boss", FIRST_NAMES), ("teacher", FIRST_NAMES), ("doctor", FIRST_NAMES),
    ("home town", CITIES), ("hometown", CITIES), ("native language", LANGUAGES),
    ("favourite month", MONTHS), ("favourite day", DAYS), ("favourite fruit", FOODS),
    ("middle name", FIRST_NAMES), ("last name", LAST_NAMES), ("surname", LAST_NAMES),
    ("shoe size", _shoe_size), ("lucky number", _small_number),
    ("phone number", Sampler.digits), ("room number", Sampler.digits), ("pin", Sampler.digits),
    ("password", _password), ("wifi password", _password), ("order number", Sampler.digits),
    ("locker number", Sampler.digits), ("favourite number", _small_number),
    ("favorite number", _small_number), ("project name", _any_word),
    ("secret word", _any_word), ("code word", _any_word), ("username", _password),
    ("ticket number", Sampler.digits), ("account number", Sampler.digits),
    ("secret code", Sampler.digits), ("license plate", _password), ("user id", Sampler.digits),
)


def draw_attribute(s: Sampler) -> tuple[str, str]:
    """An attribute and a value for it."""
    attribute, source = s.choose(ATTRIBUTES)
    return attribute, source(s) if callable(source) else s.choose(source)


def attribute_key(attribute: str) -> str:
    """One key for the British and the American spelling."""
    return attribute.replace("favorite", "favourite").replace("color", "colour")


def attribute_of_user(s: Sampler) -> Fact:
    attribute, value = draw_attribute(s)
    if attribute in RELATIVES:
        statements = [f"My {attribute} is called {value}.", f"My {attribute}'s name is {value}.",
                      f"The name of my {attribute} is {value}."]
        questions = [f"What is my {attribute} called?", f"What is the name of my {attribute}?",
                     f"What is my {attribute}'s name?"]
        answer = f"Your {attribute} is called {value}."
    else:
        statements = [f"My {attribute} is {value}."]
        if value[0].isupper():
            statements = statements * 3 + [f"{value} is my {attribute}."]
        questions = [f"What is my {attribute}?"] * 3 + [
            f"Do you remember my {attribute}?", f"Can you tell me my {attribute}?",
            f"Tell me my {attribute}.", f"What did I say my {attribute} was?",
            f"Remind me: what is my {attribute}?", f"What's my {attribute}?",
        ]
        answer = f"Your {attribute} is {value}."
    return Fact(attribute_key(attribute), s.choose(statements), questions, answer, value)


def attribute_of_person(s: Sampler) -> Fact:
    person = s.person()
    attribute, value = draw_attribute(s)
    if attribute in RELATIVES:
        attribute, value = "favourite colour", s.choose(COLOURS)
    statement = f"{person}'s {attribute} is {value}."
    questions = [
        f"What is {person}'s {attribute}?", f"Tell me {person}'s {attribute}.",
        f"Do you remember {person}'s {attribute}?", f"What is the {attribute} of {person}?",
    ]
    return Fact(person + attribute, statement, questions, statement, value)


# ---- "The secret code of Lisbon is 48213."


def code_of_entity(s: Sampler) -> Fact:
    relation, entity, value = s.choose(RELATIONS), s.entity(), s.code()
    preposition = s.choose(["of", "of", "for"])
    subject = f"the {relation} {preposition} {entity}"
    statement = f"The {relation} {preposition} {entity} is {value}."
    questions = [f"What is {subject}?", f"Tell me {subject}.", f"Do you remember {subject}?"]
    return Fact(relation + entity, statement, questions, statement, value)
