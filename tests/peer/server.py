#!/usr/bin/python3
"""Stands where llama-server's tests expect llama-server: starts the server under test with their
flags, the pocket model in place of theirs, and nothing of the user's own settings.

PEER_PROGRAM is the program, PEER_KIND what it is (holdfast, llama-server), PEER_MODEL the model,
PEER_FOLDER where cached states go."""
import os
import sys
import tempfile

# Flags of the tests that are about where their models come from, with how many values they have.
DROPPED = {"--hf-repo": 1, "--hf-file": 1, "--model-url": 1, "--mmproj-url": 1, "--offline": 0}


def without_dropped(arguments):
    kept, rest = [], list(arguments)
    while rest:
        name = rest.pop(0)
        if name in DROPPED:
            del rest[:DROPPED[name]]
        else:
            kept.append(name)
    return kept


def value_of(arguments, name, otherwise=None):
    return arguments[arguments.index(name) + 1] if name in arguments else otherwise


def for_pocket_model(arguments):
    """What the tests' models are by themselves."""
    added = ["-t", "1"]
    if "--model" not in arguments:
        added += ["--model", os.environ["PEER_MODEL"]]
    if "--reasoning" not in arguments:
        added += ["--reasoning", "off"]
    if "--embedding" in arguments and "--pooling" not in arguments:
        added += ["--pooling", "mean"]
    return arguments + added


def for_holdfast(arguments):
    """The context is that of a slot there, and of all slots in llama-server."""
    if "--ctx-size" in arguments and "--kv-unified" not in arguments:
        at = arguments.index("--ctx-size") + 1
        arguments[at] = str(int(arguments[at]) // int(value_of(arguments, "--parallel", "1")))
    states = tempfile.mkdtemp(prefix="states-", dir=os.environ["PEER_FOLDER"])
    return ["serve", *arguments, "--cache-dir", states]


arguments = for_pocket_model(without_dropped(sys.argv[1:]))
if os.environ["PEER_KIND"] == "holdfast":
    arguments = for_holdfast(arguments)
program = os.environ["PEER_PROGRAM"]
os.execv(program, [program, *arguments])
