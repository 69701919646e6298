#!/usr/bin/env python3
"""Makes the files that some of the documents here read: long.csv (300,000 × 20) and broad.csv (40,000 × 120).

    bench/advice/make_files.py FOLDER      about 90 MB; files that are there stay as they are
"""
import math
import pathlib
import random
import sys


def make(path, rows, columns, block_rows=2_000):
    """The same numbers every time. Blocks of rows repeat with another offset, since drawing all would take long."""
    if path.exists():
        return
    chance = random.Random(1)
    block = [[chance.gauss(0, 1) for _ in range(columns - 1)] for _ in range(block_rows)]
    half_made = path.with_suffix(".half")
    with open(half_made, "w") as file:
        file.write(",".join(["y"] + [f"x{i}" for i in range(1, columns)]) + "\n")
        for number in range(rows // block_rows):
            shift = number / 50
            for row in block:
                y = math.sin(row[0] + shift) + 0.5 * row[1] - row[2] * row[3]
                file.write(f"{y:.5g},{row[0] + shift:.5g}," + ",".join(f"{value:.5g}" for value in row[1:]) + "\n")
    half_made.rename(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    make(folder / "long.csv", 300_000, 20)
    make(folder / "broad.csv", 40_000, 120)
