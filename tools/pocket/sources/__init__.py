"""Text for the corpus, out of unpacked documentation packages.

    collection   the documents: cleaned, deduplicated, counted
    markup       HTML, reStructuredText, POD and dictionary entries to plain text
    readers      what to read from which package
    tidy         leftovers of navigation and directives, removed from the finished documents
"""
