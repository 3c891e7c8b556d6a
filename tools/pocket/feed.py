"""Feeds the trainer: worker processes write shards, one thread per phase loads them.

A Feed forks its workers, so it must be made before CUDA is first used.
"""

import multiprocessing
import queue
import shutil
import threading
import time

import numpy as np
import torch

from chats.shards import Resources, complete_shards, write_shards
from chats.tokens import Phase
from workdir import WorkDir

# Batches per phase that wait in memory.
BATCHES_AHEAD = 4

Batch = tuple[torch.Tensor, torch.Tensor]  # token ids and weights, [sequences, length + 1]


class Feed:
    def __init__(self, work: WorkDir, phases: list[Phase], workers: int):
        self._folder = work.shards
        shutil.rmtree(self._folder, ignore_errors=True)  # shards of an earlier stage
        for phase in phases:
            (self._folder / phase.name).mkdir(parents=True)
        fork = multiprocessing.get_context("fork")  # shares the corpus instead of copying it
        self._stop = fork.Event()
        resources = Resources(work.read_corpus(), work.read_wordnet(), work.tokenizer, work.stream)
        seed = int(time.time()) % 100000  # fresh chats in every run
        self._workers = [
            fork.Process(target=write_shards, daemon=True,
                         args=(i, seed, phases, resources, self._folder, self._stop))
            for i in range(workers)
        ]
        for worker in self._workers:
            worker.start()
        self._queues: dict[str, queue.Queue[Batch]] = {
            phase.name: queue.Queue(BATCHES_AHEAD) for phase in phases}
        self._phases = phases

    def start_loading(self) -> None:
        for phase in self._phases:
            threading.Thread(target=self._load, args=(phase,), daemon=True).start()

    def next(self, phase_name: str) -> Batch:
        """Waits for a batch, in pinned memory."""
        return self._queues[phase_name].get()

    def close(self) -> None:
        """Ends the workers; waiting batches are lost."""
        self._stop.set()
        for worker in self._workers:
            worker.join()

    def _load(self, phase: Phase) -> None:
        while not self._stop.is_set():
            shards = complete_shards(self._folder, phase)
            if not shards:
                time.sleep(0.02)
            for shard in shards:
                with np.load(shard) as arrays:
                    ids = torch.from_numpy(arrays["x"].astype(np.int64)).pin_memory()
                    weights = torch.from_numpy(arrays["w"].astype(np.float32)).pin_memory()
                shard.unlink()
                self._put(phase, (ids, weights))

    def _put(self, phase: Phase, batch: Batch) -> None:
        while not self._stop.is_set():
            try:
                self._queues[phase.name].put(batch, timeout=1)
                return
            except queue.Full:
                continue
