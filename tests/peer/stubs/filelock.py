"""Tests that run one after another need no lock."""
import contextlib


def FileLock(path):
    return contextlib.nullcontext()
