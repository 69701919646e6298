"""Log loss of `stoker train` on a third of a table with classes, trained on the other two, by table and split:
  classification.py PROGRAM TABLES [--table NAME ...] [--splits 20] [-- flags of stoker train]
One JSON object per line; TABLES is a folder that tables.py has filled."""
import pathlib
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


if __name__ == "__main__":
    splits.measure_all(measure, "classes", 20)
