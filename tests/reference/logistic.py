#!/usr/bin/env python3
"""Writes logistic.json: coefficients of scikit-learn's LogisticRegression at a tight tolerance.

    .venv/bin/python tests/reference/logistic.py        (after tools/setup --peers)
"""
import json
import pathlib

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

chance = np.random.default_rng(3)


def case(name, x, y, weights=None, balanced=False, C=1.0, fit_intercept=True):
    x = np.asarray(x, dtype=float).round(6)
    # The columns are scaled for scikit-learn's solver alone; the penalty is on coefficients of the columns as they are.
    model = LogisticRegression(C=C, fit_intercept=fit_intercept, class_weight="balanced" if balanced else None,
                               solver="newton-cg", tol=1e-11, max_iter=100_000)
    model.fit(x, y, sample_weight=weights)
    return {"name": name, "columns": x.shape[1], "x": x.ravel().tolist(), "y": np.asarray(y).tolist(),
            "weights": None if weights is None else np.asarray(weights).tolist(), "balanced": balanced, "C": C,
            "fit_intercept": fit_intercept, "coefficients": model.coef_.ravel().tolist(),
            "intercept": np.broadcast_to(model.intercept_, model.coef_.shape[:1]).tolist()}


def main():
    iris = load_iris()
    wine = load_wine()
    cancer = load_breast_cancer()
    two = iris.target < 2
    few = np.arange(0, 569, 4)
    x = chance.normal(size=(60, 4))
    y = (x @ [1, -2, 0.5, 0] + chance.normal(size=60) > 0.3).astype(int)
    twice = np.column_stack([x, x[:, 0], 2 * x[:, 1] - x[:, 2]])
    constant = np.column_stack([x[:, :2], np.full(60, 7.0), np.zeros(60)])
    weights = chance.integers(1, 6, size=60).astype(float)
    cases = [
        case("iris", iris.data, iris.target),
        case("iris, weak penalty", iris.data, iris.target, C=100.0),
        case("iris without an intercept", iris.data, iris.target, fit_intercept=False),
        case("wine, scaled", (wine.data - wine.data.mean(0)) / wine.data.std(0), wine.target),
        case("wine, balanced", (wine.data - wine.data.mean(0)) / wine.data.std(0), wine.target, balanced=True, C=0.1),
        case("separable", iris.data[two], iris.target[two]),
        case("separable, weak penalty", iris.data[two], iris.target[two], C=1e4),
        case("cancer", (cancer.data[few] - cancer.data.mean(0)) / cancer.data.std(0), cancer.target[few]),
        case("collinear", twice, y),
        case("constant columns", constant, y),
        case("constant columns without an intercept", constant, y, fit_intercept=False),
        case("row weights", x, y, weights=weights / weights.mean()),
        case("row weights of three classes", x, (y + (x[:, 3] > 1)).astype(int), weights=weights / weights.mean()),
        case("balanced", x, (x[:, 0] > 1).astype(int), balanced=True),
    ]
    text = json.dumps({"made_with": f"scikit-learn {sklearn.__version__}", "cases": cases})
    pathlib.Path(__file__).with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main()
