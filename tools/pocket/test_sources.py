"""Tests of the corpus extraction and the WordNet extract.

    python3 test_sources.py

Standard library only.
"""

import gzip
import tempfile
import unittest
from pathlib import Path

from sources.collection import Collection, Document
from sources.markup import foldoc_entry, gcide_entry, html_text, html_title, pod_text, rst_text
from sources.readers import DICTIONARIES, Reader
from sources.tidy import tidied
from wordnet import common_words, definitions

PAGE = """<html><head><title>Cats &amp; dogs</title></head><body><nav>Menu</nav>
<div id="main"><h1>Cats</h1><p>A  cat
sleeps.</p><ul><li>one</li></ul><pre>a &lt;
  b</pre><!-- hidden --><table><tr><td>x</td><td>y</td></tr></table></div></body></html>"""


class Markup(unittest.TestCase):
    def test_html(self):
        self.assertEqual(html_title(PAGE), "Cats & dogs")
        text = html_text(PAGE, r'<div id="main">(.*)</div>')
        self.assertEqual(text.split("\n\n"),
                         ["", "Cats", "A cat sleeps.", "* one", "a <\n  b", "x | y |", ""])

    def test_other_formats(self):
        self.assertEqual(rst_text(".. index:: x\n\nSee :func:`~os.path` and ``code``.\n"),
                         "\nSee os.path and code.\n")
        self.assertEqual(pod_text("=head1 NAME\n\nB<Old C<perl> code> is L<fine|x>.\n"),
                         "NAME\n\nOld perl code is fine.\n")

    def test_dictionary_entries(self):
        self.assertEqual(foldoc_entry("ping\n\n   <networking> A {test}.\n\n   (1999-01-02)"),
                         "ping: <networking> A test.")
        self.assertEqual(gcide_entry("Anchor \\An\"chor\\, n.\n   An iron [see [PJC] it] that holds"
                                     " {ships} to the ground of the sea. [1913 Webster]"),
                         "Anchor: An iron that holds ships to the ground of the sea.")
        self.assertEqual(gcide_entry("Anker\n   See Anchor."), "")


class Cleaning(unittest.TestCase):
    def test_paragraphs_are_kept_once(self):
        collection = Collection()
        paragraph = "This paragraph is long enough to be recognized when it returns. " * 4
        collection.add("a", "First\nline", f"{paragraph}\n\nShort.\n\n\n\nCaf\u2019s")
        collection.add("a", "Second", paragraph)
        self.assertEqual([d.title for d in collection.documents], ["First line"])
        self.assertTrue(collection.documents[0].text.endswith("Short.\n\nCaf's"))
        self.assertEqual(collection.chars, len(collection.documents[0].text))

    def test_other_languages_are_left_out(self):
        collection = Collection()
        collection.add("a", "Russian", "\u0441\u043b\u043e\u0432\u043e " * 100)
        self.assertEqual(collection.documents, [])

    def test_menus_are_removed(self):
        text = "\n\n".join(["Home", "Up", "Next", "Index", "A sentence. " * 20, "Notes", "| * |"])
        document = tidied(Document("sqlite", "T - cppreference.com", text))
        self.assertEqual(document.title, "T")
        self.assertEqual(document.text.split("\n\n"), [("A sentence. " * 20).strip(), "Notes"])
        self.assertIsNone(tidied(Document("sqlite", "T", "Too short.")))


class Reading(unittest.TestCase):
    def test_missing_packages_are_skipped(self):
        """With nothing but the three dictionaries and the Bible, those are read."""
        with tempfile.TemporaryDirectory() as folder:
            inputs = Path(folder)
            (inputs / "kjv.txt").write_text("".join(
                f"Ge1:{n} And the evening and the morning were day number {n}.\n"
                for n in range(1, 9)))
            for dictionary in DICTIONARIES:
                path = inputs / "packages" / dictionary.package / "usr/share/dictd/x.dict.dz"
                path.parent.mkdir(parents=True)
                path.write_bytes(gzip.compress("".join(
                    f"word{n}{dictionary.source}\n   {'A definition of it. ' * 5}{n}.\n"
                    for n in range(60)).encode()))
            collection = Collection()
            reader = Reader(inputs, collection)
            reader._bible()
            for dictionary in DICTIONARIES:
                reader._dictionary(dictionary)
            reader._fortunes()
            self.assertEqual({d.source for d in collection.documents},
                             {"bible", "foldoc", "jargon", "gcide"})


class WordNet(unittest.TestCase):
    def test_commonest_sense_of_common_words(self):
        corpus = "anchor run, x_y " * 100 + "rare"
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder)
            for kind in ("noun", "verb", "adj", "adv"):
                (database / f"index.{kind}").write_text("  1 licence\n")
                (database / f"data.{kind}").write_text("")
            noun = '00000000 06 n 01 anchor 0 000 | it holds ships; or men; "an anchor of hope"\n'
            verb = "00000000 38 v 01 run 0 000 | move fast\n"
            (database / "data.noun").write_text(noun)
            (database / "data.verb").write_text(verb)
            (database / "index.noun").write_text("anchor n 1 2 @ ~ 1 1 00000000\n"
                                                 "rare n 1 0 1 1 00000000\n")
            (database / "index.verb").write_text("anchor v 1 1 @ 1 1 00000000\n"
                                                 "run v 1 1 @ 1 1 00000000\n")
            found = definitions(database, common_words(corpus))
        self.assertEqual(found, {
            "gloss": {"anchor": ("noun", "it holds ships; or men"), "run": ("verb", "move fast")},
            "nouns": ["anchor"],
        })


if __name__ == "__main__":
    unittest.main()
