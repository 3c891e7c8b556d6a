"""Checkpoints: one .npz with every parameter under its PyTorch name, e.g. "blocks.3.wq"."""

import os
from pathlib import Path

import numpy as np
import torch

from model import Pocket


def save(model: Pocket, path: Path) -> None:
    """Matrices in float16, as the GGUF file stores them; the rest in float32. Atomic."""
    arrays = {}
    for name, parameter in model.named_parameters():
        half = parameter.dim() == 2 and not name.endswith("conv")
        value = parameter.detach().half() if half else parameter.detach().float()
        arrays[name] = value.cpu().numpy()
    unfinished = path.with_suffix(".tmp.npz")
    np.savez(unfinished, **arrays)
    os.replace(unfinished, path)


def load(path: Path, device: str) -> Pocket:
    model = Pocket()
    arrays = np.load(path)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(arrays[name].astype(np.float32)))
    return model.to(device)
