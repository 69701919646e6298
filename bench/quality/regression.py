"""RMSE of `stoker train` on a third of a table, trained on the other two, by table and split:
  regression.py PROGRAM TABLES [--table NAME ...] [--splits 5] [-- flags of stoker train]
One JSON object per line; TABLES is a folder that tables.py has filled."""
import pathlib
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


if __name__ == "__main__":
    splits.measure_all(measure, "regression", 5)
