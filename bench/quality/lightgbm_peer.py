"""RMSE of LightGBM's default on the same splits as regression.py:
  lightgbm_peer.py TABLES [--splits 5]
One JSON object per line. Needs lightgbm and pandas."""
import argparse
import json
import pathlib
import tempfile
import time

import lightgbm
import numpy as np
import pandas as pd

import splits


def measure(folder, name, target, seed):
    with tempfile.TemporaryDirectory() as place:
        train, test = map(pd.read_csv, splits.split_rows(folder, name, seed, pathlib.Path(place)))
    for column in train.columns:
        if not pd.api.types.is_numeric_dtype(train[column]):
            kinds = pd.CategoricalDtype(sorted(train[column].dropna().unique()))
            train[column], test[column] = train[column].astype(kinds), test[column].astype(kinds)
    began = time.monotonic()
    model = lightgbm.LGBMRegressor(verbose=-1).fit(train.drop(columns=target), train[target])
    seconds = time.monotonic() - began
    wrong = model.predict(test.drop(columns=target)) - test[target]
    return {"table": name, "split": seed, "rmse": float(np.sqrt(np.mean(wrong ** 2))), "seconds": seconds}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    for name, told in splits.targets(options.tables).items():
        if told["task"] != "regression":
            continue
        for seed in range(options.splits):
            print(json.dumps(measure(options.tables, name, told["target"], seed)), flush=True)


if __name__ == "__main__":
    main()
