#!/usr/bin/env python3
"""The tables of docs/judged.md and docs/judged-answers.md are what scripts of this folder print.

    docs.py            says which are not
    docs.py --write    writes them anew
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
# Name of the block in the page -> the page, the command.
BLOCKS = {
    "answers": ("judged-answers.md", "python3 tests/judged/answers.py"),
    "verified": ("judged.md", "python3 tests/judged/verified.py"),
    "simulated": ("judged.md", "python3 tests/judged/simulated.py"),
    "gpu": ("judged.md", "python3 tests/judged/gpu.py --report"),
    "bank": ("judged.md", "python3 tests/judged/report.py"),
    "distinct": ("judged.md", "python3 tests/judged/distinct.py"),
}


def page(name):
    return os.path.join(ROOT, "docs", BLOCKS[name][0])


def printed(name):
    """The block as it should stand there."""
    command = BLOCKS[name][1]
    said = subprocess.run([sys.executable, *command.split()[1:]], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return "<!-- %s -->\n```\n$ %s\n%s\n```\n" % (name, command, "\n".join(line.rstrip() for line in said.rstrip("\n").split("\n")))


def text_of(name):
    with open(page(name)) as f:
        return f.read()


def shown(name):
    """The block as it stands there."""
    return re.search(r"<!-- %s -->\n```\n.*?\n```\n" % name, text_of(name), re.S).group(0)


def main():
    write, stale = "--write" in sys.argv, 0
    for name in BLOCKS:
        old, new = shown(name), printed(name)
        if old == new:
            continue
        stale += 1
        print("%s: %s" % (os.path.relpath(page(name), ROOT), name))
        if write:
            text = text_of(name).replace(old, new)
            with open(page(name), "w") as f:
                f.write(text)
    return bool(stale) and not write


if __name__ == "__main__":
    sys.exit(main())
