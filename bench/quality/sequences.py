"""Accuracy on the sample smc_windows, of which 0.8 is the best possible, by Stoker and by PyTorch with the same settings:
  sequences.py PROGRAM [--seeds 20] [--first-seed 0] [--rows 80000] [--epochs 10] [--hidden-size 64] [--device cpu]
An lstm in both directions with attention on windows of 20 bars; the latest 15 % of the windows are tested.
One JSON object per line, then a summary. Needs torch."""
import argparse
import csv
import json
import pathlib
import tempfile

import numpy as np
import torch
from torch import nn

import recurrent_twin
import splits

LENGTH, HORIZON, TEST = 20, 8, 0.15
CLASSES = ["down", "flat", "up"]
TRAINING = {"batch_size": 256, "learning_rate": 0.001}


def settings(options):
    return {"hidden_size": options.hidden_size, "layers": 1, "dropout": 0.1, "pooling_dropout": 0.0}


def sample_rows(program, rows):
    """The bars of the sample, as `stoker predict` puts them before the predictions of whatever model."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        splits.call([program, "train", "sample:smc_windows", "--sample-rows", "200", "--target", "volume", "--model", "ridge",
                     "--feature-columns", "range", "--out", place / "runs", "--no-cache", "--quiet"])
        (run,) = (each for each in (place / "runs").iterdir() if (each / "run.json").exists())
        splits.call([program, "predict", run, "sample:smc_windows", "--sample-rows", str(rows), "--include-features",
                     "--output", place / "bars.csv"])
        with open(place / "bars.csv", newline="") as file:
            return list(csv.DictReader(file))


def arrays(bars):
    """Windows, classes, and which are trained on and tested: by time, as Stoker's are, purged."""
    names = [name for name in bars[0] if name not in ("time", "symbol", "label", "prediction")]
    ticks = {time: tick for tick, time in enumerate(sorted({bar["time"] for bar in bars}))}
    windows, classes, spans = [], [], []
    for symbol in dict.fromkeys(bar["symbol"] for bar in bars):
        own = [bar for bar in bars if bar["symbol"] == symbol]
        values = np.array([[float(bar[name]) for name in names] for bar in own], np.float32)
        for last in range(LENGTH - 1, len(own)):
            windows.append(values[last - LENGTH + 1:last + 1])
            classes.append(CLASSES.index(own[last]["label"]))
            spans.append((ticks[own[last - LENGTH + 1]["time"]], ticks[own[min(last + HORIZON, len(own) - 1)]["time"]]))
    spans = np.array(spans)
    order = np.lexsort((spans[:, 0], spans[:, 1]))
    test = order[len(order) - round(TEST * len(order)):]
    train = [row for row in order[:len(order) - len(test)] if spans[row, 1] < spans[test, 0].min()]
    return np.stack(windows), np.array(classes), np.array(train), test


def by_stoker(program, options, seed):
    cards = {
        "load": {"type": "data_load", "config": {"source": "sample", "sample_name": "smc_windows", "sample_rows": options.rows}},
        "windows": {"type": "windows", "inputs": {"dataset": "load.dataset"},
                    "config": {"length": LENGTH, "horizon": HORIZON, "target_column": "label", "answer": "given",
                               "group_column": "symbol", "time_column": "time"}},
        "split": {"type": "data_split", "inputs": {"dataset": "windows.dataset"},
                  "config": {"train_ratio": 1 - TEST, "test_ratio": TEST}},
        "model": {"type": "model_define_gpu",
                  "config": {"model_type": "lstm", **settings(options), **TRAINING, "epochs": options.epochs, "seed": seed}},
        "train": {"type": "train", "inputs": {"train_dataset": "split.train_dataset", "model_spec": "model.model_spec"},
                  "config": {"target_column": "label", "device": options.device}},
        "evaluate": {"type": "evaluate", "inputs": {"trained_model": "train.trained_model",
                                                    "test_dataset": "split.test_dataset"}}}
    return recurrent_twin.run_document(program, cards)["accuracy"]


def by_torch(data, options, seed):
    windows, classes, train, test = data
    torch.manual_seed(seed)
    shift, scale = windows[train].mean((0, 1)), windows[train].std((0, 1))
    inputs = torch.tensor((windows - shift) / np.where(scale > 0, scale, 1)).to(options.device)
    targets = torch.tensor(classes).to(options.device)
    network = recurrent_twin.Recurrent(windows.shape[2], len(CLASSES), **settings(options)).to(options.device)
    recurrent_twin.train(network, inputs[train], targets[train], nn.functional.cross_entropy, options.epochs, **TRAINING)
    return float((recurrent_twin.predict(network, inputs[test]).argmax(1) == targets[test]).float().mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=80_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--hidden-size", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    data, lines = arrays(sample_rows(options.program, options.rows)), []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for by, accuracy in (("stoker", by_stoker(options.program, options, seed)), ("torch", by_torch(data, options, seed))):
            lines.append({"table": "smc_windows", "model": "lstm", "by": by, "seed": seed, "accuracy": accuracy})
            print(json.dumps(lines[-1]), flush=True)
    recurrent_twin.summary(lines, "accuracy")


if __name__ == "__main__":
    main()
