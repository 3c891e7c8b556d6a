#!/usr/bin/env python3
"""Rules of size and naming that a compiler does not check.

  - a production file has at most 400 lines
  - a class has at most 25 declarations, public and private together. Not counted: overrides and
    virtual functions (an interface is as large as its seam), special members, friends, a second
    overload of the same name; structs that only hold data are exempt
  - the numbered invariants of a header (`//   NAME-1  text`) have a name of their own: no other
    header uses it, and numbers count up from 1
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES_MAX = 400
DECLARATIONS_MAX = 25
# Larger than that, and not to grow. Whoever splits one takes it out.
STILL_TOO_LARGE = {
    "DraftPace": 49,
    "TreeCore": 48,
    "TimesBySize": 40,
    "TokenTree": 31,
    "DiskStore": 30,
    "BlobShelf": 29,
}


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


def main():
    faults, users = [], {}
    for path in production_files():
        where = path.relative_to(ROOT)
        lines = path.read_text().count("\n")
        if lines > FILE_LINES_MAX:
            faults.append(f"{where}: {lines} lines; at most {FILE_LINES_MAX}")
        for name, size in class_sizes(path):
            most = STILL_TOO_LARGE.get(name, DECLARATIONS_MAX)
            if size > most:
                faults.append(f"{where}: {name} has {size} declarations; at most {most}")
        for name, numbers in invariants(path).items() if path.suffix == ".h" else ():
            if numbers != list(range(1, len(numbers) + 1)):
                faults.append(f"{where}: invariants {name} are numbered {numbers}")
            if users.setdefault(name, where) != where:
                faults.append(f"{where}: invariants {name} are those of {users[name]}, too")
    print("\n".join(faults) if faults else "the rules hold")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
