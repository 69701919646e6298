"""Writes metrics.json: scikit-learn's metrics for small cases, hard ones among them.

python3 metrics.py   (needs scikit-learn; made with 1.9)
"""
import json
import pathlib
import warnings

import numpy as np
from sklearn import metrics

random = np.random.default_rng(7)


def regression(name, actual, predicted):
    actual, predicted = np.asarray(actual, float), np.asarray(predicted, float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        r2 = metrics.r2_score(actual, predicted)
    return {
        "name": name,
        "actual": actual.tolist(),
        "predicted": predicted.tolist(),
        "mse": metrics.mean_squared_error(actual, predicted),
        "rmse": metrics.root_mean_squared_error(actual, predicted),
        "mae": metrics.mean_absolute_error(actual, predicted),
        "median_absolute_error": metrics.median_absolute_error(actual, predicted),
        "r2": None if np.isnan(r2) else r2,
    }


def classification(name, actual, probabilities):
    actual, probabilities = np.asarray(actual), np.asarray(probabilities, float)
    classes = probabilities.shape[1]
    labels = list(range(classes))
    predicted = probabilities.argmax(axis=1)
    area = None
    if set(actual) == set(labels):
        area = (metrics.roc_auc_score(actual, probabilities[:, 1]) if classes == 2 else
                metrics.roc_auc_score(actual, probabilities, multi_class="ovr", average="macro"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes without rows
        balanced = metrics.balanced_accuracy_score(actual, predicted)
    return {
        "name": name,
        "classes": classes,
        "actual": actual.tolist(),
        "predicted": predicted.tolist(),
        "probabilities": probabilities.ravel().tolist(),
        "accuracy": metrics.accuracy_score(actual, predicted),
        "macro_f1": metrics.f1_score(actual, predicted, average="macro", zero_division=0),
        "log_loss": metrics.log_loss(actual, probabilities, labels=labels),
        "roc_auc": area,
        "balanced_accuracy": balanced,
        "matthews_correlation": metrics.matthews_corrcoef(actual, predicted),
        "confusion": metrics.confusion_matrix(actual, predicted, labels=labels).ravel().tolist(),
    }


def random_classes(rows, classes, digits=None):
    actual = np.concatenate([np.arange(classes), random.integers(0, classes, rows - classes)])
    logits = random.normal(size=(rows, classes)) + 1.5 * np.eye(classes)[actual]
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    if digits is not None:  # coarse scores tie often; the last class takes what rounding leaves
        probabilities = np.floor(probabilities * 10**digits) / 10**digits
        probabilities[:, -1] = 1 - probabilities[:, :-1].sum(axis=1)
    return actual, probabilities


noisy = random.normal(50, 12, 40)
cases = {
    "regression": [
        regression("good", noisy, noisy + random.normal(0, 3, 40)),
        regression("worse than the mean", noisy, -noisy),
        regression("exact", [1, 2, 3], [1, 2, 3]),
        regression("constant targets, met", [2.5, 2.5, 2.5], [2.5, 2.5, 2.5]),
        regression("constant targets, missed", [2.5, 2.5, 2.5], [2, 2.5, 3]),
        regression("one row", [4], [5]),
        regression("large offset", 1e8 + noisy, 1e8 + noisy + 1),
    ],
    "classification": [
        classification("binary", *random_classes(40, 2)),
        classification("binary with ties", *random_classes(40, 2, digits=1)),
        classification("binary, all scores equal", [0, 1, 1, 0, 1], [[0.5, 0.5]] * 5),
        classification("binary, one class absent", [1, 1, 1], [[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]),
        classification("four classes", *random_classes(60, 4)),
        classification("four classes with ties", *random_classes(60, 4, digits=1)),
        classification("a class neither there nor predicted", [0, 1, 1, 0],
                       [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.5, 0.4, 0.1], [0.6, 0.3, 0.1]]),
        classification("a class predicted but not there", [0, 1, 1, 0],
                       [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1], [0.6, 0.3, 0.1]]),
        classification("certain and wrong", [0, 1, 1], [[1, 0], [1, 0], [0, 1]]),
    ],
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(cases, indent=1) + "\n")
