"""Token sequences for training: plain text or packed chats, with one loss weight per token.

Needs numpy; a tokenizer is a `tokenizers.Tokenizer`.
"""

from typing import Any, NamedTuple

import numpy as np

from chats.mix import long_chat, short_chat
from chats.render import CONTEXT_WEIGHT, Rendered, render
from chats.sampler import Sampler

END_OF_DOCUMENT = 0  # id of <|endoftext|>

# Characters per token, a lower bound: a long chat sized with it seldom overflows its room.
CHARS_PER_TOKEN = 2.85

# Sequences up to this length hold short chats only.
SHORT_LENGTH = 2048

# A long chat is drawn only where LONG_CHAT_ROOM tokens are free, and has at least LONG_CHAT_MIN.
LONG_CHAT_ROOM = 3000
LONG_CHAT_MIN = 2500


class Phase(NamedTuple):
    """One kind of training batch."""

    name: str
    length: int  # tokens per sequence
    text_share: float  # share of the sequences that are plain text
    answer_weight: float  # loss weight of what the assistant writes
    shards_ahead: int  # finished batches that may wait on disk


class Tokens(NamedTuple):
    ids: np.ndarray  # uint16
    weights: np.ndarray  # float32; weights[i] is that of ids[i] as a target


def encode(tokenizer: Any, rendered: Rendered) -> Tokens:
    """A token has the weight of its first character."""
    encoding = tokenizer.encode(rendered.text)
    ids = np.array(encoding.ids, dtype=np.uint16)
    token_starts = np.array([start for start, _ in encoding.offsets])
    span_starts = np.array([start for start, _ in rendered.weights])
    weights = np.array([weight for _, weight in rendered.weights], dtype=np.float32)
    span = np.searchsorted(span_starts, token_starts, side="right") - 1
    return Tokens(ids, weights[np.clip(span, 0, len(weights) - 1)])


def training_sequence(s: Sampler, tokenizer: Any, stream: np.ndarray, phase: Phase) -> Tokens:
    """phase.length + 1 tokens: each but the last is an input, each but the first a target."""
    size = phase.length + 1
    if s.chance(phase.text_share):
        start = s.rng.randrange(len(stream) - size - 1)
        return Tokens(stream[start:start + size], np.ones(size, np.float32))
    ids: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    total = 0
    while total < size:
        chat = _chat_tokens(s, tokenizer, phase, room=size - total)
        ids += [chat.ids, np.array([END_OF_DOCUMENT], np.uint16)]
        weights += [chat.weights, np.array([CONTEXT_WEIGHT], np.float32)]
        total += len(chat.ids) + 1
    return Tokens(np.concatenate(ids)[:size], np.concatenate(weights)[:size])


def _chat_tokens(s: Sampler, tokenizer: Any, phase: Phase, room: int) -> Tokens:
    if phase.length > SHORT_LENGTH and room > LONG_CHAT_ROOM and s.chance(0.85):
        return _long_chat_tokens(s, tokenizer, phase, room)
    return encode(tokenizer, render(s, short_chat(s), answer_weight=phase.answer_weight))


def _long_chat_tokens(s: Sampler, tokenizer: Any, phase: Phase, room: int) -> Tokens:
    """Tries three times to fit the room, so that the last question is seldom cut off."""
    wanted = room if s.chance(0.5) else s.between(LONG_CHAT_MIN, room)
    chars_per_token = CHARS_PER_TOKEN
    for _ in range(3):
        chat = long_chat(s, int(wanted * chars_per_token))
        tokens = encode(tokenizer, render(s, chat, answer_weight=phase.answer_weight))
        if len(tokens.ids) <= room:
            break
        chars_per_token *= 0.93 * room / len(tokens.ids)
    return tokens
