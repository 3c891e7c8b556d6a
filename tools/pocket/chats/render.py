"""Renders a chat to training text, exactly as chat_template.jinja does, with loss weights."""

import json
from typing import NamedTuple

from chats.chat import Chat, Message
from chats.sampler import Sampler

# Added tokens of the tokenizer, in the order of their ids (0 ends a document).
SPECIAL_TOKENS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>",
    "</tool_call>", "<tool_response>", "</tool_response>",
)

TOOLS_HEAD = "# Tools\n\nYou may call these functions, one JSON object per line:\n<tools>"
TOOLS_TAIL = (
    "\n</tools>\n\nTo call a function, answer with:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)

# Loss weight of everything the assistant does not write: enough to learn the wording of
# questions, too little to compete with the answers.
CONTEXT_WEIGHT = 0.1

# Share of the final answers that show their thought.
THINK_SHARE = 0.4


class Rendered(NamedTuple):
    """Text, and where each loss weight begins: [(first character, weight), ...]."""

    text: str
    weights: list[tuple[int, float]]


class _Builder:
    """Collects pieces of text with their weights."""

    def __init__(self, answer_weight: float):
        self._answer_weight = answer_weight
        self._pieces: list[str] = []
        self._weights: list[tuple[int, float]] = []
        self._length = 0

    def context(self, text: str) -> None:
        self._add(text, CONTEXT_WEIGHT)

    def answer(self, text: str) -> None:
        self._add(text, self._answer_weight)

    def _add(self, text: str, weight: float) -> None:
        if text:
            self._pieces.append(text)
            self._weights.append((self._length, weight))
            self._length += len(text)

    def result(self) -> Rendered:
        return Rendered("".join(self._pieces), self._weights)


def render(s: Sampler, chat: Chat, think_share: float = THINK_SHARE,
           answer_weight: float = 1.0) -> Rendered:
    """Only answers after the last user message carry a <think> block, as in the template."""
    out = _Builder(answer_weight)
    out.context(_system_block(chat))
    last_user = max((i for i, m in enumerate(chat.messages) if m.role == "user"), default=-1)
    for i, message in enumerate(chat.messages):
        if message.role == "user":
            out.context(f"<|im_start|>user\n{message.content}<|im_end|>\n")
        elif message.role == "tool":
            out.context(_tool_response(chat.messages, i))
        else:
            out.context("<|im_start|>assistant\n")
            if i > last_user:
                _think_block(out, message.thought if s.chance(think_share) else "")
            out.answer(_answer_text(message))
            out.answer("<|im_end|>")
            out.context("\n")
    return out.result()


def _system_block(chat: Chat) -> str:
    parts = [chat.system] if chat.system else []
    if chat.tools:
        tools = "".join("\n" + json.dumps(tool, ensure_ascii=False) for tool in chat.tools)
        parts.append(TOOLS_HEAD + tools + TOOLS_TAIL)
    return "<|im_start|>system\n" + "\n\n".join(parts) + "<|im_end|>\n" if parts else ""


def _tool_response(messages: list[Message], i: int) -> str:
    """Consecutive tool results share one user message."""
    opens = i == 0 or messages[i - 1].role != "tool"
    closes = i + 1 == len(messages) or messages[i + 1].role != "tool"
    return (("<|im_start|>user" if opens else "")
            + f"\n<tool_response>\n{messages[i].content}\n</tool_response>"
            + ("<|im_end|>\n" if closes else ""))


def _think_block(out: _Builder, thought: str) -> None:
    if thought:
        out.context("<think>\n")
        out.answer(thought + "\n</think>\n\n")
    else:
        out.context("<think>\n\n</think>\n\n")


def _answer_text(message: Message) -> str:
    """The content, followed by the tool calls, one per line."""
    calls = [
        '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'
        % (call.name, json.dumps(call.arguments, ensure_ascii=False))
        for call in message.calls
    ]
    return "\n".join(([message.content] if message.content else []) + calls)
