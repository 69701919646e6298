"""RMSE of `stoker train` on a third of a table, trained on the other two, by table and split:
  regression.py PROGRAM TABLES [--table NAME ...] [--splits 5] [-- flags of stoker train]
One JSON object per line; TABLES is a folder that tables.py has filled."""
import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

import splits


def measure(program, folder, name, seed, flags):
    target = splits.targets(folder)[name]["target"]
    with tempfile.TemporaryDirectory() as place:
        train, test = splits.split_rows(folder, name, seed, pathlib.Path(place))
        ensemble = "--validation-ratio" not in flags
        seconds, predicted, training = splits.train_and_predict(program, train, test, target,
                                                                ["--task", "regression", *flags], ensemble)
        actual = np.array(splits.column(test, target), float)
    values = np.array(predicted[next(iter(predicted))], float)
    line = {"table": name, "split": seed, "rmse": float(np.sqrt(np.mean((values - actual) ** 2))), "seconds": seconds,
            "engine": training["engine"], "parameters": training["parameters"]}
    if "lower" in predicted:
        lower, upper = (np.array(predicted[side], float) for side in ("lower", "upper"))
        line["coverage"] = float(np.mean((lower <= actual) & (actual <= upper)))
    return line


def main():
    own = sys.argv[1:]
    flags = []
    if "--" in own:
        own, flags = own[:own.index("--")], own[own.index("--") + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--table", nargs="+")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(own)
    known = splits.targets(options.tables)
    for name in options.table or [name for name in known if known[name]["task"] == "regression"]:
        for seed in range(options.first, options.splits):
            print(json.dumps(measure(options.program, options.tables, name, seed, flags)), flush=True)


if __name__ == "__main__":
    main()
