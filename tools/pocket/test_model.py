"""Tests of the model on the CPU: python3 -m unittest test_model (in this folder).

Skipped without PyTorch (1.13 is enough).
"""

import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")

import model as pocket
from delta_rule import (
    ChunkRecurrence, TriangularInverse, chunk_matrices, from_tiles, to_tiles,
)
from model import Pocket, positions
from shape import GDN_DIM, GDN_HEADS, VOCAB

LENGTH = 128  # two chunks
SEQUENCES = 2
PARAMETERS = 14_353_608


def token_by_token(q, k, v, g, beta):
    """The gated delta rule as defined, for one head: [tokens, GDN_DIM] and [tokens]."""
    state = torch.zeros(GDN_DIM, GDN_DIM, dtype=q.dtype)
    outputs = []
    for t in range(len(q)):
        state = torch.exp(g[t]) * state
        state = state + beta[t] * torch.outer(k[t], v[t] - k[t] @ state)
        outputs.append(q[t] @ state)
    return torch.stack(outputs)


def in_chunks(q, k, v, g, beta):
    """All heads and sequences at once: [tokens, heads * dim] and [tokens, heads]."""
    m = chunk_matrices(*(to_tiles(x, GDN_DIM) for x in (q, k, v)),
                       *(to_tiles(x, 1)[:, :, 0] for x in (g, beta)))
    U, W = pocket.gdn_corrections(TriangularInverse.apply(m.A), m.R)
    S, V = ChunkRecurrence.apply(W, U, m.K, m.G, SEQUENCES)
    return from_tiles(torch.bmm(m.Q, S) + torch.bmm(m.P, V))


def random_inputs():
    tokens, width = SEQUENCES * LENGTH, GDN_HEADS * GDN_DIM
    q, k, v = (torch.randn(tokens, width, dtype=torch.float64) * GDN_DIM**-0.5 for _ in range(3))
    g = -torch.rand(tokens, GDN_HEADS, dtype=torch.float64)
    beta = torch.rand(tokens, GDN_HEADS, dtype=torch.float64)
    return [x.requires_grad_() for x in (q, k, v, g, beta)]


class DeltaRule(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.inputs = random_inputs()

    def reference(self):
        def one(x, sequence, head):
            rows = x[sequence * LENGTH:(sequence + 1) * LENGTH]
            width = x.shape[1] // GDN_HEADS
            part = rows[:, head * width:(head + 1) * width]
            return part if width > 1 else part[:, 0]

        return torch.cat([
            torch.cat([token_by_token(*(one(x, sequence, head) for x in self.inputs))
                       for head in range(GDN_HEADS)], 1)
            for sequence in range(SEQUENCES)])

    def test_chunks_equal_tokens(self):
        torch.testing.assert_close(in_chunks(*self.inputs), self.reference())

    def test_gradients_equal(self):
        direction = torch.randn(SEQUENCES * LENGTH, GDN_HEADS * GDN_DIM, dtype=torch.float64)
        chunked = torch.autograd.grad((in_chunks(*self.inputs) * direction).sum(), self.inputs)
        plain = torch.autograd.grad((self.reference() * direction).sum(), self.inputs)
        for a, b in zip(chunked, plain):
            torch.testing.assert_close(a, b)


class Model(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.linear_before = pocket.PRECISION.linear
        pocket.PRECISION.linear = torch.float64
        self.model = Pocket().double()
        self.ids = torch.randint(VOCAB, (SEQUENCES, LENGTH))

    def tearDown(self):
        pocket.PRECISION.linear = self.linear_before

    def trunk(self, ids):
        at = positions(ids.shape[1], ids.shape[0], "cpu")
        return self.model.trunk(ids.reshape(-1), at, ids.shape[0]).reshape(*ids.shape, -1)

    def test_size(self):
        self.assertEqual(sum(p.numel() for p in self.model.parameters()), PARAMETERS)

    @torch.no_grad()
    def test_causal(self):
        """A changed token changes nothing before it, and something at it."""
        changed = self.ids.clone()
        changed[:, 70] = (changed[:, 70] + 1) % VOCAB
        before, after = self.trunk(self.ids), self.trunk(changed)
        torch.testing.assert_close(before[:, :70], after[:, :70])
        self.assertFalse(torch.allclose(before[:, 70], after[:, 70]))

    @torch.no_grad()
    def test_sequences_are_apart(self):
        together = self.trunk(self.ids)
        alone = torch.cat([self.trunk(row[None]) for row in self.ids])
        torch.testing.assert_close(together, alone)

    @torch.no_grad()
    def test_chained_mtp_drafts_like_a_decoder(self):
        """Steps 2 and 3 equal a draft made one step at a time."""
        tokens, at = self.ids.reshape(-1), positions(LENGTH, SEQUENCES, "cpu")
        hidden = self.model.trunk(tokens, at, SEQUENCES)
        first = self.model.mtp(tokens, at, hidden, SEQUENCES)
        everywhere = torch.arange(LENGTH)[None].expand(SEQUENCES, LENGTH)
        second, third = self.model.mtp_chained(tokens, at, first, everywhere, SEQUENCES)
        # After position t: step 2 reads the hidden state of step 1 at t + 1, step 3 that of
        # step 2 at t + 2; all earlier keys and states stay.
        t = 40
        fed = hidden.clone()
        fed[t + 1] = first.hidden[t + 1]
        torch.testing.assert_close(self.drafted(fed)[t + 2], second[t + 2])
        fed[t + 2] = second[t + 2]
        torch.testing.assert_close(self.drafted(fed)[t + 3], third[t + 3])

    def drafted(self, hidden):
        at = positions(LENGTH, SEQUENCES, "cpu")
        return self.model.mtp(self.ids.reshape(-1), at, hidden, SEQUENCES).hidden


if __name__ == "__main__":
    unittest.main()
