"""Training batches on disk: worker processes write them, the trainer reads and deletes them.

A shard is one batch, FOLDER/PHASE/WORKER_NUMBER.ok.npz, with x (token ids) and w (weights), each
[sequences, length + 1]. It gets its final name when it is complete.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from chats.sampler import Sampler
from chats.tokens import Phase, Tokens, training_sequence

BATCH_TOKENS = 131072

COMPLETE = ".ok.npz"

# A generator that stumbles over an odd passage of the corpus must not end a training run.
TRIES = 5


@dataclass(frozen=True)
class Resources:
    """What a worker draws from."""

    corpus: str
    wordnet: dict[str, Any]
    tokenizer: Path
    stream: Path


def write_shards(worker: int, seed: int, phases: list[Phase], resources: Resources,
                 folder: Path, stop: Any) -> None:
    """Keeps every phase supplied until the event `stop` is set; earlier phases come first."""
    os.nice(5)  # the trainer's own threads go first
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = Tokenizer.from_file(str(resources.tokenizer))
    stream = np.load(resources.stream, mmap_mode="r")
    s = Sampler(seed * 1000 + worker, resources.corpus, resources.wordnet)
    number = 0
    while not stop.is_set():
        phase = _hungriest(phases, folder)
        if phase is None:
            time.sleep(0.3)
            continue
        sequences = [_sequence(s, tokenizer, stream, phase)
                     for _ in range(BATCH_TOKENS // phase.length)]
        _save(folder / phase.name, f"{worker}_{number}", sequences)
        number += 1


def _hungriest(phases: list[Phase], folder: Path) -> Phase | None:
    for phase in phases:
        if len(os.listdir(folder / phase.name)) < phase.shards_ahead:
            return phase
    return None


def _sequence(s: Sampler, tokenizer: Any, stream: np.ndarray, phase: Phase) -> Tokens:
    for _ in range(TRIES - 1):
        try:
            return training_sequence(s, tokenizer, stream, phase)
        except Exception as error:
            print("chat generator:", repr(error), flush=True)
    return training_sequence(s, tokenizer, stream, phase)


def _save(folder: Path, name: str, sequences: list[Tokens]) -> None:
    unfinished = folder / f"{name}.tmp.npz"
    np.savez(unfinished, x=np.stack([tokens.ids for tokens in sequences]),
             w=np.stack([tokens.weights for tokens in sequences]).astype(np.float16))
    unfinished.rename(folder / (name + COMPLETE))


def complete_shards(folder: Path, phase: Phase) -> list[Path]:
    return [path for path in (folder / phase.name).iterdir() if path.name.endswith(COMPLETE)]
