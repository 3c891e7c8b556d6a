#!/usr/bin/env python3
"""Has clang verify GUARDED_BY and REQUIRES_LOCK in every source file of ours.

Usage: scripts/thread_safety.py BUILD_FOLDER JOBS    (the folder's compile_commands.json is read)
"""
import concurrent.futures
import json
import pathlib
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG = shutil.which("clang++-19") or shutil.which("clang++")


def clang_command(entry):
    """GCC's command with its own warnings and outputs left out."""
    words = shlex.split(entry["command"])
    kept, skip = [], False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("-o", "-MT", "-MF", "-include"):
            skip = True
        elif not word.startswith(("-W", "-MD", "-fsanitize")):
            kept.append(word)
    warnings = ["-Wno-everything", "-Wthread-safety", "-Werror=thread-safety"]
    return [CLANG, "-fsyntax-only", *kept, *warnings]


def verify(entry):
    run = subprocess.run(clang_command(entry), cwd=entry["directory"], capture_output=True, text=True)
    return run.returncode, run.stderr


def main():
    folder, jobs = sys.argv[1], int(sys.argv[2])
    if CLANG is None:
        sys.exit("There is no clang++. Install it: apt-get install clang-19")
    commands = json.loads((ROOT / folder / "compile_commands.json").read_text())
    ours = [c for c in commands if c["file"].startswith(str(ROOT / "src")) and "_test" not in c["file"]]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(verify, ours))
    for code, text in results:
        if code != 0:
            print(text, file=sys.stderr)
    failed = sum(code != 0 for code, _ in results)
    print(f"thread safety: {len(results)} files, {failed} with violations")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
