"""Writes decision.json: temperatures by scipy's bounded scalar search, and decision thresholds by trying every cut
with scikit-learn's metrics.

python3 decision.py   (needs scipy and scikit-learn; made with 1.17 and 1.9)
"""
import json
import pathlib

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn import metrics

random = np.random.default_rng(11)


def case(name, rows, classes, sharpness, noise):
    """Probabilities that are as sure as `sharpness` times what would be right."""
    logits = random.normal(0, noise, (rows, classes))
    right = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    actual = np.array([random.choice(classes, p=row) for row in right])
    shown = np.exp(sharpness * logits - logsumexp(sharpness * logits, axis=1, keepdims=True))
    return name, shown.round(5), actual


def log_loss_at(temperature, probabilities, actual):
    logs = np.log(np.maximum(probabilities, np.finfo(float).eps)) / temperature
    return -(logs[np.arange(len(actual)), actual] - logsumexp(logs, axis=1)).sum()


def temperature(probabilities, actual):
    def objective(logarithm):
        inverse = np.exp(logarithm)
        return log_loss_at(1 / inverse, probabilities, actual) + inverse - np.log(inverse)

    found = minimize_scalar(objective, bounds=(np.log(0.05), np.log(20)), method="bounded", options={"xatol": 1e-10})
    return float(np.exp(-found.x))


def best(metric, probabilities, actual):
    second = np.unique(probabilities[:, 1])
    cuts = (second[1:] + second[:-1]) / 2
    return max(metric(actual, (probabilities[:, 1] > cut).astype(int)) for cut in [*cuts, second[0] / 2])


examples = []
for name, probabilities, actual in [
    case("too sure", 400, 3, 2.5, 2), case("not sure enough", 300, 2, 0.4, 2), case("about right", 200, 4, 1, 1),
    case("few rows", 12, 2, 3, 1), case("rare", 500, 2, 1, 3)]:
    if name == "rare":
        kept = (actual == 0) | (random.random(len(actual)) < 0.15)
        probabilities, actual = probabilities[kept], actual[kept]
    example = {"name": name, "probabilities": probabilities.tolist(), "actual": actual.tolist(),
               "temperature": temperature(probabilities, actual)}
    if probabilities.shape[1] == 2:
        example["best"] = {
            "accuracy": best(metrics.accuracy_score, probabilities, actual),
            "macro_f1": best(lambda a, p: metrics.f1_score(a, p, average="macro"), probabilities, actual),
            "balanced_accuracy": best(metrics.balanced_accuracy_score, probabilities, actual),
            "matthews_correlation": best(metrics.matthews_corrcoef, probabilities, actual)}
    examples.append(example)

pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(examples) + "\n")
