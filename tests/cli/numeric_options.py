#!/usr/bin/env python3
"""Every numeric option of every command rejects what is not a number within its range.

    tests/cli/numeric_options.py build/stoker

The options are those that `--help` of each command lists, so that a new one is tested too.
"""
import os
import re
import subprocess
import sys
import tempfile

# What a command needs before it looks at the values of its settings.
WORDS = {("train",): ["sample:friedman", "--target", "y"], ("bench",): ["no.yaml"],
         ("datasets", "generate"): ["x", "--sample", "friedman", "--to", "x.sqlite"]}
NO_NUMBERS = ["nan", "-inf", "1e999", "9" * 30, "seven", ""]
# Settings of documents, which have one reader for all: tests/config tests that.
OF_SETTINGS = ["nan", "1e999"]
OPTION = re.compile(r"^\s{2,}(?:-\w, ?)?(--[\w-]+)(?:,!?--[\w-]+)* (\S+)")
NUMERIC = re.compile(r"^(INT|UINT|FLOAT|INTEGER|NUMBER)\b")
RANGE = re.compile(r"^(?:INT|UINT|FLOAT):(-?[\d.e+]+) to (-?[\d.e+]+)(?:=.*)?$")


def stoker(words, folder):
    return subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "COLUMNS": "200"}, stdin=subprocess.DEVNULL)


def commands(path=()):
    """Each command with its help, subcommands included."""
    text = stoker([*path, "--help"], "/").stdout
    yield path, text
    below = re.split(r"^(?:Subcommands|SUBCOMMANDS):\s*$", text, flags=re.M)
    if len(below) == 2:
        for name in re.findall(r"^  (\w[\w-]*)", below[1].split("\n\n")[0], flags=re.M):
            yield from commands((*path, name))


def options(text):
    """Names and placeholders with their ranges; a placeholder may be on the line of the name alone."""
    for line in text.splitlines():
        found = OPTION.match(line)
        if found and NUMERIC.match(found[2]):
            rest = line[found.start(2):]
            yield found[1], re.match(r"\S+(?: to \S+)?", rest)[0]


def wrong_values(placeholder):
    values = list(OF_SETTINGS if re.match(r"INTEGER|NUMBER", placeholder) else NO_NUMBERS)
    bounds = RANGE.match(placeholder)
    if bounds:
        low, high = float(bounds[1]), float(bounds[2])
        step = 0.5 if placeholder.startswith("FLOAT") else 1
        values += [f"{low - step:g}" if step < 1 else str(int(low) - 1),
                   f"{high * 2 + 1:g}" if step < 1 else str(int(high) + 1)]
    return values


def main():
    problems, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for path, text in commands():
            for name, placeholder in options(text):
                count += 1
                if re.match(r"(INT|UINT|FLOAT)\b", placeholder) and not RANGE.match(placeholder):
                    problems.append(f"stoker {' '.join(path)} {name} has no range in its help: {placeholder}")
                for value in wrong_values(placeholder):
                    done = stoker([*path, *WORDS.get(path, []), f"{name}={value}"], folder)
                    # A setting is named by its place in the document; predict asks for its model first.
                    is_named = name in done.stderr or re.match(r"INTEGER|NUMBER", placeholder)
                    if done.returncode != 2 or not is_named or done.stdout:
                        problems.append(f"stoker {' '.join(path)} {name}={value}: exit code {done.returncode}, "
                                        f"{done.stderr.strip()[:200]!r}")
        if os.listdir(folder):
            problems.append(f"files were written: {os.listdir(folder)}")
    print(f"{count} numeric options")
    if count < 60:
        problems.append("the help lists fewer numeric options than there are; has its form changed?")
    for each in problems:
        print(each)
    return 1 if problems else 0


PROGRAM = os.path.abspath(sys.argv[1])
if __name__ == "__main__":
    sys.exit(main())
