"""R² of tomorrow's log volume at the New York Stock Exchange, by Stoker and by PyTorch with the same settings:
  pip download --no-deps ISLP==0.6.0 -d WHEELS && cd WHEELS && unzip -q '*.whl'
  nyse.py PROGRAM WHEELS/ISLP/data/NYSE.csv [--seeds 20] [--model autoregression recurrent non_linear]
Five days of return, volume and volatility (non_linear: and the day of the week) say the next day's volume; the book's
split, its column `train`. Published (James et al., An Introduction to Statistical Learning, chapter 10): 0.41, 0.42, 0.46.
One JSON object per line, then a summary. Needs torch."""
import argparse
import csv
import json
import pathlib

import numpy as np
import torch
from torch import nn

import recurrent_twin

NUMBERS = ["DJ_return", "log_volume", "log_volatility"]
LAGS = 5
RECURRENT = {"hidden_size": 12, "layers": 1, "bidirectional": False, "layer_norm": False, "pooling": "last", "dropout": 0.1}
NON_LINEAR = {"hidden_layers": [32], "activation": "relu", "dropout": 0.5}
TRAINING = {"recurrent": {"epochs": 60, "batch_size": 64, "learning_rate": 0.001},
            "non_linear": {"epochs": 60, "batch_size": 32, "learning_rate": 0.001}}


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def first_test_window(rows):
    """The last day that is trained on: the window that ends there is the first whose answer is tested."""
    return max(row["date"] for row in rows if row["train"] == "TRUE")


def by_stoker(program, path, rows, model, seed, relative_to):
    columns = NUMBERS + (["day_of_week"] if model == "non_linear" else [])
    layout = "windows" if model == "recurrent" else "columns"
    cards = {
        "load": {"type": "data_load", "config": {"source": "file", "path": str(path.resolve())}},
        "windows": {"type": "windows", "inputs": {"dataset": "load.dataset"},
                    "config": {"length": LAGS, "horizon": 1, "target_column": "log_volume", "time_column": "date",
                               "feature_columns": columns, "layout": layout}},
        "split": {"type": "data_split", "inputs": {"dataset": "windows.dataset"},
                  "config": {"test_from": first_test_window(rows)}},
        "train": {"type": "train", "inputs": {"train_dataset": "split.train_dataset", "model_spec": "model.model_spec"},
                  "config": {"target_column": "log_volume", "relative_to": relative_to, "device": "cpu"}},
        "evaluate": {"type": "evaluate", "inputs": {"trained_model": "train.trained_model",
                                                    "test_dataset": "split.test_dataset"}}}
    if model == "autoregression":
        cards["model"] = {"type": "model_define", "config": {"model_type": "linear_regression"}}
    else:
        family = {"recurrent": ("lstm", RECURRENT), "non_linear": ("neural_network", NON_LINEAR)}[model]
        cards["model"] = {"type": "model_define_gpu",
                          "config": {"model_type": family[0], **family[1], **TRAINING[model], "seed": seed}}
    return recurrent_twin.run_document(program, cards)["r2"]


def arrays(rows, model):
    """Windows [rows, lags, columns], answers, and which are trained on and tested: as Stoker's are, purged."""
    values = np.array([[float(row[name]) for name in NUMBERS] for row in rows])
    if model == "non_linear":
        days = sorted({row["day_of_week"] for row in rows})
        values = np.hstack([values, [[row["day_of_week"] == day for day in days] for row in rows]])
    trained = sum(row["train"] == "TRUE" for row in rows)
    windows = np.stack([values[i:i + LAGS] for i in range(len(rows) - LAGS)])
    answers = np.array([float(row["log_volume"]) for row in rows[LAGS:]])
    return windows, answers, slice(0, trained - 2 * LAGS), slice(trained - LAGS, None)


def by_torch(rows, model, seed):
    windows, answers, train, test = arrays(rows, model)
    if model == "autoregression":
        design = np.hstack([np.ones((len(windows), 1)), windows.reshape(len(windows), -1)])
        predicted = design[test] @ np.linalg.lstsq(design[train], answers[train], rcond=None)[0]
    else:
        torch.manual_seed(seed)
        # Moments of windows that are trained on, each once for every window that it is in.
        shift, scale = windows[train].mean((0, 1)), windows[train].std((0, 1))
        inputs = torch.tensor((windows - shift) / scale, dtype=torch.float32)
        middle, spread = answers[train].mean(), answers[train].std()
        targets = torch.tensor((answers - middle) / spread, dtype=torch.float32).unsqueeze(1)
        if model == "recurrent":
            network = recurrent_twin.Recurrent(windows.shape[2], 1, **RECURRENT)
        else:
            inputs = inputs.flatten(1)
            network = nn.Sequential(nn.Linear(inputs.shape[1], 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))
        recurrent_twin.train(network, inputs[train], targets[train], nn.functional.mse_loss, **TRAINING[model])
        predicted = recurrent_twin.predict(network, inputs[test]).squeeze(1).numpy() * spread + middle
    wrong = ((predicted - answers[test]) ** 2).sum()
    return float(1 - wrong / ((answers[test] - answers[test].mean()) ** 2).sum())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--relative-to", default="none", help="of Stoker's models: none, last, auto")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--model", nargs="+", default=["autoregression", "recurrent", "non_linear"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, lines = read(options.data), []
    for model in options.model:
        for seed in range(1 if model == "autoregression" else options.seeds):
            for by, r2 in (("stoker", by_stoker(options.program, options.data, rows, model, seed, options.relative_to)),
                           ("torch", by_torch(rows, model, seed))):
                lines.append({"table": "nyse", "model": model, "by": by, "seed": seed, "r2": r2})
                print(json.dumps(lines[-1]), flush=True)
    recurrent_twin.summary(lines, "r2")


if __name__ == "__main__":
    main()
