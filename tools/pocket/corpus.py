"""Step 1a: plain text for the corpus.

Extracts the text of unpacked documentation packages (sources/readers.py lists them and where they
are expected) and writes corpus.txt into the work folder: documents separated by NUL, each headed
by a line "@@source|title".

    python3 corpus.py [--work DIR] [--inputs DIR]

Standard library only.
"""

from collections import Counter
from pathlib import Path

from sources.collection import Collection, Document
from sources.readers import Reader
from sources.tidy import tidied
from workdir import parser


def main() -> None:
    command_line = parser(__doc__)
    command_line.add_argument("--inputs", type=Path, metavar="DIR",
                              help="folder with packages/, kjv.txt and the npm archives"
                                   " (default: inputs/ in the work folder)")
    options = command_line.parse_args()
    inputs = options.inputs or options.work.folder / "inputs"
    documents = [kept for kept in map(tidied, extract(inputs)) if kept]
    report(documents)
    options.work.folder.mkdir(parents=True, exist_ok=True)
    options.work.corpus.write_text(
        "\x00".join(document.serialized() for document in documents), encoding="utf-8")


def extract(inputs: Path) -> list[Document]:
    collection = Collection()
    chars_before = 0
    for source in Reader(inputs, collection).read_all():
        print(f"{source:24s} {(collection.chars - chars_before) / 1e6:8.2f} MB", flush=True)
        chars_before = collection.chars
    return collection.documents


def report(documents: list[Document]) -> None:
    chars: Counter[str] = Counter()
    for document in documents:
        chars[document.source] += len(document.text)
    print("tidied:", ", ".join(f"{source} {count / 1e6:.2f}"
                               for source, count in chars.most_common()))
    print(f"{len(documents)} documents, {chars.total() / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
