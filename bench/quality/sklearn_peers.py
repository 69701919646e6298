"""Log loss of scikit-learn's classifiers, its networks and linear models tuned on the training rows, on the same splits as classification.py:
  sklearn_peers.py TABLES [--table NAME ...] [--splits 20] [--processes 1]
One JSON object per line. Needs scikit-learn."""
import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import tempfile
import warnings

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import splits

SEARCHES = {
    "logistic": (make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
                 {"logisticregression__C": [0.01, 0.1, 0.3, 1, 3, 10, 100]}),
    "mlp": (make_pipeline(StandardScaler(), MLPClassifier(max_iter=300, random_state=0)),
            {"mlpclassifier__hidden_layer_sizes": [(128,), (128, 64)],
             "mlpclassifier__alpha": [1e-3, 1e-1, 1]}),
    "boosting": (HistGradientBoostingClassifier(random_state=0), {}),
}


def numbers(path, target):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    at = header.index(target)
    return np.array([row[:at] + row[at + 1:] for row in rows], float), np.array([row[at] for row in rows])


def measure(folder, name, target, seed):
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        train, test = (numbers(path, target) for path in splits.split_rows(folder, name, seed, pathlib.Path(place)))
    line = {"table": name, "split": seed}
    for peer, (model, grid) in SEARCHES.items():
        folds = StratifiedKFold(4, shuffle=True, random_state=0)
        search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=folds) if grid else model
        search.fit(*train)
        line[peer] = float(log_loss(test[1], search.predict_proba(test[0]), labels=search.classes_))
    return line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--table", nargs="+")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    jobs = [(options.tables, name, told["target"], seed) for seed in range(options.splits)
            for name, told in splits.targets(options.tables).items()
            if (name in options.table if options.table else told["task"] == "classes")]
    with concurrent.futures.ProcessPoolExecutor(options.processes) as pool:
        for line in concurrent.futures.as_completed([pool.submit(measure, *job) for job in jobs]):
            print(json.dumps(line.result()), flush=True)


if __name__ == "__main__":
    main()
