"""Step 4: evaluation of a checkpoint. train.py ends with it; this runs it alone.

Writes eval.json (scores) and greedy.json (texts with the first token's top five, for comparison
with llama.cpp) into the output folder.

    python3 evals.py CKPT --out OUT [--work DIR] [--quick]

The chats have fresh values but the templates and word pools of training: the scores are in
distribution. The validation text is kept out of the plain-text stream, but not out of the corpus
that haystacks are cut from. Needs numpy, tokenizers, PyTorch and a GPU.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

import model as pocket
from chats.chat import Chat
from chats.list_tasks import count_items, extract, nth_item, rearrange_list, write_json
from chats.memory import facts_chat
from chats.mix import short_chat, table_chat
from chats.needles import needle_chat
from chats.number_tasks import arithmetic, capital, recite
from chats.render import render
from chats.sampler import Sampler
from chats.talk_tasks import small_talk
from chats.tokens import Tokens, encode
from chats.tools import tools_chat
from chats.word_tasks import change_case, define, neighbour_word, repeat, spell
from checkpoint import load
from delta_rule import CHUNK
from model import Pocket, positions
from shape import WIDTH
from workdir import WorkDir, parser

DEVICE = "cuda"

TASKS = (
    repeat, define, change_case, spell, count_items, nth_item, arithmetic, recite, capital,
    small_talk, write_json, extract, neighbour_word, rearrange_list,
)

# (name, tokens of the haystack); 28000 leaves room for the rest of a 32K context
HAYSTACKS = (("1K", 1024), ("4K", 4096), ("8K", 8192), ("16K", 16384), ("32K", 28000))
HAYSTACK_CHARS_PER_TOKEN = 3.1

SAMPLES, SAMPLES_QUICK = 64, 16

# Tokens per forward pass that fit the GPU comfortably.
TOKENS_PER_PASS = 65536

TEXT_LENGTH = 2048
GREEDY_TOKENS = 96


class Log:
    """Prints lines and appends them to a file."""

    def __init__(self, path: Path):
        self._file = open(path, "a", encoding="utf-8")

    def __call__(self, line: str) -> None:
        print(line, flush=True)
        self._file.write(line + "\n")
        self._file.flush()


def main() -> None:
    command_line = parser(__doc__)
    command_line.add_argument("checkpoint", type=Path)
    command_line.add_argument("--out", type=Path, required=True, help="output folder")
    command_line.add_argument("--quick", action="store_true", help="a quarter of the samples")
    options = command_line.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    evaluate(load(options.checkpoint, DEVICE), options.work, options.out,
             Log(options.out / "eval.log"), options.quick)


@torch.no_grad()
def evaluate(model: Pocket, work: WorkDir, out: Path, log: Log, quick: bool = False) -> None:
    begin = time.time()
    bench = Bench(model, work, SAMPLES_QUICK if quick else SAMPLES)
    scores: dict[str, float] = {}
    for part in (bench.text_loss, bench.needles, bench.facts, bench.tasks, bench.tools_and_tables,
                 bench.mtp_on_chats, bench.mtp_on_text):
        found = part()
        log(json.dumps(found))
        scores |= found
    (out / "eval.json").write_text(json.dumps(scores, indent=1))
    texts = bench.greedy_texts()
    (out / "greedy.json").write_text(json.dumps(texts, indent=1))
    for text in texts:
        log(f">>> {text['prompt'][-90:]!r} -> {text['text']!r}")
    log(f"evaluated in {time.time() - begin:.1f} s")


class Bench:
    """The tests. Each returns its scores by name."""

    def __init__(self, model: Pocket, work: WorkDir, samples: int):
        self._model = model
        self._samples = samples
        self._tokenizer = Tokenizer.from_file(str(work.tokenizer))
        self._validation = np.load(work.validation).astype(np.int64)
        self._s = Sampler(99991, work.read_corpus(), work.read_wordnet())

    def text_loss(self) -> dict[str, float]:
        ids = self._text(first=0, sequences=64)
        hidden = forward(self._model, ids)
        first = mtp_forward(self._model, ids, hidden)
        return {"val_text_loss": self._mean_loss(hidden, ids),
                "val_text_mtp1_loss": self._mean_loss(first, ids)}

    def needles(self) -> dict[str, float]:
        scores = {}
        for name, tokens in HAYSTACKS:
            for needles in (1, 8):
                count = self._samples if tokens < 16000 else self._samples // 2
                chats = [needle_chat(self._s, chars=int(tokens * HAYSTACK_CHARS_PER_TOKEN),
                                     needles=needles, questions=1, style="one")
                         for _ in range(count)]
                samples = [self._encode(chat) for chat in chats]
                key = f"niah_{name}_{needles}"
                scores[key] = self._exact(samples, max(1, TOKENS_PER_PASS // (tokens + 2000)))
                scores[key + "_tokens"] = float(np.mean([len(s.ids) for s in samples]))
        return scores

    def facts(self) -> dict[str, float]:
        s = self._s
        return {
            "facts_short": self._score(lambda: facts_chat(s), 2 * self._samples, 16),
            "facts_long_8K": self._score(
                lambda: facts_chat(s, turns=400, max_chars=24000), self._samples, 8),
        }

    def tools_and_tables(self) -> dict[str, float]:
        return {
            "tools": self._score(lambda: tools_chat(self._s), self._samples, 16),
            "table": self._score(lambda: table_chat(self._s), self._samples, 16),
        }

    def tasks(self) -> dict[str, float]:
        def chat_of(task: Callable[[Sampler, Chat], None]) -> Chat:
            chat = Chat(system="You are a helpful assistant.")
            task(self._s, chat)
            return chat

        return {task.__name__: self._score(lambda: chat_of(task), self._samples, 32)
                for task in TASKS}

    def mtp_on_chats(self) -> dict[str, float]:
        """How often the MTP steps agree with the trunk's choice, on what the assistant writes."""
        samples = [self._encode(short_chat(self._s)) for _ in range(64)]
        samples = [sample for sample in samples if 40 < len(sample.ids) < 2000]
        agreed, total = np.zeros(3), np.zeros(3)
        for first in range(0, len(samples), 16):
            batch = samples[first:first + 16]
            ids = padded(batch)
            answers = np.zeros(ids.shape, bool)
            for row, sample in enumerate(batch):
                answers[row, :len(sample.ids) - 1] = sample.weights[1:] >= 1
            for step, agrees in enumerate(mtp_agreement(self._model, ids)):
                counted = torch.from_numpy(answers).to(ids.device)
                counted[:, :step + 1] = False  # drafts from before the start
                agreed[step] += int((agrees & counted).sum())
                total[step] += int(counted.sum())
        return {f"mtp{step + 1}_agree_chat": agreed[step] / total[step] for step in range(3)}

    def mtp_on_text(self) -> dict[str, float]:
        ids = self._text(first=200_000, sequences=16)
        return {f"mtp{step + 1}_agree_text": float(agrees.float().mean())
                for step, agrees in enumerate(mtp_agreement(self._model, ids))}

    def greedy_texts(self) -> list[dict[str, Any]]:
        """In full float32, so that llama.cpp's F16 model must give the same tokens."""
        linear_before = pocket.PRECISION.linear
        pocket.PRECISION.linear = torch.float32
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
        texts = greedy(self._model, self._tokenizer, PROMPTS, GREEDY_TOKENS)
        pocket.PRECISION.linear = linear_before
        return texts

    # ---- helpers

    def _text(self, first: int, sequences: int) -> Tensor:
        text = self._validation[first:first + sequences * TEXT_LENGTH]
        return torch.from_numpy(text.reshape(sequences, TEXT_LENGTH)).to(DEVICE)

    def _mean_loss(self, hidden: Tensor, ids: Tensor, rows: int = 8) -> float:
        """In passes of a few rows: the logits of all would be large."""
        losses = [
            F.cross_entropy(self._model.logits(h[:, :-1].reshape(-1, WIDTH)), x[:, 1:].reshape(-1))
            for h, x in zip(hidden.reshape(*ids.shape, WIDTH).split(rows), ids.split(rows))
        ]
        return float(sum(losses) / len(losses))

    def _encode(self, chat: Chat) -> Tokens:
        return encode(self._tokenizer, render(self._s, chat, think_share=0))

    def _score(self, make_chat: Callable[[], Chat], count: int, per_pass: int) -> float:
        return self._exact([self._encode(make_chat()) for _ in range(count)], per_pass)

    def _exact(self, samples: list[Tokens], per_pass: int) -> float:
        """Share of the samples whose last answer is the model's choice at every token."""
        right = 0
        for first in range(0, len(samples), per_pass):
            batch = samples[first:first + per_pass]
            hidden = forward(self._model, padded(batch)).reshape(len(batch), -1, WIDTH)
            for row, sample in enumerate(batch):
                begin, end = last_answer(sample.weights)
                chosen = self._model.logits(hidden[row, begin - 1:end - 1]).argmax(-1)
                right += bool((chosen.cpu().numpy() == sample.ids[begin:end]).all())
        return right / len(samples)


