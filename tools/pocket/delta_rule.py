"""The gated delta rule of Gated DeltaNet, computed in chunks of 64 tokens.

Token by token, each head keeps a state S [64, 64] and does

    S <- exp(g) S;   S <- S + beta k (v - k S);   out = q S

with scalars g <= 0 and beta in (0, 1). Within a chunk the corrections depend on each other only
through a triangular system, so a chunk becomes a few matrix products:

    Gc      cumulative sum of g within the chunk; D[i, j] = exp(Gc[i] - Gc[j]) for j <= i
    A       beta k k^T * D, strictly lower triangular
    T       (I + A)^-1                       (class TriangularInverse)
    U, W    T beta v and T beta exp(Gc) k
    V       U - W S                          (class ChunkRecurrence, S = state before the chunk)
    out     exp(Gc) q S + (q k^T * D) V
    S       exp(Gc[-1]) S + (exp(Gc[-1] - Gc) k)^T V

Tensors of this module hold one 64 x 64 tile per chunk and head: [tiles, 64, 64] with tiles ordered
(sequence, chunk, head). On the GPU in float32 Triton does the inverse and the recurrence; other
dtypes and devices use plain PyTorch, which the tests compare with the token-by-token rule.
"""

from typing import NamedTuple

import torch

from shape import GDN_HEADS

if torch.cuda.is_available():
    import delta_kernels

CHUNK = 64

# Exponent of the entries of D above the diagonal: exp of it is 0 and has gradient 0.
MASKED_EXPONENT = -1e4

# Columns of the state per Triton program. 32 reads W and K less often; with few sequences only 16
# makes enough programs to fill the GPU.
COLUMNS_MANY, COLUMNS_FEW, MANY_STATES = 32, 16, 192


def _on_triton(x: torch.Tensor) -> bool:
    return x.is_cuda and x.dtype == torch.float32


class TriangularInverse(torch.autograd.Function):
    """T = (I + A)^-1 for strictly lower triangular A [tiles, 64, 64]."""

    @staticmethod
    def forward(ctx, A):
        A = A.contiguous()
        if _on_triton(A):
            T = torch.empty_like(A)
            delta_kernels.inverse[(A.shape[0],)](A, T, num_warps=1)
        else:
            eye = torch.eye(CHUNK, dtype=A.dtype, device=A.device)
            T = torch.linalg.solve_triangular(
                A + eye, eye.expand_as(A), upper=False, unitriangular=True)
        ctx.save_for_backward(T)
        return T

    @staticmethod
    def backward(ctx, dT):
        """Not masked to the strictly lower part: the caller's `where` does that."""
        (T,) = ctx.saved_tensors
        Tt = T.transpose(-1, -2)
        return -torch.bmm(torch.bmm(Tt, dT), Tt)


