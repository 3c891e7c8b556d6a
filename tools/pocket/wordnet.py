"""Step 1b: common words and what they mean, out of WordNet.

Reads corpus.txt and the database files of WordNet (index.noun, data.noun, ...; Debian package
wordnet-base, unpacked beside the packages of corpus.py) and writes wordnet.json into the work
folder:

    {"gloss": {word: [part of speech, gloss]}, "nouns": [word, ...]}

    python3 wordnet.py [--work DIR] [--database DIR]

Standard library only. The program that made this file for the shipped model was not kept. This one
gives definitions of the form that model learned; its choice of words is its own.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workdir import parser

UNPACKED_DATABASE = "inputs/packages/wordnet-base/usr/share/wordnet"

# In order of preference for a word that is several.
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")

PLAIN_WORD = re.compile(r"[a-z]{3,12}")

# Rarer words and longer glosses are more than a model of this size can learn by heart: the shipped
# one knows about half the definitions of words this common, and few of the others.
USES_IN_CORPUS_MIN = 100
GLOSS_CHARS_MAX = 120


def main() -> None:
    command_line = parser(__doc__)
    command_line.add_argument("--database", type=Path, metavar="DIR",
                              help="folder of WordNet's database files (default:"
                                   f" {UNPACKED_DATABASE} in the work folder)")
    options = command_line.parse_args()
    database = options.database or options.work.folder / UNPACKED_DATABASE
    extract = definitions(database, common_words(options.work.read_corpus()))
    print(f"{len(extract['gloss'])} words, {len(extract['nouns'])} nouns")
    options.work.wordnet.write_text(json.dumps(extract, indent=0), encoding="utf-8")


def common_words(corpus: str) -> set[str]:
    uses = Counter(match.group() for match in re.finditer(r"\w+", corpus.lower()))
    return {word for word, count in uses.items()
            if count >= USES_IN_CORPUS_MIN and PLAIN_WORD.fullmatch(word)}


def definitions(database: Path, words: set[str]) -> dict[str, Any]:
    glosses: dict[str, tuple[str, str]] = {}
    for part_of_speech in PARTS_OF_SPEECH:
        for word, gloss in read_entries(database, part_of_speech):
            if word in words and len(gloss) <= GLOSS_CHARS_MAX:
                glosses.setdefault(word, (part_of_speech, gloss))
    return {
        "gloss": dict(sorted(glosses.items())),
        "nouns": sorted(word for word, (kind, _) in glosses.items() if kind == "noun"),
    }


def read_entries(database: Path, part_of_speech: str) -> Iterator[tuple[str, str]]:
    """Every word that occurs in WordNet's tagged texts, with the gloss of its commonest sense.

    wndb(5WN) describes both files.
    """
    with (open(database / f"index.{part_of_speech}", encoding="ascii") as index,
          open(database / f"data.{part_of_speech}", "rb") as data):
        for line in index:
            if line.startswith(" "):  # the licence
                continue
            word, _, _, pointers, *fields = line.split()
            _, tagged_senses, offset = map(int, fields[int(pointers):int(pointers) + 3])
            if tagged_senses:
                data.seek(offset)
                yield word, without_examples(data.readline().decode("latin-1"))


def without_examples(synset: str) -> str:
    """The gloss of a line of the data file, without the examples quoted after it."""
    return synset.partition("| ")[2].split('; "')[0].strip()


if __name__ == "__main__":
    main()
