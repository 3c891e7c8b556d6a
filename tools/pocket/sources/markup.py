"""Markup to plain text, by regular expressions fitted to the packages in readers.py."""

import html
import re

HTML_COMMENT = re.compile(r"<!--.*?-->", re.S)
HTML_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.S | re.I)
HTML_DROPPED = re.compile(
    r"<(script|style|head|nav|svg|button|form|noscript|select)\b.*?</\1\s*>", re.S | re.I)
HTML_PRE = re.compile(r"<pre\b[^>]*>(.*?)</pre\s*>", re.S | re.I)
HTML_TAG = re.compile(r"<[^>]*>")
HTML_BLOCK = re.compile(
    r"<(/?(p|div|h[1-6]|li|ul|ol|table|tr|dt|dd|dl|section|article|blockquote|header|footer|main"
    r"|aside|figure|figcaption|center)|br|hr)\b[^>]*>", re.I)

RST_DROPPED_DIRECTIVE = re.compile(
    r"^\.\. (toctree|index|sectionauthor|moduleauthor|module|_[^:]*|versionadded|versionchanged"
    r"|highlight|include|only|currentmodule|availability|raw|image|figure|literalinclude"
    r"|productionlist|cmdoption|program|tabularcolumns)[^\n]*\n(?:(?: +[^\n]*)?\n)*?(?=\S|$)",
    re.M)

# POD formats nest, as in B<a C<b> c>; three passes undo what occurs.
POD_NESTING = 3
POD_FORMAT = re.compile(r"[BCILFEXSZ]<+\s?([^<>|]*?)(?:\|[^<>]*)?\s?>+")
POD_COMMAND = re.compile(r"^=(head\d|item|over|back|cut|pod|encoding|begin|end|for)\b *", re.M)

# Stands inside other brackets too, so it goes before them.
GCIDE_SOURCE = re.compile(
    r"\[(1913 Webster|Webster 1913 Suppl\.|PJC|WordNet 1\.5|Obs\.|R\.)\]")


def html_title(page: str) -> str:
    title = HTML_TITLE.search(HTML_COMMENT.sub("", page))
    return _unescaped(title.group(1)) if title else ""


def html_text(page: str, main: str | None = None) -> str:
    """The page's text, paragraphs apart. `main` matches the content and has it as group 1."""
    page = HTML_COMMENT.sub("", page)
    content = re.search(main, page, re.S) if main else None
    text = HTML_DROPPED.sub("", content.group(1) if content else page)
    listings: list[str] = []

    def set_aside(listing: re.Match[str]) -> str:
        listings.append(_unescaped(listing.group(1)).strip("\n"))
        return f"\n\n\x01{len(listings) - 1}\x01\n\n"

    text = _flow_text(HTML_PRE.sub(set_aside, text))
    return re.sub(r"\x01(\d+)\x01", lambda mark: listings[int(mark.group(1))], text)


def _unescaped(fragment: str) -> str:
    return html.unescape(HTML_TAG.sub("", fragment))


def _flow_text(text: str) -> str:
    """Text of HTML without <pre>: blocks become paragraphs, table cells end in " | "."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"<li\b[^>]*>", "\n\n* ", text, flags=re.I)
    text = re.sub(r"</t[dh]>", " | ", text, flags=re.I)
    text = re.sub(r"<tr\b[^>]*>", "\n", text, flags=re.I)
    text = re.sub(r"</tr>", "\n", text, flags=re.I)
    text = _unescaped(HTML_BLOCK.sub("\n\n", text))
    text = "\n".join(line.strip() for line in text.split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", text)
    return re.sub(r"\* \n+", "* ", text)


def rst_text(source: str) -> str:
    """reStructuredText without roles, links and the directives that render to nothing."""
    text = RST_DROPPED_DIRECTIVE.sub("", source)
    text = re.sub(r":[\w:+-]+:`~?\.?([^`<]*?)(?:\s*<[^`>]*>)?`", r"\1", text)
    text = re.sub(r"``([^`]*)``", r"\1", text)
    return re.sub(r"`([^`<]+?)\s*<[^`>]*>`_+", r"\1", text)


def pod_text(source: str) -> str:
    """Perl's POD without formatting codes and command words."""
    for _ in range(POD_NESTING):
        source = POD_FORMAT.sub(r"\1", source)
    return POD_COMMAND.sub("", source)


def foldoc_entry(entry: str) -> str:
    """FOLDOC and the Jargon File: "headword: definition" without links and dates."""
    entry = re.sub(r"[{}]", "", entry)
    entry = re.sub(r"\n\s*\(\d{4}-\d\d-\d\d\)", "", entry)
    if "(http" in entry or "(ftp" in entry:
        entry = re.sub(r"\(?(http|ftp)\S+\)?\.?", "", entry)
    head, _, body = entry.partition("\n")
    body = re.sub(r"\n   (?=\S)", " ", body)
    body = re.sub(r"\s*\n\s*\n\s*", "\n", body)
    body = re.sub(r"\n +", " ", body)
    return head.strip() + ": " + re.sub(r" {2,}", " ", body.strip())


def gcide_entry(entry: str) -> str:
    """GCIDE: "headword: definition" without sources and notes; "" for mere references."""
    head, _, body = entry.partition("\n")
    word = re.split(r" \\|,", head)[0].strip()
    body = GCIDE_SOURCE.sub("", body)
    body = re.sub(r"\[[^\]]*\]", "", body)
    body = re.sub(r"[{}]", "", body)
    body = re.sub(r"--[A-Z][\w .&\']*", "", body)
    body = re.sub(r"\s+", " ", body).strip()
    if len(body) < 40 or body.startswith("See"):
        return ""
    return f"{word}: {body}"
