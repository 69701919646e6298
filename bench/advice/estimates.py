#!/usr/bin/env python3
"""Holds what `stoker advise` estimates of an H200, where it sees no GPU, against runs on one.

    bench/advice/estimates.py BUILD/stoker [--work FOLDER] [--only NAME ...] [--seconds 20] [--gpu H200]

Every document here is advised on with all GPUs hidden, and then run twice on the GPU of this machine, without the
cache; the faster run counts, since the first may compile kernels. One line per document, then how many estimates are
within a factor of two.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import make_files

HERE = pathlib.Path(__file__).resolve().parent
MOST_TIMES = 2


def estimated(stoker, document, options):
    """Seconds, or None where nothing is estimated."""
    done = subprocess.run([stoker, "advise", str(document), "--json", "--quiet", "--seconds", str(options.seconds)],
                          capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    if done.returncode != 0:
        return None
    gpus = {each["name"]: each for each in json.loads(done.stdout)["gpu_estimates"]}
    return gpus[options.gpu]["estimated_seconds"] if options.gpu in gpus else None


def taken(stoker, document, out):
    """Seconds, or None where it does not run on a GPU."""
    times = []
    for _ in range(2):
        began = time.monotonic()
        done = subprocess.run([stoker, "run", str(document), "--no-cache", "--out", str(out), "--quiet", "--json",
                               "--device", "cuda"], capture_output=True)
        times.append(time.monotonic() - began)
        if done.returncode != 0:
            return None
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stoker")
    parser.add_argument("--work", help="folder for the files that documents read; a temporary one by default")
    parser.add_argument("--only", nargs="*", help="names of documents")
    parser.add_argument("--seconds", type=float, default=20, help="that advice on a document may take")
    parser.add_argument("--gpu", default="H200", help="the GPU of this machine, as the advice calls it")
    options = parser.parse_args()
    stoker = str(pathlib.Path(options.stoker).resolve())
    good = documents = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(options.work or temporary)
        work.mkdir(parents=True, exist_ok=True)
        make_files.make(work / "long.csv", 300_000, 20)
        make_files.make(work / "broad.csv", 40_000, 120)
        print("| document | estimated s | taken s | × |\n|---|---|---|---|", flush=True)
        for path in sorted(HERE.glob("*.yaml")):
            if options.only and path.stem not in options.only:
                continue
            documents += 1
            document = pathlib.Path(shutil.copy(path, work))
            told, ran = estimated(stoker, document, options), taken(stoker, document, pathlib.Path(temporary) / "runs")
            if told is None or ran is None:
                print(f"| {path.stem} | {'nothing' if told is None else f'{told:.2f}'} "
                      f"| {'not on a GPU' if ran is None else f'{ran:.2f}'} | |", flush=True)
                continue
            good += 1 / MOST_TIMES <= told / ran <= MOST_TIMES
            print(f"| {path.stem} | {told:.2f} | {ran:.2f} | {told / ran:.2f} |", flush=True)
    print(f"\n{good} of {documents} estimates within {MOST_TIMES} times (bar: 18 of 24)")


if __name__ == "__main__":
    main()
