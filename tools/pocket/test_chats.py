"""Tests of the synthetic chats, the chat template and the tokenizer file.

    python3 test_chats.py

Standard library only; the template tests use jinja2 where it is installed. Takes seconds.
"""

import json
import unittest
from functools import partial

from chats.chat import Chat, Message, ToolCall
from chats.distractions import DISTRACTIONS
from chats.facts import Fact, draw_fact
from chats.list_tasks import look_up
from chats.memory import Memory, facts_chat
from chats.mix import copy_chat, long_chat, short_chat, table_chat, tasks_chat
from chats.needles import STYLES, hide, needle_chat
from chats.passages import filler, plain_sentence
from chats.render import CONTEXT_WEIGHT, SPECIAL_TOKENS, render
from chats.sampler import Sampler
from chats.tool_catalogue import EXAMPLES, catalogue, reworded
from chats.tools import tools_chat
from chats.words import BLOCKED, PLACES
from shape import VOCAB
from workdir import CHAT_TEMPLATE, SHIPPED_TOKENIZER

try:
    import jinja2
except ImportError:
    jinja2 = None

SEEDS = range(25)

WORDNET = {
    "gloss": {f"word{letter}{other}": ["noun", f"the word with {letter} and {other}"]
              for letter in "abcdefgh" for other in "ijklmnop"} | {"kill": ["verb", "blocked"]},
    "nouns": [*PLACES, "slave"],
}


def small_corpus() -> str:
    """Documents of generated paragraphs, about 200 KB."""
    s = Sampler(1, "", WORDNET)
    documents = []
    for number in range(80):
        paragraphs = [" ".join(plain_sentence(s) for _ in range(6)) for _ in range(12)]
        documents.append(f"@@test|Document {number}: about {s.noun()}\n" + "\n\n".join(paragraphs))
    return "\x00".join(documents)


CORPUS = small_corpus()

CHAT_KINDS = {
    "facts": facts_chat,
    "tools": tools_chat,
    "tasks": tasks_chat,
    "table": table_chat,
    "copy": copy_chat,
    "short": short_chat,
    "long": partial(long_chat, chars=9000),
    **{f"needles, {style}": partial(needle_chat, style=style) for style in set(STYLES)},
}


def sampler(seed: int = 0) -> Sampler:
    return Sampler(seed, CORPUS, WORDNET)


class ChatTest(unittest.TestCase):
    def assert_well_formed(self, chat: Chat) -> None:
        self.assertTrue(chat.messages)
        before = None
        for message in chat.messages:
            self.assert_may_follow(before, message)
            self.assert_clean(message)
            before = message
        self.assertEqual(before.role, "assistant")

    def assert_may_follow(self, before: Message | None, message: Message) -> None:
        allowed = {"user": ["assistant"], "tool": ["assistant", "tool"], "assistant": ["user"]}
        if before is None:
            self.assertEqual(message.role, "user")
        elif before.calls:
            self.assertIn(message.role, ("tool", "user"))  # a call may stay unanswered
        else:
            self.assertIn(message.role, allowed[before.role])

    def assert_clean(self, message: Message) -> None:
        self.assertEqual(message.content, message.content.strip())
        self.assertTrue(message.content or message.calls)
        if message.role == "assistant":
            self.assertTrue(message.thought)
        for token in SPECIAL_TOKENS:
            self.assertNotIn(token, message.content + message.thought)


class Tasks(ChatTest):
    def test_every_task_asks_and_answers(self):
        for task in {*DISTRACTIONS, look_up}:
            for seed in SEEDS:
                with self.subTest(task=task.__name__, seed=seed):
                    chat = Chat()
                    task(sampler(seed), chat)
                    self.assert_well_formed(chat)

    def test_blocked_words_are_never_drawn(self):
        s = sampler()
        self.assertFalse(BLOCKED.intersection(s.words + s.nouns))


