"""A chat: messages, an optional system message and optional tools."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class ToolCall(NamedTuple):
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Message:
    """One message. Only an assistant message has a thought or tool calls."""

    role: str  # "user", "assistant" or "tool"
    content: str
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass
class Chat:
    """A chat under construction: tasks append messages to it."""

    system: str | None = None
    tools: list[dict[str, Any]] | None = None
    messages: list[Message] = field(default_factory=list)

    def user(self, text: str) -> None:
        self.messages.append(Message("user", text.strip()))

    def assistant(self, text: str, thought: str) -> None:
        """An answer, and the thought that precedes it when the model is asked to think."""
        self.messages.append(Message("assistant", text.strip(), thought.strip()))

    def call_tools(self, *calls: ToolCall, thought: str) -> None:
        self.messages.append(Message("assistant", "", thought.strip(), calls))

    def tool_result(self, text: str) -> None:
        self.messages.append(Message("tool", text.strip()))

    def exchange(self, question: str, answer: str, thought: str) -> None:
        self.user(question)
        self.assistant(answer, thought)

    def chars_since(self, first: int) -> int:
        """Size of the messages from index `first` on, with 40 for the markup around them."""
        return sum(len(message.content) for message in self.messages[first:]) + 40