class ChunkRecurrence(torch.autograd.Function):
    """V_n = U_n - W_n S_n and S_{n+1} = G_n S_n + K_n^T V_n, from S_0 = 0 in every sequence.

    W, U, K [tiles, 64, 64], G [tiles]; returns (S_n, V_n) of every chunk.
    """

    @staticmethod
    def forward(ctx, W, U, K, G, sequences):
        chunks = _chunks(U, sequences)
        S, V = torch.empty_like(U), torch.empty_like(U)
        if _on_triton(U):
            columns = _columns(sequences)
            delta_kernels.recurrence_forward[(64 // columns, sequences * GDN_HEADS)](
                W, U, K, G, S, V, chunks, GDN_HEADS, columns, num_warps=4, num_stages=2)
        else:
            w, u, k, g, s_all, v_all = (_by_chunk(x, sequences) for x in (W, U, K, G, S, V))
            s = torch.zeros_like(u[:, 0])
            for n in range(chunks):
                v = u[:, n] - w[:, n] @ s
                s_all[:, n], v_all[:, n] = s, v
                s = s * g[:, n, :, None, None] + k[:, n].transpose(-1, -2) @ v
        ctx.save_for_backward(W, K, G, S, V)
        ctx.sequences = sequences
        return S, V

    @staticmethod
    def backward(ctx, dS, dV):
        W, K, G, S, V = ctx.saved_tensors
        sequences = ctx.sequences
        chunks = _chunks(S, sequences)
        dS, dV = dS.contiguous(), dV.contiguous()
        dS_next, dV_total = torch.empty_like(S), torch.empty_like(S)
        if _on_triton(S):
            columns = _columns(sequences)
            delta_kernels.recurrence_backward[(64 // columns, sequences * GDN_HEADS)](
                W, K, G, dS, dV, dS_next, dV_total, chunks, GDN_HEADS, columns, num_warps=4,
                num_stages=2)
        else:
            w, k, g, ds_own, dv_own, ds_next, dv_total = (
                _by_chunk(x, sequences) for x in (W, K, G, dS, dV, dS_next, dV_total))
            ds = torch.zeros_like(ds_own[:, 0])
            for n in reversed(range(chunks)):
                dv = dv_own[:, n] + k[:, n] @ ds
                ds_next[:, n], dv_total[:, n] = ds, dv
                ds = (ds_own[:, n] + g[:, n, :, None, None] * ds
                      - w[:, n].transpose(-1, -2) @ dv)
        dW = -torch.bmm(dV_total, S.transpose(-1, -2))
        dK = torch.bmm(V, dS_next.transpose(-1, -2))
        dG = (S * dS_next).sum((-1, -2))
        return dW, dV_total, dK, dG, None


def _chunks(tiles: torch.Tensor, sequences: int) -> int:
    return tiles.shape[0] // (sequences * GDN_HEADS)


def _by_chunk(x: torch.Tensor, sequences: int) -> torch.Tensor:
    """[tiles, ...] as [sequence, chunk, head, ...], sharing memory."""
    return x.view(sequences, -1, GDN_HEADS, *x.shape[1:])


def _columns(sequences: int) -> int:
    return COLUMNS_MANY if sequences * GDN_HEADS >= MANY_STATES else COLUMNS_FEW


class ChunkMatrices(NamedTuple):
    A: torch.Tensor  # [tiles, 64, 64]
    P: torch.Tensor  # q k^T * D
    Q: torch.Tensor  # exp(Gc) q
    K: torch.Tensor  # exp(Gc[-1] - Gc) k
    G: torch.Tensor  # exp(Gc[-1]), [tiles]
    R: torch.Tensor  # beta v and beta exp(Gc) k side by side: T R = [U, W]


def chunk_matrices(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor,
                   beta: torch.Tensor) -> ChunkMatrices:
    """q, k, v [tiles, 64, 64]; g, beta [tiles, 64]."""
    Gc = g.cumsum(-1)
    o = torch.arange(CHUNK, device=g.device)
    masked = torch.full((), MASKED_EXPONENT, dtype=g.dtype, device=g.device)
    D = torch.exp(torch.where(o[:, None] >= o[None, :], Gc[:, :, None] - Gc[:, None, :], masked))
    beta = beta[:, :, None]
    k_transposed = k.transpose(-1, -2)
    A = torch.bmm(k, k_transposed) * D * beta
    A = torch.where(o[:, None] > o[None, :], A, torch.zeros((), dtype=A.dtype, device=A.device))
    decay = torch.exp(Gc)[:, :, None]
    return ChunkMatrices(
        A=A,
        P=torch.bmm(q, k_transposed) * D,
        Q=q * decay,
        K=k * torch.exp(Gc[:, -1:] - Gc)[:, :, None],
        G=torch.exp(Gc[:, -1]),
        R=torch.cat([v * beta, k * (beta * decay)], -1),
    )


def to_tiles(x: torch.Tensor, dim: int) -> torch.Tensor:
    """[tokens, heads * dim] -> [tiles, 64, dim]"""
    return x.reshape(-1, CHUNK, GDN_HEADS, dim).permute(0, 2, 1, 3).reshape(-1, CHUNK, dim)


def from_tiles(x: torch.Tensor) -> torch.Tensor:
    """[tiles, 64, dim] -> [tokens, heads * dim]"""
    dim = x.shape[-1]
    x = x.reshape(-1, GDN_HEADS, CHUNK, dim).permute(0, 2, 1, 3)
    return x.reshape(-1, GDN_HEADS * dim)
