"""Removes what the extraction left behind: navigation, table rulers, unresolved directives."""

import re

from sources.collection import Document

# Sources that were HTML pages, by how their names begin.
HTML_SOURCES = (
    "postgresql", "django", "sqlite", "cppreference", "libreoffice", "debian", "developers",
    "rust", "r-doc",
)

SITE_SUFFIX = re.compile(r" - cppreference| — Django| - The Rust| - Rust By")

DOCUMENT_CHARS_MIN = 200

# This many short paragraphs in a row are a menu, not text.
MENU_LENGTH = 4
MENU_ITEM_CHARS_MAX = 60


def tidied(document: Document) -> Document | None:
    """The document without leftovers; None if too little remains."""
    source, title, text = document
    if source.startswith(HTML_SOURCES):
        text = "\n\n".join(_without_menus(_paragraphs(text)))
    if source == "python":
        text = re.sub(r"^\s*\.\. \S+::.*$", "", text, flags=re.M)
        text = re.sub(r"\n{3,}", "\n\n", text)
    if len(text) < DOCUMENT_CHARS_MIN:
        return None
    return Document(source, SITE_SUFFIX.split(title)[0], text)


def _paragraphs(text: str) -> list[str]:
    """Paragraphs that hold more than table rulers and bullets."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text.replace("¶", "")):
        paragraph = paragraph.strip("\n")
        if "\n" not in paragraph:
            paragraph = paragraph.strip()
        paragraph = re.sub(r"( \|)+\s*$", "", paragraph)
        if not re.fullmatch(r"[\s|*\-.\[\]]*", paragraph):
            found.append(paragraph)
    return found


def _without_menus(paragraphs: list[str]) -> list[str]:
    kept: list[str] = []
    run: list[str] = []  # short paragraphs since the last long one
    for paragraph in paragraphs:
        if _is_short(paragraph):
            run.append(paragraph)
        else:
            kept += _unless_menu(run) + [paragraph]
            run = []
    return kept + _unless_menu(run)


def _is_short(paragraph: str) -> bool:
    return (len(paragraph) < MENU_ITEM_CHARS_MAX and "\n" not in paragraph
            and not re.search(r"[.:;!?]$", paragraph))


def _unless_menu(run: list[str]) -> list[str]:
    return run if len(run) < MENU_LENGTH else []
