#!/usr/bin/env python3
"""Rules of size and naming that a compiler does not check.

  - a production file has at most 400 lines
  - a class has at most 25 declarations, public and private together. Not counted: overrides and
    virtual functions (an interface is as large as its seam), special members, friends, a second
    overload of the same name; structs that only hold data are exempt
  - the numbered invariants of a header (`//   NAME-1  text`) have a name of their own: no other
    header uses it, and numbers count up from 1
  - an invariant that is mentioned exists: `NAME-1` in a comment, a message or a document,
    `NAME1...` at the beginning of a test's name, and a letter with a number in a comment is a
    promise of docs/design.md (`H1`)
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES_MAX = 400
DECLARATIONS_MAX = 25
# Written like an invariant, and none.
ORDINARY_WORDS = {"UTF", "SHA", "XXH3", "AVX", "GPT", "F32"}


def production_files():
    for folder in ("src", "bench"):
        for path in sorted((ROOT / folder).rglob("*")):
            is_test = path.name.endswith("_test.cc") or "testing" in path.parts
            if path.suffix in (".h", ".cc") and not is_test:
                yield path


def without_comments_and_strings(text):
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"'(\\.|[^'\\\n])'", "''", text)


def members(text, begin):
    """The declarations of the class whose body begins here, each without what is in its braces."""
    depth, parentheses, current = 1, 0, ""
    for i in range(begin, len(text)):
        c = text[i]
        if c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                return
            is_body = "(" in current and not text[i + 1 :].lstrip().startswith((";", ",", "{"))
            if depth == 1 and parentheses == 0 and is_body:
                yield current
                current = ""
        elif depth == 1 and c == ";":
            yield current
            current = ""
        elif depth == 1:
            parentheses += {"(": 1, ")": -1}.get(c, 0)
            current += c


def name_of(declaration):
    """What counts as one declaration; None: it does not count."""
    text = re.sub(r"^(\s*(public|private|protected)\s*:)+", "", declaration).strip()
    text = re.sub(r"\[\[\w+\]\]", "", text).strip()
    if not text or re.match(r"(friend|static_assert|using|template)\b", text):
        return None if not text.startswith("template") else "template " + text[-40:]
    if re.search(r"\boverride\b|\bvirtual\b|=\s*(delete|default)\s*$", text):
        return None
    function = re.search(r"(~?\w+|operator\W+)\s*\(", text)
    if function and not function.group(1).startswith("~"):
        return function.group(1)
    if function:
        return None
    return re.sub(r"\s*(=|GUARDED_BY).*", "", text, flags=re.S).split()[-1]


def class_sizes(path):
    text = without_comments_and_strings(path.read_text())
    for found in re.finditer(r"\b(class|struct)\s+(\w+)\s*(?:final\s*)?(?::[^;{()]*)?\{", text):
        names = [name_of(declaration) for declaration in members(text, found.end())]
        has_functions = any("(" in d for d in members(text, found.end()))
        if found.group(1) == "class" or has_functions:
            yield found.group(2), len({name for name in names if name})


def invariants(path):
    """Names of numbered invariants, with the numbers in the order of the header."""
    numbers = {}
    for line in path.read_text().splitlines():
        found = re.match(r"//   ([A-Z][A-Z0-9]*)-(\d+) {2,}\S", line)
        if found:
            numbers.setdefault(found.group(1), []).append(int(found.group(2)))
    return numbers


def all_texts():
    """Every file in which an invariant may be defined or mentioned."""
    for folder in ("src", "bench", "fuzz", "tests", "docs"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cc", ".md") and "node_modules" not in path.parts:
                yield path, path.read_text()


def unknown_invariants():
    """Mentions of invariants that nothing defines."""
    texts = list(all_texts())
    known = set()
    for _, text in texts:
        known.update(re.findall(r"^ *// +([A-Z][A-Z0-9]*-\d+) {2,}\S", text, flags=re.M))
    names = {invariant.rsplit("-", 1)[0] for invariant in known}
    promises = set(re.findall(r"\*\*(H\d) ", (ROOT / "docs" / "design.md").read_text()))
    for path, text in texts:
        where = path.relative_to(ROOT)
        for name, number in re.findall(r"(?<![\w-])([A-Z][A-Z0-9]+)-(\d+)(?![\w-])", text):
            if name not in ORDINARY_WORDS and f"{name}-{number}" not in known:
                yield f"{where}: mentions {name}-{number}, which is no invariant"
        comments = " ".join(re.findall(r"//(.*)", text)) if path.suffix != ".md" else ""
        for promise in re.findall(r"(?<![\w-])([A-Z]\d{1,2})(?![\w-])", comments):
            if promise not in ORDINARY_WORDS | promises:
                yield f"{where}: mentions {promise}, which is no promise of docs/design.md"
        for test in re.findall(r"\bTEST(?:_F|_P)?\(\w+,\s*(\w+)\)", text):
            found = re.match(r"([A-Z]+|[A-Z][a-z]+)(\d+)(?=[A-Z]|$)", test)
            if not found or (found[1].upper() not in names and not found[1].isupper()):
                continue
            if f"{found[1].upper()}-{found[2]}" not in known:
                yield f"{where}: {test} begins with {found[0]}, which is no invariant"


def main():
    faults, users = list(unknown_invariants()), {}
    for path in production_files():
        where = path.relative_to(ROOT)
        lines = path.read_text().count("\n")
        if lines > FILE_LINES_MAX:
            faults.append(f"{where}: {lines} lines; at most {FILE_LINES_MAX}")
        for name, size in class_sizes(path):
            if size > DECLARATIONS_MAX:
                faults.append(f"{where}: {name} has {size} declarations; at most {DECLARATIONS_MAX}")
        for name, numbers in invariants(path).items() if path.suffix == ".h" else ():
            if numbers != list(range(1, len(numbers) + 1)):
                faults.append(f"{where}: invariants {name} are numbered {numbers}")
            if users.setdefault(name, where) != where:
                faults.append(f"{where}: invariants {name} are those of {users[name]}, too")
    print("\n".join(faults) if faults else "the rules hold")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
