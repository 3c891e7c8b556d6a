"""Muon: momentum whose update is made orthogonal, for the weight matrices.

Matrices of one shape are stepped together in one batch. A matrix that stacks several projections
(wqkv) counts as that many matrices, each orthogonal by itself.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

# Quintic Newton-Schulz iterations, tuned so that five of them bring every singular value near 1.
NEWTON_SCHULZ = (
    (4.0848, -6.8946, 2.9270),
    (3.9505, -6.3029, 2.6377),
    (3.7418, -5.5913, 2.3037),
    (2.8769, -3.1427, 1.2046),
    (2.8366, -3.0525, 1.2012),
)

# Gives an orthogonal update the root mean square of a typical Adam update.
UPDATE_SCALE = 0.2


class Stacked(NamedTuple):
    parameter: Tensor
    parts: int  # how many matrices are stacked in it


def orthogonal(matrices: Tensor) -> Tensor:
    """The nearest orthogonal matrices to [n, rows, columns], approximately."""
    x = matrices.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for a, b, c in NEWTON_SCHULZ:
        y = x @ x.mT
        x = a * x + (b * y + c * (y @ y)) @ x
    return (x.mT if tall else x).float()


class Muon:
    def __init__(self, stacked: list[Stacked]):
        self._groups: dict[tuple[int, int], list[Stacked]] = {}
        for matrix in stacked:
            rows, columns = matrix.parameter.shape
            self._groups.setdefault((rows // matrix.parts, columns), []).append(matrix)
        self._momentum: dict[tuple[int, int], Tensor] = {}

    @torch.no_grad()
    def step(self, lr: float, weight_decay: float, momentum: float) -> None:
        for shape, group in self._groups.items():
            gradient = torch.cat([m.parameter.grad.view(m.parts, *shape) for m in group])
            if shape not in self._momentum:
                self._momentum[shape] = torch.zeros_like(gradient)
            average = self._momentum[shape].lerp_(gradient, 1 - momentum)
            update = orthogonal(gradient.lerp(average, momentum))
            update *= -lr * UPDATE_SCALE * math.sqrt(max(shape))
            parameters = [m.parameter for m in group]
            updates = [part.reshape(m.parameter.shape)
                       for m, part in zip(group, update.split([m.parts for m in group]))]
            torch._foreach_mul_(parameters, 1 - lr * weight_decay)
            torch._foreach_add_(parameters, updates)