class Chats(ChatTest):
    def test_every_kind_is_well_formed(self):
        for kind, make in CHAT_KINDS.items():
            for seed in SEEDS:
                with self.subTest(kind=kind, seed=seed):
                    self.assert_well_formed(make(sampler(seed)))

    def test_a_seed_reproduces_its_chat(self):
        for kind, make in CHAT_KINDS.items():
            with self.subTest(kind=kind):
                self.assertEqual(make(sampler(7)), make(sampler(7)))
                self.assertNotEqual(make(sampler(7)), make(sampler(8)))

    def test_long_chats_have_about_the_size_asked_for(self):
        for seed in SEEDS:
            s = sampler(seed)
            size = len(render(s, long_chat(s, 20000)).text)
            self.assertTrue(2000 < size < 30000, (seed, size))


class Facts(ChatTest):
    def test_the_answer_and_a_statement_name_the_value(self):
        s = sampler()
        for _ in range(500):
            fact = draw_fact(s)
            self.assertIn(fact.value, fact.statement)
            self.assertIn(fact.value, fact.answer)

    def test_the_latest_value_is_recalled(self):
        memory, chat = Memory(sampler()), Chat()
        for value in ("1111", "2222"):
            memory.learn(Fact("pin", f"My pin is {value}.", ["What is my pin?"],
                              f"Your pin is {value}.", value))
        memory.ask(chat)
        self.assertIn("2222", chat.messages[-1].content)


class Needles(ChatTest):
    def test_every_answer_stands_in_the_text(self):
        for seed in SEEDS:
            chat = needle_chat(sampler(seed), chars=3000, needles=8, questions=1, style="one")
            question, answer = chat.messages[:2]
            value = answer.content.removesuffix(".").split(" is ")[-1]
            self.assertIn(value.removeprefix("called ").removeprefix("hidden in "),
                          question.content)

    def test_hiding_keeps_units_and_order(self):
        units, needles = list("abcdef"), ["1", "2", "3"]
        hidden = hide(sampler(), units, needles)
        self.assertEqual([x for x in hidden if x in units], units)
        self.assertEqual([x for x in hidden if x in needles], needles)

    def test_filler_reaches_its_size(self):
        for seed in SEEDS:
            units = filler(sampler(seed), 2000)
            self.assertGreater(sum(map(len, units)) + 11 * len(units), 2000)


class Tools(ChatTest):
    def test_calls_use_offered_tools(self):
        calls = 0
        for seed in range(100):
            chat = tools_chat(sampler(seed))
            offered = {tool["function"]["name"] for tool in chat.tools}
            for call in (call for message in chat.messages for call in message.calls):
                self.assertIn(call.name, offered)
                calls += 1
        self.assertGreater(calls, 100)

    def test_examples_satisfy_their_own_schema(self):
        examples = catalogue(sampler())
        self.assertEqual(len(examples), len(EXAMPLES))
        for example in examples:
            parameters = example.tool["function"]["parameters"]
            self.assertLessEqual(set(parameters["required"]), set(example.arguments))
            self.assertLessEqual(set(example.arguments), set(parameters["properties"]))

    def test_rewording_leaves_the_original_alone(self):
        s = sampler()
        for example in catalogue(s):
            before = json.dumps(example.tool)
            for _ in range(20):
                self.assertEqual(reworded(s, example.tool)["function"]["name"], example.name)
            self.assertEqual(json.dumps(example.tool), before)


class Rendering(ChatTest):
    def test_weights_begin_at_the_start_and_rise(self):
        s = sampler()
        rendered = render(s, short_chat(s), answer_weight=4.0)
        starts = [start for start, _ in rendered.weights]
        self.assertEqual(starts[0], 0)
        self.assertEqual(starts, sorted(set(starts)))
        self.assertLess(starts[-1], len(rendered.text))

    def test_only_what_the_assistant_writes_weighs(self):
        chat = Chat()
        chat.exchange("ping", "pong", "I answer with pong.")
        text, weights = render(sampler(), chat, think_share=1, answer_weight=4.0)
        ends = [start for start, _ in weights[1:]] + [len(text)]
        heavy = "".join(text[start:end] for (start, weight), end in zip(weights, ends)
                        if weight != CONTEXT_WEIGHT)
        self.assertEqual(heavy, "I answer with pong.\n</think>\n\npong<|im_end|>")


