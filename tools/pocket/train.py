"""Step 3: training, for a given number of seconds.

Reads what steps 1 and 2 left in the work folder; writes ckpt.npz (every 75 s and at the end),
train.log and the results of the evaluation (eval.json, greedy.json) into the output folder.

    python3 train.py --out OUT1 --seconds 1420                          stage 1
    python3 train.py --out OUT2 --seconds 330 --init OUT1/ckpt.npz      stage 2, warm restart

Needs numpy, tokenizers, PyTorch and Triton, and one GPU: the shipped model took half an hour on an
H200, with 13 worker processes on 16 cores. The clock starts when every shape is compiled.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

import model as pocket
from chats.shards import BATCH_TOKENS
from chats.tokens import Phase
from checkpoint import load, save
from evals import Log, evaluate
from feed import Feed
from model import MTP_SPAN, Pocket, Positions, flat_index, positions
from muon import Muon, Stacked
from workdir import parser

DEVICE = "cuda"

MUON_LR, MUON_WEIGHT_DECAY = 3.5e-3, 0.05
ADAM_LR, ADAM_WEIGHT_DECAY = 2.5e-3, 0.01
MOMENTUM_MAX, MOMENTUM_STEPS = 0.95, 3000  # grows by 1 per MOMENTUM_STEPS until the maximum
WARMUP_STEPS = 150
GRADIENT_NORM_MAX = 1.0

# Loss of the trunk counts 1, that of MTP steps 1, 2 and 3:
MTP_LOSS_WEIGHTS = (0.35, 0.15, 0.10)
# Share of the MTP gradient that reaches the trunk.
MTP_TRUNK_SHARE = 0.3
# Steps 2 and 3 are trained on this share of the positions, in spans rich in assistant tokens.
MTP_SELECTED_SHARE = 1 / 8
# Random addition to a span's weight, so that other spans are chosen too.
MTP_SPAN_NOISE = 3

# Matrices too small or too special for Muon.
ADAM_ONLY = ("wb", "wa", "conv", "alog", "dtb")

COMPILED_AFTER_STEPS = 6
LOG_STEPS = 50
MEMORY_LOG_STEPS = 1000
CHECKPOINT_SECONDS = 75


class Stage(NamedTuple):
    """What differs between the two stages. Fractions are of the training time."""

    short_text_share: float  # of plain text in sequences of 2048
    long_from: float  # only sequences of 2048 before this fraction
    mix: dict[str, float]  # phases from then on
    lr_scale: float
    lr_constant_until: float  # then linear to 0, but not below
    lr_floor: float
    momentum_start: float


STAGE_1 = Stage(short_text_share=0.40, long_from=0.55, mix={"2k": 0.22, "16k": 0.62, "32k": 0.16},
                lr_scale=1.0, lr_constant_until=0.45, lr_floor=0.02, momentum_start=0.85)
STAGE_2 = Stage(short_text_share=0.36, long_from=0.0, mix={"2k": 0.55, "16k": 0.35, "32k": 0.10},
                lr_scale=0.35, lr_constant_until=0.0, lr_floor=0.01, momentum_start=0.92)


def phases_of(stage: Stage) -> list[Phase]:
    """Answers weigh more in long sequences, where there are fewer of them."""
    return [
        Phase("2k", 2048, stage.short_text_share, answer_weight=2.0, shards_ahead=60),
        Phase("16k", 16384, 0.22, answer_weight=4.0, shards_ahead=120),
        Phase("32k", 32768, 0.20, answer_weight=4.0, shards_ahead=40),
    ]


def main() -> None:
    command_line = parser(__doc__)
    command_line.add_argument("--out", type=Path, required=True, help="output folder")
    command_line.add_argument("--seconds", type=float, required=True, help="training time")
    command_line.add_argument("--init", type=Path, metavar="CKPT",
                              help="start stage 2 from this checkpoint of stage 1")
    command_line.add_argument("--workers", type=int, default=13,
                              help="processes that make batches (default: %(default)s)")
    command_line.add_argument("--smoke", action="store_true",
                              help="long sequences from half time on, and a quick evaluation")
    options = command_line.parse_args()
    stage = STAGE_2 if options.init else STAGE_1
    if options.smoke and not options.init:
        stage = stage._replace(long_from=0.5)

    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the workers are the parallelism
    options.out.mkdir(parents=True, exist_ok=True)
    log = Log(options.out / "train.log")
    feed = Feed(options.work, phases_of(stage), options.workers)
    configure_torch()
    model = load(options.init, DEVICE) if options.init else Pocket().to(DEVICE)
    pocket.use_compiled()
    Trainer(model, stage, feed, log, options.out / "ckpt.npz").run(options.seconds)
    feed.close()
    pocket.use_eager()
    evaluate(model, options.work, options.out, log, quick=options.smoke)


def configure_torch() -> None:
    torch.manual_seed(1234)
    torch.set_float32_matmul_precision("high")  # tf32 in the delta rule's matrix products
    torch.backends.cuda.matmul.allow_tf32 = True
    torch._dynamo.config.recompile_limit = 64  # three shapes of every stage, and of their backward


# ---- the loss


def training_loss(model: Pocket, at: Positions, ids: Tensor, weights: Tensor
                  ) -> tuple[Tensor, Tensor]:
    """ids, weights [sequences, length + 1]. Returns the loss, and (trunk, MTP 1, 2, 3)."""
    sequences, length = ids.shape[0], ids.shape[1] - 1
    tokens = ids[:, :-1].reshape(-1)
    targets, target_weights = ids[:, 1:].reshape(-1), weights[:, 1:].reshape(-1)

    def mean_loss(hidden: Tensor, index: Tensor | slice, weights: Tensor) -> Tensor:
        total = pocket.STAGES.cross_entropy(hidden, model.embd, targets[index], weights)
        return total / (weights.sum() + 1e-6)

    everything = slice(None)
    hidden = model.trunk(tokens, at, sequences)
    trunk_loss = mean_loss(hidden, everything, target_weights)

    hidden = hidden.detach() + MTP_TRUNK_SHARE * (hidden - hidden.detach())
    first = model.mtp(tokens, at, hidden, sequences)
    selected = select_spans(weights[:, 1:])
    second, third = model.mtp_chained(tokens, at, first, selected, sequences)
    index = flat_index(selected, length)
    weights_2 = target_weights[index]
    starts_span = torch.arange(index.numel(), device=index.device) % MTP_SPAN == 0
    weights_3 = torch.where(starts_span, torch.zeros_like(weights_2), weights_2)
    mtp_losses = (mean_loss(first.hidden, everything, target_weights),
                  mean_loss(second, index, weights_2), mean_loss(third, index, weights_3))

    loss = trunk_loss + sum(w * part for w, part in zip(MTP_LOSS_WEIGHTS, mtp_losses))
    return loss, torch.stack([part.detach() for part in (trunk_loss, *mtp_losses)])


def select_spans(weights: Tensor) -> Tensor:
    """Positions [sequences, count] of the heaviest spans of each sequence, with some noise."""
    sequences, length = weights.shape
    spans = length // MTP_SPAN
    score = weights.reshape(sequences, spans, MTP_SPAN).sum(-1)
    score = score + torch.rand(sequences, spans, device=weights.device) * MTP_SPAN_NOISE
    chosen = score.topk(int(spans * MTP_SELECTED_SHARE), -1).indices.sort(-1).values
    offset = torch.arange(MTP_SPAN, device=weights.device)
    return (chosen[:, :, None] * MTP_SPAN + offset).reshape(sequences, -1)


# ---- the loop


class Trainer:
    def __init__(self, model: Pocket, stage: Stage, feed: Feed, log: Log, checkpoint: Path):
        self._model = model
        self._stage = stage
        self._feed = feed
        self._log = log
        self._checkpoint = checkpoint
        self._muon, self._adam = optimizers(model)
        self._positions: dict[int, Positions] = {}
        self._phase_rng = np.random.RandomState(5)
        self._progress = Progress([phase.name for phase in phases_of(stage)])
        self._step = 0

    def run(self, seconds: float) -> None:
        self._feed.start_loading()
        begin = last_save = time.time()
        training_since = None  # set when everything is compiled
        while True:
            fraction = (time.time() - training_since) / seconds if training_since else 0.0
            if fraction >= 1:
                break
            self._train_step(self._choose_phase(fraction), fraction)
            if self._step == COMPILED_AFTER_STEPS:
                torch.cuda.synchronize()
                training_since = time.time()
                self._progress.restart()
                self._log(f"compiled in {training_since - begin:.1f} s")
            if self._step % LOG_STEPS == 0:
                self._log(f"step {self._step} t {time.time() - training_since:.0f}"
                          f" {self._progress.line()}")
            if self._step % MEMORY_LOG_STEPS == 0:
                self._log(memory_line())
            if time.time() - last_save > CHECKPOINT_SECONDS:
                save(self._model, self._checkpoint)
                last_save = time.time()
        torch.cuda.synchronize()
        save(self._model, self._checkpoint)
        self._log(f"done: {self._step} steps, {self._step * BATCH_TOKENS / 1e6:.0f}M tokens,"
                  f" {memory_line()}")

    def _choose_phase(self, fraction: float) -> str:
        if self._step in (2, 3):  # compile the long shapes before the clock starts
            return ("16k", "32k")[self._step - 2]
        if fraction < self._stage.long_from:
            return "2k"
        return self._phase_rng.choice(list(self._stage.mix), p=list(self._stage.mix.values()))

    def _train_step(self, phase: str, fraction: float) -> None:
        begin = time.time()
        ids, weights = self._feed.next(phase)
        self._progress.waited(time.time() - begin)
        ids, weights = ids.to(DEVICE, non_blocking=True), weights.to(DEVICE, non_blocking=True)
        loss, parts = training_loss(self._model, self._positions_of(ids), ids, weights)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(
            list(self._model.parameters()), GRADIENT_NORM_MAX, foreach=True)
        factor = lr_factor(self._stage, self._step, fraction)
        for group in self._adam.param_groups:
            group["lr"] = ADAM_LR * factor
        momentum = min(MOMENTUM_MAX, self._stage.momentum_start + self._step / MOMENTUM_STEPS)
        self._muon.step(MUON_LR * factor, MUON_WEIGHT_DECAY, momentum)
        self._adam.step()
        self._model.zero_grad(set_to_none=True)
        self._step += 1
        self._progress.add(phase, parts, norm, MUON_LR * factor)

    def _positions_of(self, ids: Tensor) -> Positions:
        sequences, length = ids.shape[0], ids.shape[1] - 1
        if length not in self._positions:
            self._positions[length] = positions(length, sequences, DEVICE)
        return self._positions[length]


def lr_factor(stage: Stage, step: int, fraction: float) -> float:
    warmup = min(1.0, (step + 1) / WARMUP_STEPS)
    if fraction < stage.lr_constant_until:
        return stage.lr_scale * warmup
    decay = max(stage.lr_floor, (1 - fraction) / (1 - stage.lr_constant_until))
    return stage.lr_scale * warmup * decay


def optimizers(model: Pocket) -> tuple[Muon, torch.optim.AdamW]:
    """Muon for the matrices of the blocks, AdamW for the rest."""
    stacked, matrices, vectors = [], [], []
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            vectors.append(parameter)
        elif name == "embd" or name.endswith(ADAM_ONLY):
            matrices.append(parameter)
        else:
            stacked.append(Stacked(parameter, parts=3 if name.endswith("wqkv") else 1))
    adam = torch.optim.AdamW(
        [{"params": vectors, "weight_decay": 0.0},
         {"params": matrices, "weight_decay": ADAM_WEIGHT_DECAY}],
        lr=ADAM_LR, betas=(0.9, 0.95), eps=1e-10, fused=True)
    return Muon(stacked), adam


# ---- reports


class Progress:
    """Losses per phase and speed since the last line. Reads the GPU only when a line is due."""

    def __init__(self, phases: list[str]):
        self._losses: dict[str, list[Tensor]] = {phase: [] for phase in phases}
        self.restart()

    def restart(self) -> None:
        """Starts the clock of the next line."""
        self._since = time.time()
        self._batches = 0
        self._waited = 0.0

    def waited(self, seconds: float) -> None:
        self._waited += seconds

    def add(self, phase: str, losses: Tensor, norm: Tensor, lr: float) -> None:
        self._losses[phase].append(losses)
        self._batches += 1
        self._norm, self._lr = norm, lr

    def line(self) -> str:
        """Learning rate, gradient norm, speed, seconds waited for data; per phase the number of
        batches and the mean losses of trunk and MTP steps."""
        torch.cuda.synchronize()
        speed = self._batches * BATCH_TOKENS / (time.time() - self._since)
        text = (f"lr {self._lr:.4f} gn {self._norm.item():.2f} tok/s {speed / 1e3:.0f}k"
                f" wait {self._waited:.1f}")
        for phase, losses in self._losses.items():
            if losses:
                means = torch.stack(losses).mean(0).tolist()
                text += f"  {phase}[{len(losses)}] " + " ".join(f"{mean:.3f}" for mean in means)
                losses.clear()
        self.restart()
        return text


def memory_line() -> str:
    return f"memory {torch.cuda.max_memory_allocated() / 1e9:.1f} GB"


if __name__ == "__main__":
    main()
