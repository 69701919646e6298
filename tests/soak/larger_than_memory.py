#!/usr/bin/env python3
"""Trains on a table of several times the memory that the program is told of, behind a wall that the system holds:
what it takes beside mapped files (RLIMIT_DATA). The model must be, bit for bit, the one that is trained without any
limit in the same order.

    tests/soak/larger_than_memory.py build/stoker [--rows 700000] [--form csv npy] [--limit 16] [--wall 200]

The table has 24 columns of 8 bytes a number as they are read, and of 4 as they are trained on; an eighth of those
must fit into half of the limit, so that both trainings have the same shards. The limit and the wall are in MB. Beside
the rows the wall has to hold the program and what it takes of single columns.
"""
import argparse
import json
import math
import os
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import time

COLUMNS = 24
ROWS_OF_BLOCK = 1000
SETTINGS = ["--hidden-layers", "32", "--number-embedding", "none", "--epochs", "1", "--batch-size", "512",
            "--validation-ratio", "0.1", "--placement", "window", "--device", "cpu", "--no-cache", "--json"]


def write_table(path, rows):
    block = [[math.sin((row + 1) * (column + 1) / 50) + row % 13 / 100 for column in range(COLUMNS)]
             for row in range(ROWS_OF_BLOCK)]
    with open(path, "wb") as file:
        if path.suffix == ".csv":
            file.write((",".join(f"c{column}" for column in range(COLUMNS)) + "\n").encode())
            piece = "".join(",".join(f"{value:.6f}" for value in row) + "\n" for row in block).encode()
        else:
            header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {COLUMNS})}}".ljust(117) + "\n"
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            piece = b"".join(struct.pack(f"<{COLUMNS}d", *row) for row in block)
        for _ in range(rows // ROWS_OF_BLOCK):
            file.write(piece)


def train(program, table, target, limit=0, wall=0):
    def bound():
        if wall:
            resource.setrlimit(resource.RLIMIT_DATA, (wall * 10**6, wall * 10**6))

    # Not the allocator that reserves a gibibyte beforehand, nor a stack for each of many cores: they would count.
    environment = {**os.environ, "PATH": "", "ARROW_DEFAULT_MEMORY_POOL": "system", "STOKER_THREADS": "2",
                   "OMP_NUM_THREADS": "2"}
    if limit:
        environment["STOKER_MEMORY_LIMIT"] = str(limit * 10**6)
    began = time.monotonic()
    done = subprocess.run([program, "train", table.name, "--target", target, *SETTINGS], cwd=table.parent,
                          capture_output=True, text=True, env=environment, preexec_fn=bound, check=False)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode} with a limit of {limit} MB:\n{done.stderr[-3000:]}")
    if limit and "in a mapped file" not in done.stderr:
        sys.exit(f"with a limit of {limit} MB the rows did not lie in a file:\n{done.stderr[-3000:]}")
    folder = max((table.parent / "runs").iterdir(), key=lambda each: each.stat().st_mtime)
    return (folder / "model" / "model.safetensors").read_bytes(), time.monotonic() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda each: str(pathlib.Path(each).resolve()))
    parser.add_argument("--rows", type=int, default=700_000)
    parser.add_argument("--form", nargs="+", default=["csv", "npy"], choices=["csv", "npy"])
    parser.add_argument("--limit", type=int, default=16)
    parser.add_argument("--wall", type=int, default=200)
    options = parser.parse_args()
    for form in options.form:
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / f"table.{form}"
            write_table(table, options.rows)
            usual, usual_seconds = train(options.program, table, "c0")
            walled, walled_seconds = train(options.program, table, "c0", options.limit, options.wall)
            if walled != usual:
                sys.exit(f"{form}: the model is another one than without a limit")
            print(json.dumps({"form": form, "megabytes": options.rows * COLUMNS * 8 // 10**6, "limit": options.limit,
                              "wall": options.wall, "seconds": round(walled_seconds, 1),
                              "seconds_without": round(usual_seconds, 1)}))


if __name__ == "__main__":
    main()
