"""Triton kernels of the chunked gated delta rule; delta_rule.py explains and calls them.

Every matrix is a 64 x 64 tile of float32 (64 = chunk length = head dimension), stored contiguously:
4096 numbers. Triton wants these sizes as literals.
"""

import triton
import triton.language as tl


@triton.jit
def _inverse_diagonal(A, base, b: tl.constexpr):
    """Inverse of I + the b-th 16 x 16 diagonal block of A, row by row."""
    o = tl.arange(0, 16)
    p = A + base + b * 16 * 64 + b * 16
    X = -tl.load(p + o[:, None] * 64 + o[None, :])
    X = tl.where(o[:, None] > o[None, :], X, 0.0)
    for i in range(1, 16):
        row = -tl.load(p + i * 64 + o)
        row = tl.where(o < i, row, 0.0)
        row = row + tl.sum(row[:, None] * X, 0)
        X = tl.where((o == i)[:, None], row[None, :], X)
    return X + tl.where(o[:, None] == o[None, :], 1.0, 0.0)


@triton.jit
def _load_block(A, base, i: tl.constexpr, j: tl.constexpr):
    o = tl.arange(0, 16)
    return tl.load(A + base + (i * 16 + o[:, None]) * 64 + j * 16 + o[None, :])


@triton.jit
def _store_block(T, base, i: tl.constexpr, j: tl.constexpr, x):
    o = tl.arange(0, 16)
    tl.store(T + base + (i * 16 + o[:, None]) * 64 + j * 16 + o[None, :], x)


@triton.jit
def _dot(a, b):
    """Full float32: tf32 would spoil the inverse."""
    return tl.dot(a, b, input_precision="ieee")


@triton.jit
def inverse(A, T):
    """T = (I + A)^-1 for strictly lower triangular A, by blocks of 16. One program per tile."""
    base = tl.program_id(0) * 4096
    d0 = _inverse_diagonal(A, base, 0)
    d1 = _inverse_diagonal(A, base, 1)
    d2 = _inverse_diagonal(A, base, 2)
    d3 = _inverse_diagonal(A, base, 3)
    a10 = _load_block(A, base, 1, 0)
    a20 = _load_block(A, base, 2, 0)
    a21 = _load_block(A, base, 2, 1)
    a30 = _load_block(A, base, 3, 0)
    a31 = _load_block(A, base, 3, 1)
    a32 = _load_block(A, base, 3, 2)
    x10 = -_dot(_dot(d1, a10), d0)
    x21 = -_dot(_dot(d2, a21), d1)
    x32 = -_dot(_dot(d3, a32), d2)
    x20 = -_dot(d2, _dot(a20, d0) + _dot(a21, x10))
    x31 = -_dot(d3, _dot(a31, d1) + _dot(a32, x21))
    x30 = -_dot(d3, _dot(a30, d0) + _dot(a31, x10) + _dot(a32, x20))
    zero = tl.zeros([16, 16], dtype=tl.float32)
    _store_block(T, base, 0, 0, d0)
    _store_block(T, base, 1, 1, d1)
    _store_block(T, base, 2, 2, d2)
    _store_block(T, base, 3, 3, d3)
    _store_block(T, base, 1, 0, x10)
    _store_block(T, base, 2, 1, x21)
    _store_block(T, base, 3, 2, x32)
    _store_block(T, base, 2, 0, x20)
    _store_block(T, base, 3, 1, x31)
    _store_block(T, base, 3, 0, x30)
    _store_block(T, base, 0, 1, zero)
    _store_block(T, base, 0, 2, zero)
    _store_block(T, base, 0, 3, zero)
    _store_block(T, base, 1, 2, zero)
    _store_block(T, base, 1, 3, zero)
    _store_block(T, base, 2, 3, zero)


@triton.jit
def recurrence_forward(W, U, K, G, S, V, chunks, heads, BV: tl.constexpr):
    """Programs (64 / BV, batch * heads): each owns BV columns of one head's state."""
    columns = tl.program_id(0) * BV + tl.arange(0, BV)
    sequence = tl.program_id(1) // heads
    head = tl.program_id(1) % heads
    o = tl.arange(0, 64)
    full = o[:, None] * 64 + o[None, :]
    part = o[:, None] * 64 + columns[None, :]
    s = tl.zeros([64, BV], dtype=tl.float32)
    for n in range(chunks):
        tile = (sequence * chunks + n) * heads + head
        base = tile.to(tl.int64) * 4096
        tl.store(S + base + part, s)
        w = tl.load(W + base + full)
        v = tl.load(U + base + part) - tl.dot(w, s)
        tl.store(V + base + part, v)
        k = tl.load(K + base + full)
        g = tl.load(G + tile)
        s = s * g + tl.dot(tl.trans(k), v)


@triton.jit
def recurrence_backward(W, K, G, dS, dV, dS_next, dV_total, chunks, heads, BV: tl.constexpr):
    """The same split as forward, from the last chunk to the first."""
    columns = tl.program_id(0) * BV + tl.arange(0, BV)
    sequence = tl.program_id(1) // heads
    head = tl.program_id(1) % heads
    o = tl.arange(0, 64)
    full = o[:, None] * 64 + o[None, :]
    part = o[:, None] * 64 + columns[None, :]
    ds = tl.zeros([64, BV], dtype=tl.float32)
    for m in range(chunks):
        n = chunks - 1 - m
        tile = (sequence * chunks + n) * heads + head
        base = tile.to(tl.int64) * 4096
        tl.store(dS_next + base + part, ds)
        k = tl.load(K + base + full)
        dv = tl.load(dV + base + part) + tl.dot(k, ds)
        tl.store(dV_total + base + part, dv)
        w = tl.load(W + base + full)
        g = tl.load(G + tile)
        ds = tl.load(dS + base + part) + g * ds - tl.dot(tl.trans(w), dv)
