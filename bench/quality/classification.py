"""Log loss of `stoker train` on a third of a table with classes, trained on the other two, by table and split:
  classification.py PROGRAM TABLES [--table NAME ...] [--splits 20] [-- flags of stoker train]
One JSON object per line; TABLES is a folder that tables.py has filled."""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

import splits

# As scikit-learn counts a probability of 0.
SMALLEST = np.finfo(float).eps


def measure(program, folder, name, seed, flags):
    target = splits.targets(folder)[name]["target"]
    with tempfile.TemporaryDirectory() as place:
        train, test = splits.split_rows(folder, name, seed, pathlib.Path(place))
        seconds, predicted, training = splits.train_and_predict(program, train, test, target, flags)
        actual = splits.column(test, target)
    right = [float(predicted[f"probability_{value}"][row]) for row, value in enumerate(actual)]
    named = next(iter(predicted))
    return {"table": name, "split": seed, "log_loss": float(-np.mean(np.log(np.maximum(right, SMALLEST)))),
            "accuracy": float(np.mean([a == b for a, b in zip(actual, predicted[named])])), "seconds": seconds,
            "parameters": training["parameters"]}


def main():
    own = sys.argv[1:]
    flags = []
    if "--" in own:
        own, flags = own[:own.index("--")], own[own.index("--") + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--table", nargs="+")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(own)
    known = splits.targets(options.tables)
    for name in options.table or [name for name in known if known[name]["task"] == "classes"]:
        for seed in range(options.first, options.splits):
            print(json.dumps(measure(options.program, options.tables, name, seed, flags)), flush=True)


if __name__ == "__main__":
    main()