@unittest.skipIf(jinja2 is None, "jinja2 is not installed")
class Template(ChatTest):
    def setUp(self):
        environment = jinja2.Environment()
        # As llama.cpp and transformers define it; jinja2's own escapes HTML.
        environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
        self.template = environment.from_string(CHAT_TEMPLATE.read_text(encoding="utf-8"))

    def as_api_messages(self, chat: Chat, thoughts: bool) -> list[dict]:
        messages = [{"role": "system", "content": chat.system}] if chat.system else []
        for message in chat.messages:
            entry = {"role": message.role, "content": message.content}
            if thoughts and message.thought:
                entry["reasoning_content"] = message.thought
            if message.calls:
                entry["tool_calls"] = [{"type": "function", "function": call._asdict()}
                                       for call in message.calls]
            messages.append(entry)
        return messages

    def test_renders_what_the_model_was_trained_on(self):
        for kind, make in CHAT_KINDS.items():
            for seed in SEEDS:
                for thoughts in (False, True):
                    with self.subTest(kind=kind, seed=seed, thoughts=thoughts):
                        s = sampler(seed)
                        chat = make(s)
                        expected = render(s, chat, think_share=float(thoughts)).text
                        rendered = self.template.render(
                            messages=self.as_api_messages(chat, thoughts), tools=chat.tools)
                        self.assertEqual(rendered, expected)

    def test_parallel_calls_and_results_share_a_message(self):
        chat = Chat(tools=[example.tool for example in catalogue(sampler())][:1])
        chat.user("Compare the weather.")
        chat.call_tools(ToolCall("get_weather", {"city": "Oslo"}),
                        ToolCall("get_weather", {"city": "Rome"}), thought="Twice.")
        chat.tool_result("sunny")
        chat.tool_result("rainy")
        text = self.template.render(messages=self.as_api_messages(chat, False), tools=chat.tools,
                                    add_generation_prompt=True)
        self.assertIn("</tool_call>\n<tool_call>", text)
        self.assertIn("</tool_response>\n<tool_response>", text)
        self.assertEqual(text, render(sampler(), chat, think_share=0).text
                         + "<|im_start|>assistant\n<think>\n\n</think>\n\n")

    def test_thinking_opens_the_answer(self):
        prompt = partial(self.template.render, messages=[{"role": "user", "content": "Hi"}],
                         add_generation_prompt=True)
        self.assertTrue(prompt(enable_thinking=True).endswith("<think>\n"))
        self.assertTrue(prompt(enable_thinking=False).endswith("<think>\n\n</think>\n\n"))


class TokenizerFile(unittest.TestCase):
    def setUp(self):
        self.tokenizer = json.loads(SHIPPED_TOKENIZER.read_text(encoding="utf-8"))

    def test_special_tokens_have_the_first_ids(self):
        added = {token["id"]: token["content"] for token in self.tokenizer["added_tokens"]}
        self.assertEqual(added, dict(enumerate(SPECIAL_TOKENS)))

    def test_vocabulary_fills_the_embedding(self):
        ids = set(self.tokenizer["model"]["vocab"].values())
        self.assertEqual(ids | set(range(len(SPECIAL_TOKENS))), set(range(VOCAB)))

    def test_merges_join_known_tokens(self):
        vocabulary = self.tokenizer["model"]["vocab"]
        for merge in self.tokenizer["model"]["merges"]:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            self.assertIn(left, vocabulary)
            self.assertIn(right, vocabulary)
            self.assertIn(left + right, vocabulary)


if __name__ == "__main__":
    unittest.main()
