"""The documents of the corpus, cleaned and deduplicated as they are added."""

import re
from typing import NamedTuple

# Typographic characters and their ASCII spelling: a vocabulary of 4096 has no room for both.
ASCII_SPELLING = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "--",
    "\u00a0": " ", "\u2026": "...", "\u2022": "*", "\u200b": "", "\ufeff": "", "\u2212": "-",
    "\u2192": "->", "\u00ad": "",
})

# A document with less ASCII than this is not English.
ASCII_SHARE_MIN = 0.97

# Shorter paragraphs may repeat: headings, "See also".
DEDUPLICATED_CHARS_MIN = 40

TITLE_CHARS_MAX = 80


class Document(NamedTuple):
    source: str
    title: str
    text: str

    def serialized(self) -> str:
        return f"@@{self.source}|{self.title}\n{self.text}"


class Collection:
    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.chars = 0
        self._seen: set[int] = set()  # hashes of the paragraphs added so far

    def add(self, source: str, title: str, text: str, min_chars: int = 200) -> None:
        """Adds the document unless too little English text remains of it."""
        text = self._without_known_paragraphs(_normalized(text)).strip()
        if len(text) >= min_chars and _is_ascii(text):
            title = title.strip().replace("\n", " ")[:TITLE_CHARS_MAX]
            self.documents.append(Document(source, title, text))
            self.chars += len(text)

    def _without_known_paragraphs(self, text: str) -> str:
        paragraphs = (paragraph.rstrip() for paragraph in re.split(r"\n\s*\n", text))
        return "\n\n".join(paragraph for paragraph in paragraphs
                           if paragraph.strip() and self._is_new(paragraph))

    def _is_new(self, paragraph: str) -> bool:
        if len(paragraph) < DEDUPLICATED_CHARS_MIN:
            return True
        key = hash(re.sub(r"\s+", " ", paragraph))
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def _normalized(text: str) -> str:
    text = text.translate(ASCII_SPELLING).replace("\r", "").replace("\x00", "")
    text = re.sub(r"[ \t]+\n", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text)


def _is_ascii(text: str) -> bool:
    start = text[:20000]
    return sum(ord(char) < 128 for char in start) / len(start) > ASCII_SHARE_MIN
