"""The pocket model: llama.cpp's graph `qwen35` in PyTorch.

A trunk of Gated DeltaNet and gated attention layers, and one MTP block that drafts the tokens after
the next. All functions work on flat tokens: x is [sequences * length, WIDTH], and `pos` tells each
token's position in its sequence.

A layer is cut into stages, functions of tensors between the parts that torch.compile does not
handle (attention kernel, delta rule). `use_compiled` compiles every stage, `use_eager` undoes it.

Weights of a block, by name (rows x columns as in GGUF's out x in):

    n1, n2            norms before the mixer and before the feed-forward part
    wg, wu, wd        feed-forward: gate, up, down
    wo                output of the mixer
    wq, wk, wv        attention; wq holds query and output gate of each head side by side
    qn, kn            norms of query and key
    wqkv, conv        DeltaNet: projection and its causal convolution
    wz, wb, wa        DeltaNet: output gate, beta, decay
    alog, dtb, gn     DeltaNet: log of the decay rate, decay bias, output norm
    eh, en, hn, sn    MTP: joins token and hidden state, their norms, norm before the output
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from delta_rule import (
    ChunkMatrices, ChunkRecurrence, TriangularInverse, chunk_matrices, from_tiles, to_tiles,
)
from shape import (
    BLOCKS, CONV_WIDTH, FFN_WIDTH, GDN_DIM, GDN_HEADS, HEAD_DIM, HEADS, KV_HEADS, MTP_BLOCK,
    NORM_EPS, ROPE_BASE, ROTARY_DIMS, TRUNK_LAYERS, VOCAB, WIDTH, is_attention,
)

Weights = dict[str, Tensor]

# Chained MTP steps are trained on blocks of this many consecutive positions.
MTP_SPAN = 16


@dataclass
class Precision:
    """Of the linear layers; everything else is float32, or float64 if the inputs are."""

    linear: torch.dtype = torch.bfloat16


PRECISION = Precision()


class Positions(NamedTuple):
    """Positions of flat tokens, with their rotary tables [tokens, ROTARY_DIMS / 2]."""

    pos: Tensor
    cos: Tensor
    sin: Tensor

    def at(self, index: Tensor) -> "Positions":
        return Positions(self.pos[index], self.cos[index], self.sin[index])


def positions(length: int, sequences: int, device: torch.device | str) -> Positions:
    pos = torch.arange(length, device=device).repeat(sequences)
    pair = torch.arange(0, ROTARY_DIMS, 2, device=device, dtype=torch.float64)
    angle = pos[:, None].double() * ROPE_BASE ** (-pair / ROTARY_DIMS)
    dtype = torch.float64 if PRECISION.linear == torch.float64 else torch.float32
    return Positions(pos, torch.cos(angle).to(dtype), torch.sin(angle).to(dtype))


# ---- elementary operations


def linear(x: Tensor, weight: Tensor) -> Tensor:
    return F.linear(x.to(PRECISION.linear), weight.to(PRECISION.linear))


def full(x: Tensor) -> Tensor:
    """At least float32."""
    return x if x.dtype == torch.float64 else x.float()


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    x = full(x)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPS) * weight


def l2_norm(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + NORM_EPS)


def rotate(x: Tensor, at: Positions) -> Tensor:
    """Rotary embedding of x [tokens, heads, HEAD_DIM]; halves are paired, the rest passes."""
    half = ROTARY_DIMS // 2
    a, b, rest = x[..., :half], x[..., half:ROTARY_DIMS], x[..., ROTARY_DIMS:]
    cos, sin = at.cos[:, None], at.sin[:, None]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


def shifted(x: Tensor, pos: Tensor, steps: int = 1) -> Tensor:
    """Each token's row of `steps` tokens before; zeros before the start of a sequence."""
    zero = torch.zeros((), dtype=x.dtype, device=x.device)
    return torch.where((pos >= steps)[:, None], F.pad(x, (0, 0, steps, 0))[:x.shape[0]], zero)


