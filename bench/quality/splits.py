"""What the measurements of quality have in common: the splits of a table, and Stoker as a model on one of them."""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np


def targets(folder):
    return json.loads((folder / "targets.json").read_text())


def split_rows(folder, name, seed, into):
    """A third of the rows to test on, the others to train on: train.csv and test.csv."""
    with open(folder / f"{name}.csv", newline="") as file:
        header, *rows = csv.reader(file)
    order = np.random.RandomState(seed).permutation(len(rows))
    third = len(rows) // 3
    for part, chosen in (("test", order[:third]), ("train", order[third:])):
        with open(into / f"{part}.csv", "w", newline="") as file:
            csv.writer(file).writerows([header, *(rows[i] for i in chosen)])
    return into / "train.csv", into / "test.csv"


def column(path, name):
    with open(path, newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def train_and_predict(program, train, test, target, flags, interval=False):
    """Seconds from Enter to the end, and the predictions as columns by name."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        began = time.monotonic()
        call([program, "train", train, "--target", target, "--train-ratio", "1", "--out", place / "runs",
              "--no-cache", "--quiet", *flags])
        seconds = time.monotonic() - began
        (run,) = (each for each in (place / "runs").iterdir() if (each / "run.json").exists())
        predicted = place / "predicted.csv"
        call([program, "predict", run, test, "--output", predicted, *(["--interval", "90"] if interval else [])])
        with open(predicted, newline="") as file:
            header, *rows = csv.reader(file)
        training = json.loads((run / "run.json").read_text())["trainings"][0]
        return seconds, dict(zip(header, zip(*rows))), training


def measure_all(measure, task, count):
    """Prints what measure(program, folder, name, seed, flags) gives for each table of the task and each split."""
    own, flags = sys.argv[1:], []
    if "--" in own:
        own, flags = own[:own.index("--")], own[own.index("--") + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--table", nargs="+")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--splits", type=int, default=count)
    options = parser.parse_args(own)
    known = targets(options.tables)
    for name in options.table or [name for name in known if known[name]["task"] == task]:
        for seed in range(options.first, options.splits):
            print(json.dumps(measure(options.program, options.tables, name, seed, flags)), flush=True)
