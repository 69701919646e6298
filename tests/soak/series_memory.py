#!/usr/bin/env python3
"""How much memory a long series takes: a run from the file to the trained model, whose peak is held to 1.5 times the
series. A copy of it that comes back somewhere shows here.

    tests/soak/series_memory.py build/stoker [--rows 2000000] [--form csv npy] [--most 1.5] [--up-to-split]

The series has seven columns of 8 bytes a number, as they are read, and its windows are 512 rows long. What the
program takes without data is the peak of the same run over 2,000 rows, and is subtracted: once up to the split, where
LibTorch is not loaded yet, and once for the whole run.
"""
import argparse
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

COLUMNS = 7
ROWS_OF_BLOCK = 2000
CARDS = """version: 1
name: memory
cards:
  load: {type: data_load, config: {source: file, path: FILE}}
  windows:
    type: windows
    inputs: {dataset: load.dataset}
    config: {length: 512, horizon: 8, target_column: c0}
  split: {type: data_split, inputs: {dataset: windows.dataset}, config: {train_ratio: 0.85, test_ratio: 0.15}}
  model:
    type: model_define_gpu
    config: {model_type: temporal_mlp, hidden_layers: [16], epochs: 1, batch_size: 256, validation_ratio: 0.1}
  train:
    type: train_gpu
    inputs: {train_dataset: split.train_dataset, model_spec: model.model_spec}
    config: {target_column: c0, device: cpu}
"""


def block_of_rows():
    return [[math.sin((row + 1) * (column + 1) / 50) + row % 13 / 100 for column in range(COLUMNS)]
            for row in range(ROWS_OF_BLOCK)]


def write_series(path, rows):
    """The same block over and over, so that this process stays small: a child's peak begins with its parent's."""
    block = block_of_rows()
    with open(path, "wb") as file:
        if path.suffix == ".csv":
            file.write((",".join(f"c{column}" for column in range(COLUMNS)) + "\n").encode())
            piece = "".join(",".join(f"{value:.6f}" for value in row) + "\n" for row in block).encode()
        else:
            header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {COLUMNS})}}"
            header = header.ljust(117) + "\n"
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            piece = b"".join(struct.pack(f"<{COLUMNS}d", *row) for row in block)
        for _ in range(rows // ROWS_OF_BLOCK):
            file.write(piece)


def peak_of(stoker, folder, document, *words):
    """Bytes of memory that a run had at most."""
    command = [stoker, "run", document, "--quiet", "--out", f"{document}-runs", *words]

    # With a core to itself, each reader of a file holds a piece of it.
    def on_two_cores():
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])

    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=on_two_cores)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{errors}")
    return usage.ru_maxrss * 1024


def peaks(stoker, folder, form, rows, up_to_split):
    """Up to the split, and of the whole run if that is asked for."""
    path = folder / f"series-{rows}.{form}"
    write_series(path, rows)
    document = folder / f"{path.name}.yaml"
    document.write_text(CARDS.replace("FILE", path.name))
    found = [peak_of(stoker, folder, document.name, "--only", "split")]
    return found if up_to_split else [*found, peak_of(stoker, folder, document.name, "--no-cache")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stoker", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--most", type=float, default=1.5, help="times the series")
    parser.add_argument("--up-to-split", action="store_true", help="without the training, which takes minutes")
    parser.add_argument("--form", nargs="+", choices=["csv", "npy"], default=["csv"])
    options = parser.parse_args()
    stoker = options.stoker.resolve()
    series = options.rows * COLUMNS * 8
    is_too_much = False
    for form in options.form:
        with tempfile.TemporaryDirectory() as folder:
            without = peaks(stoker, pathlib.Path(folder), form, ROWS_OF_BLOCK, options.up_to_split)
            with_it = peaks(stoker, pathlib.Path(folder), form, options.rows, options.up_to_split)
        for part, least, most in zip(("up to the split", "the whole run"), without, with_it):
            ratio = (most - least) / series
            is_too_much |= ratio > options.most
            print(f"{form}  {part:15}  {most / 1e6:6.1f} MB, without data {least / 1e6:6.1f} MB: "
                  f"{ratio:.2f} times the series of {series / 1e6:.0f} MB")
    if is_too_much:
        sys.exit(f"more than {options.most} times the series")


if __name__ == "__main__":
    main()
