"""What shuffling by shards costs a model: RMSE of `stoker train` with rows shuffled all together and with
`--placement window`, whose shards have an eighth of the rows each, from files in several orders.
  shards.py PROGRAM TABLES [--table NAME ...] [--splits 5] [-- flags of stoker train]
One JSON object per line and a summary at the end; TABLES is a folder that tables.py has filled. Both ways train with
the engine eager on the CPU, on the same two thirds of the rows, and are tested on the others."""
import collections
import csv
import pathlib
import statistics
import tempfile

import numpy as np

import splits

ORDERS = ["shuffled", "as in the file", "sorted by target"]
found = collections.defaultdict(list)


def told(values):
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.mean(values):.4g} +- {error:.2g} (standard error)"


def arrange(path, target, order, seed):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    if order == "sorted by target":
        rows.sort(key=lambda row: float(row[header.index(target)]))
    if order == "shuffled":
        rows = [rows[i] for i in np.random.RandomState(1000 + seed).permutation(len(rows))]
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def in_order_of_file(folder, name, seed, into):
    """The rows of a split as splits.py chooses them, in the order in which the table has them."""
    with open(folder / f"{name}.csv", newline="") as file:
        header, *rows = csv.reader(file)
    order = np.random.RandomState(seed).permutation(len(rows))
    third = len(rows) // 3
    for part, chosen in (("test", order[:third]), ("train", order[third:])):
        with open(into / f"{part}.csv", "w", newline="") as file:
            csv.writer(file).writerows([header, *(rows[i] for i in sorted(chosen))])
    return into / "train.csv", into / "test.csv"


def measure(program, folder, name, seed, flags):
    target = splits.targets(folder)[name]["target"]
    line = {"table": name, "split": seed}
    with tempfile.TemporaryDirectory() as place:
        train, test = in_order_of_file(folder, name, seed, pathlib.Path(place))
        actual = np.array(splits.column(test, target), float)
        for order in ORDERS:
            if order != "as in the file":
                arrange(train, target, order, seed)
            else:
                in_order_of_file(folder, name, seed, pathlib.Path(place))
            for way, own in (("together", []), ("by shards", ["--placement", "window"])):
                _, predicted, _ = splits.train_and_predict(
                    program, train, test, target, ["--task", "regression", "--device", "cpu", "--engine", "eager",
                                                   "--seed", str(seed), *own, *flags])
                values = np.array(predicted[next(iter(predicted))], float)
                line[f"{order}, {way}"] = float(np.sqrt(np.mean((values - actual) ** 2)))
    for key, value in line.items():
        if key not in ("table", "split"):
            found[name, key].append(value)
    return line


if __name__ == "__main__":
    splits.measure_all(measure, "regression", 5)
    for (name, key), values in found.items():
        print(f"{name}: {key}: {told(values)}, {len(values)} splits")
    for name in {name for name, _ in found}:
        for order in ORDERS:
            pairs = zip(found[name, f"{order}, together"], found[name, f"{order}, by shards"])
            above = [100 * (shards / together - 1) for together, shards in pairs]
            print(f"{name}: {order}: by shards {told(above)} % above together")
