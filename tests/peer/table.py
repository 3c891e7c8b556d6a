#!/usr/bin/python3
"""Prints what passed, by file, and which tests failed.  table.py JUNIT_XML VALID_TXT
Counted are the tests that llama-server itself passes in this way (valid.txt)."""
import collections
import sys
import xml.etree.ElementTree as xml


def read_outcomes(path):
    outcomes = {}
    for case in xml.parse(path).getroot().iter("testcase"):
        name = case.get("classname").removeprefix("unit.") + "::" + case.get("name")
        failed = any(child.tag in ("failure", "error") for child in case)
        skipped = any(child.tag == "skipped" for child in case)
        outcomes[name] = "failed" if failed or outcomes.get(name) == "failed" else (
            "skipped" if skipped else "passed")
    return outcomes


def main():
    outcomes = read_outcomes(sys.argv[1])
    with open(sys.argv[2]) as lines:
        valid = [line.rstrip("\n") for line in lines]
    files = collections.defaultdict(list)
    for name in valid:
        if name in outcomes:
            files[name.split("::")[0]].append(outcomes[name] == "passed")
    for name in valid:
        if outcomes.get(name, "passed") != "passed":
            print(f"{outcomes[name]}: {name}")
    print(f"\n{'file':<28}{'tests':>6}{'pass':>6}")
    for file, passed in files.items():
        print(f"{file:<28}{len(passed):>6}{sum(passed):>6}")
    ran = sum(files.values(), [])
    share = 100 * sum(ran) / max(1, len(ran))
    print(f"{'all':<28}{len(ran):>6}{sum(ran):>6}   {share:.1f}%")
    missing = len(valid) - len(ran)
    if missing:
        print(f"{missing} of {len(valid)} tests that count did not run.")
    sys.exit(0 if ran else 1)


main()