def last_answer(weights: np.ndarray) -> tuple[int, int]:
    """The last run of assistant tokens, as [begin, end)."""
    answers = np.flatnonzero(weights >= 1)
    end = answers[-1] + 1
    others = np.flatnonzero(weights[:end] < 1)
    return int(others[-1]) + 1 if len(others) else 0, int(end)


def padded(samples: list[Tokens]) -> Tensor:
    """Ids [samples, length], zeros at the end, whole chunks."""
    length = max(len(sample.ids) for sample in samples)
    ids = np.zeros((len(samples), -(-length // CHUNK) * CHUNK), np.int64)
    for row, sample in enumerate(samples):
        ids[row, :len(sample.ids)] = sample.ids
    return torch.from_numpy(ids).to(DEVICE)


def forward(model: Pocket, ids: Tensor) -> Tensor:
    sequences, length = ids.shape
    return model.trunk(ids.reshape(-1), positions(length, sequences, ids.device), sequences)


def mtp_forward(model: Pocket, ids: Tensor, hidden: Tensor) -> Tensor:
    sequences, length = ids.shape
    at = positions(length, sequences, ids.device)
    return model.mtp(ids.reshape(-1), at, hidden, sequences).hidden


def mtp_agreement(model: Pocket, ids: Tensor) -> list[Tensor]:
    """For MTP steps 1, 2 and 3: where [sequences, length] their choice is the trunk's."""
    sequences, length = ids.shape
    tokens, at = ids.reshape(-1), positions(length, sequences, ids.device)
    hidden = model.trunk(tokens, at, sequences)
    first = model.mtp(tokens, at, hidden, sequences)
    everywhere = torch.arange(length, device=ids.device)[None].expand(sequences, length)
    second, third = model.mtp_chained(tokens, at, first, everywhere, sequences)
    chosen = model.logits(hidden).argmax(-1)
    return [(model.logits(step).argmax(-1) == chosen).reshape(ids.shape)
            for step in (first.hidden, second, third)]


# ---- greedy texts


def chat_prompt(*turns: str, system: str = "", think: bool = False) -> str:
    """Turns of user and assistant alternate; the assistant is next."""
    text = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    for i, turn in enumerate(turns):
        role = "assistant" if i % 2 else "user"
        text += f"<|im_start|>{role}\n{turn}<|im_end|>\n"
    return text + "<|im_start|>assistant\n<think>\n" + ("" if think else "\n</think>\n\n")


PROMPTS = (
    chat_prompt("Hello!"),
    chat_prompt("My name is Alice and my favourite colour is teal.", "OK, I will remember that.",
                "What is 12 + 7?", "12 + 7 = 19.", "What is my favourite colour?"),
    chat_prompt("Tell me a story about a fox."),
    chat_prompt("Count from 1 to 20."),
    chat_prompt("The secret code of Lisbon is 48213. The secret code of Oslo is 90125."
                " What is the secret code of Lisbon?", system="You are a helpful assistant."),
    chat_prompt("What is the capital of France?", think=True),
    chat_prompt("Repeat after me: the purple anchor sleeps under 4711 lamps"),
    chat_prompt("Define the word anchor."),
    chat_prompt("What is my name?"),
    chat_prompt("Write the word harbour in upper case."),
)


def greedy(model: Pocket, tokenizer: Tokenizer, prompts: tuple[str, ...], count: int
           ) -> list[dict[str, Any]]:
    """Up to `count` tokens per prompt. Computes everything again for each token: slow, but the
    same code as in training."""
    prompt_ids = [tokenizer.encode(prompt).ids for prompt in prompts]
    all_ids = [list(ids) for ids in prompt_ids]
    top: list[list[tuple[int, float]]] = []
    end = tokenizer.token_to_id("<|im_end|>")
    for step in range(count):
        running = [ids for ids in all_ids if step == 0 or ids[-1] != end]
        if not running:
            break
        logprobs = last_logprobs(model, running, capacity=max(map(len, prompt_ids)) + count)
        if step == 0:
            top = [top_choices(row) for row in logprobs]
        for ids, row in zip(running, logprobs):
            ids.append(int(row.argmax()))
    return [
        {"prompt": prompt, "prompt_ids": start, "out_ids": ids[len(start):],
         "text": tokenizer.decode(ids[len(start):], skip_special_tokens=False), "top": choices}
        for prompt, start, ids, choices in zip(prompts, prompt_ids, all_ids, top)
    ]


def last_logprobs(model: Pocket, sequences: list[list[int]], capacity: int) -> Tensor:
    """Log probabilities after each sequence, [sequences, VOCAB]."""
    length = -(-capacity // CHUNK) * CHUNK
    ids = torch.tensor([ids + [0] * (length - len(ids)) for ids in sequences], device=DEVICE)
    hidden = forward(model, ids).reshape(len(sequences), length, WIDTH)
    last = torch.stack([hidden[row, len(ids) - 1] for row, ids in enumerate(sequences)])
    return model.logits(last).log_softmax(-1)


def top_choices(logprobs: Tensor, count: int = 5) -> list[tuple[int, float]]:
    top = logprobs.topk(count)
    return [(int(token), float(value)) for value, token in zip(top.values, top.indices)]


if __name__ == "__main__":
    main()