def attend(q: Tensor, k: Tensor, v: Tensor, sequences: int, mask: Tensor | None = None) -> Tensor:
    """q [tokens, HEADS, HEAD_DIM], k and v [tokens, KV_HEADS, HEAD_DIM] -> [tokens, width].

    Causal without a mask; a mask [sequences, 1, queries, keys] is True where a query looks.
    """

    def by_sequence(x: Tensor, heads: int) -> Tensor:
        x = x.reshape(sequences, -1, heads, HEAD_DIM).transpose(1, 2)
        return x.repeat_interleave(HEADS // heads, 1) if heads < HEADS else x

    q, k, v = by_sequence(q, HEADS), by_sequence(k, KV_HEADS), by_sequence(v, KV_HEADS)
    if hasattr(F, "scaled_dot_product_attention"):
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
    else:  # PyTorch 1.13, as in Debian 12: good enough for the tests
        if mask is None:
            mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
        scores = q @ k.transpose(-1, -2) / math.sqrt(HEAD_DIM)
        out = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
    return out.transpose(1, 2).reshape(-1, HEADS * HEAD_DIM)


# ---- stages


def feed_forward(x: Tensor, w: Weights) -> Tensor:
    h = rms_norm(x, w["n2"])
    return x + full(linear(F.silu(linear(h, w["wg"])) * linear(h, w["wu"]), w["wd"]))


def gdn_inputs(x: Tensor, pos: Tensor, w: Weights) -> tuple[ChunkMatrices, Tensor]:
    """Chunk matrices of the delta rule, and the output gate."""
    h = rms_norm(x, w["n1"])
    qkv = linear(h, w["wqkv"])
    mixed = qkv * w["conv"][:, CONV_WIDTH - 1]
    for back in range(1, CONV_WIDTH):
        mixed = mixed + shifted(qkv, pos, back) * w["conv"][:, CONV_WIDTH - 1 - back]
    q, k, v = F.silu(full(mixed)).split(GDN_HEADS * GDN_DIM, -1)
    q = l2_norm(to_tiles(q, GDN_DIM)) * GDN_DIM**-0.5
    k = l2_norm(to_tiles(k, GDN_DIM))
    v = to_tiles(v, GDN_DIM)
    beta = torch.sigmoid(full(linear(h, w["wb"])))
    g = -torch.exp(w["alog"]) * F.softplus(full(linear(h, w["wa"])) + w["dtb"])
    matrices = chunk_matrices(q, k, v, to_tiles(g, 1)[:, :, 0], to_tiles(beta, 1)[:, :, 0])
    return matrices, linear(h, w["wz"])


def gdn_corrections(T: Tensor, R: Tensor) -> tuple[Tensor, Tensor]:
    """U and W of the delta rule."""
    both = torch.bmm(T, R)
    return both[..., :GDN_DIM].contiguous(), both[..., GDN_DIM:].contiguous()


def gdn_output(x: Tensor, m: ChunkMatrices, S: Tensor, V: Tensor, gate: Tensor,
               w: Weights) -> Tensor:
    out = torch.bmm(m.Q, S) + torch.bmm(m.P, V)
    out = from_tiles(rms_norm(out, w["gn"])) * F.silu(full(gate))
    return feed_forward(x + full(linear(out, w["wo"])), w)


def attention_inputs(x: Tensor, at: Positions, w: Weights) -> tuple[Tensor, ...]:
    """Query, key, value, and the output gate."""
    h = rms_norm(x, w["n1"])
    q, gate = linear(h, w["wq"]).reshape(-1, HEADS, 2 * HEAD_DIM).split(HEAD_DIM, -1)
    k = linear(h, w["wk"]).reshape(-1, KV_HEADS, HEAD_DIM)
    v = linear(h, w["wv"]).reshape(-1, KV_HEADS, HEAD_DIM)
    q = rotate(rms_norm(q, w["qn"]), at).to(PRECISION.linear)
    k = rotate(rms_norm(k, w["kn"]), at).to(PRECISION.linear)
    return q, k, v.to(PRECISION.linear), gate.reshape(-1, HEADS * HEAD_DIM)


def attention_output(x: Tensor, attended: Tensor, gate: Tensor, w: Weights) -> Tensor:
    out = linear(attended * torch.sigmoid(full(gate)), w["wo"])
    return feed_forward(x + full(out), w)


def mtp_join(embedded: Tensor, hidden: Tensor, w: Weights) -> Tensor:
    both = torch.cat([rms_norm(embedded, w["en"]), rms_norm(hidden, w["hn"])], -1)
    return full(linear(both, w["eh"]))


def cross_entropy(hidden: Tensor, embedding: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Weighted sum over the tokens. Compiled, it never stores the logits."""
    logits = full(linear(hidden, embedding))
    return (F.cross_entropy(logits, targets, reduction="none") * weights).sum()


_EAGER = {
    stage.__name__: stage
    for stage in (gdn_inputs, gdn_corrections, gdn_output, attention_inputs, attention_output,
                  mtp_join, rms_norm, cross_entropy)
}

STAGES = SimpleNamespace(**_EAGER)


def use_eager() -> None:
    vars(STAGES).update(_EAGER)


def use_compiled() -> None:
    vars(STAGES).update({name: torch.compile(stage, dynamic=False)
                         for name, stage in _EAGER.items()})


# ---- the model


class Pocket(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embd = nn.Parameter(torch.randn(VOCAB, WIDTH) * 0.02)  # input and output
        self.out_norm = nn.Parameter(torch.ones(WIDTH))
        self.blocks = nn.ModuleList(_new_block(i) for i in range(BLOCKS))

    def weights(self, block: int) -> Weights:
        """A plain dict: torch.compile would specialize on a module and compile every layer."""
        return dict(self.blocks[block].items())

    def embedded(self, tokens: Tensor) -> Tensor:
        return full(F.embedding(tokens, self.embd))

    def logits(self, hidden: Tensor) -> Tensor:
        return full(linear(hidden, self.embd))

    def trunk(self, tokens: Tensor, at: Positions, sequences: int) -> Tensor:
        """Hidden states after the output norm."""
        x = self.embedded(tokens)
        for i in range(TRUNK_LAYERS):
            w = self.weights(i)
            if is_attention(i):
                q, k, v, gate = STAGES.attention_inputs(x, at, w)
                x = STAGES.attention_output(x, attend(q, k, v, sequences), gate, w)
            else:
                matrices, gate = STAGES.gdn_inputs(x, at.pos, w)
                U, W = STAGES.gdn_corrections(TriangularInverse.apply(matrices.A), matrices.R)
                S, V = ChunkRecurrence.apply(W, U, matrices.K, matrices.G, sequences)
                x = STAGES.gdn_output(x, matrices, S, V, gate, w)
        return STAGES.rms_norm(x, self.out_norm)

    # The MTP block reads token p together with the hidden state of p - 1, at rotary position p,
    # and predicts token p + 1. Step 1 takes the trunk's hidden state, step n + 1 that of step n.

    def mtp(self, tokens: Tensor, at: Positions, hidden: Tensor, sequences: int) -> "MtpStep":
        """Step 1 for every position."""
        return self._mtp_step(tokens, at, shifted(hidden, at.pos), sequences)

    def mtp_chained(self, tokens: Tensor, at: Positions, first: "MtpStep", selected: Tensor,
                    sequences: int) -> tuple[Tensor, Tensor]:
        """Hidden states of steps 2 and 3 at the positions selected [sequences, count].

        Exactly as llama.cpp drafts: a position sees step 1's keys of all earlier positions, except
        that step 3 at p sees step 2's key at p - 1. `selected` consists of runs of MTP_SPAN
        consecutive positions; step 3 is meaningless at the first of a run.
        """
        count = selected.shape[1]
        index = flat_index(selected, tokens.shape[0] // sequences)
        position = torch.arange(tokens.shape[0] // sequences, device=tokens.device)
        earlier = position[None, None, :] < selected[:, :, None]
        before = position[None, None, :] < selected[:, :, None] - 1
        row = torch.arange(count, device=tokens.device)
        own = (row[:, None] == row[None, :]).expand(sequences, count, count)
        previous = (row[:, None] - 1 == row[None, :]).expand(sequences, count, count)

        tokens, here = tokens[index], at.at(index)
        second = self._mtp_step(
            tokens, here, shifted(first.hidden, at.pos)[index], sequences,
            [first], torch.cat([earlier, own], -1)[:, None])
        third = self._mtp_step(
            tokens, here, F.pad(second.hidden, (0, 0, 1, 0))[:-1], sequences,
            [first, second], torch.cat([before, previous, own], -1)[:, None])
        return second.hidden, third.hidden

    def _mtp_step(self, tokens: Tensor, at: Positions, hidden: Tensor, sequences: int,
                  steps_before: "Sequence[MtpStep]" = (),
                  mask: Tensor | None = None) -> "MtpStep":
        w = self.weights(MTP_BLOCK)
        x = STAGES.mtp_join(self.embedded(tokens), hidden, w)
        q, k, v, gate = STAGES.attention_inputs(x, at, w)
        attended = attend(
            q, _joined([step.k for step in steps_before] + [k], sequences),
            _joined([step.v for step in steps_before] + [v], sequences), sequences, mask)
        x = STAGES.attention_output(x, attended, gate, w)
        return MtpStep(STAGES.rms_norm(x, w["sn"]), k, v)


class MtpStep(NamedTuple):
    hidden: Tensor
    k: Tensor
    v: Tensor


def flat_index(selected: Tensor, length: int) -> Tensor:
    """Positions [sequences, count] as indices of flat tokens."""
    first = torch.arange(selected.shape[0], device=selected.device) * length
    return (selected + first[:, None]).reshape(-1)


def _joined(parts: list[Tensor], sequences: int) -> Tensor:
    """Keys or values of several steps, one after the other within each sequence."""
    if len(parts) == 1:
        return parts[0]
    by_sequence = [part.reshape(sequences, -1, KV_HEADS, HEAD_DIM) for part in parts]
    return torch.cat(by_sequence, 1).reshape(-1, KV_HEADS, HEAD_DIM)


# ---- initial weights


def _matrix(rows: int, columns: int, scale: float = 1.0) -> Tensor:
    return torch.randn(rows, columns) * (0.6 * scale / math.sqrt(columns))


def _new_block(block: int) -> nn.ParameterDict:
    # What writes to the residual stream starts small, by the number of such writes.
    residual = 1 / math.sqrt(2 * TRUNK_LAYERS)
    w = {"n1": torch.ones(WIDTH), "n2": torch.ones(WIDTH)}
    w |= _new_attention(residual) if is_attention(block) else _new_gdn(residual)
    w["wg"] = _matrix(FFN_WIDTH, WIDTH)
    w["wu"] = _matrix(FFN_WIDTH, WIDTH)
    w["wd"] = _matrix(WIDTH, FFN_WIDTH, residual)
    if block == MTP_BLOCK:
        w["eh"] = _matrix(WIDTH, 2 * WIDTH)
        w |= {name: torch.ones(WIDTH) for name in ("en", "hn", "sn")}
    return nn.ParameterDict({name: nn.Parameter(value) for name, value in w.items()})


def _new_attention(residual: float) -> Weights:
    return {
        "wq": _matrix(2 * HEADS * HEAD_DIM, WIDTH),
        "wk": _matrix(KV_HEADS * HEAD_DIM, WIDTH),
        "wv": _matrix(KV_HEADS * HEAD_DIM, WIDTH),
        "qn": torch.ones(HEAD_DIM),
        "kn": torch.ones(HEAD_DIM),
        "wo": _matrix(WIDTH, HEADS * HEAD_DIM, residual),
    }


def _new_gdn(residual: float) -> Weights:
    width = GDN_HEADS * GDN_DIM
    w = {
        "wqkv": _matrix(3 * width, WIDTH),
        "wz": _matrix(width, WIDTH),
        "wb": _matrix(GDN_HEADS, WIDTH),
        "wa": _matrix(GDN_HEADS, WIDTH, 0.3),
        "conv": torch.randn(3 * width, CONV_WIDTH) * 0.15,
        "alog": torch.log(torch.linspace(1, 16, GDN_HEADS)),
    }
    w["conv"][:, -1] += 0.6  # the current token dominates at first
    # Decay steps between 0.001 and 0.1, stored as the inverse of softplus.
    step = torch.exp(torch.rand(GDN_HEADS) * (math.log(0.1) - math.log(0.001)) + math.log(0.001))
    w["dtb"] = step + torch.log(-torch.expm1(-step))
    w["gn"] = torch.ones(GDN_DIM)
    w["wo"] = _matrix(WIDTH, width, residual)
    return w
