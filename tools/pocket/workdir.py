"""Where the steps of the recipe find each other's files: one work folder, fixed names."""

import argparse
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SHIPPED_TOKENIZER = HERE / "tokenizer.json"
CHAT_TEMPLATE = HERE / "chat_template.jinja"


class WorkDir:
    """The work folder's files, by name."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.corpus = self.folder / "corpus.txt"
        self.wordnet = self.folder / "wordnet.json"
        self.tokenizer = self.folder / "tokenizer.json"
        self.stream = self.folder / "stream.npy"
        self.validation = self.folder / "validation.npy"
        self.shards = self.folder / "shards"

    def read_corpus(self) -> str:
        return self.corpus.read_text(encoding="utf-8")

    def read_wordnet(self) -> dict[str, Any]:
        return json.loads(self.wordnet.read_text(encoding="utf-8"))


def parser(docstring: str) -> argparse.ArgumentParser:
    """A command line whose help is the script's docstring, with the option every step shares."""
    result = argparse.ArgumentParser(
        description=docstring, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--work", type=WorkDir, default=WorkDir(HERE / "work"), metavar="DIR",
                        help="work folder (default: work/ beside this script)")
    return result
