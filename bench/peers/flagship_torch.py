"""The flagship training as a plain torch loop: what `stoker run examples/boston_housing.yaml` is held against.

    build/stoker predict RUN sample:boston_housing --include-features --output /tmp/boston.csv
    .venv/bin/python bench/peers/flagship_torch.py /tmp/boston.csv --seeds 1 2 3 4 5

Prints one JSON object per seed: RMSE and R² on the test rows in real units, and the seconds from start to metrics.
"""
import argparse
import json
import time

import torch
from torch import nn


def load(path):
    with open(path) as file:
        names = file.readline().strip().replace('"', "").split(",")
        rows = [[float(value) for value in line.split(",")] for line in file]
    table = torch.tensor(rows, dtype=torch.float64)
    target = names.index("MEDV")
    return table[:, :target], table[:, target : target + 1]


def network(inputs):
    layers, width = [], inputs
    for hidden in (128, 64, 32):
        layers += [nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(0.2)]
        width = hidden
    return nn.Sequential(*layers, nn.Linear(width, 1))


def train_once(path, seed, epochs, batch, device):
    start = time.perf_counter()
    torch.manual_seed(seed)
    x, y = load(path)
    order = torch.randperm(len(x))
    train, test = order[: len(x) * 8 // 10], order[len(x) * 8 // 10 :]
    x_mean, x_std, y_mean, y_std = x[train].mean(0), x[train].std(0), y[train].mean(), y[train].std()
    features = ((x - x_mean) / x_std).float().to(device)
    targets = ((y - y_mean) / y_std).float().to(device)
    train, test = train.to(device), test.to(device)
    model = network(x.shape[1]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = nn.MSELoss()
    training_start = time.perf_counter()
    for _ in range(epochs):
        shuffled = train[torch.randperm(len(train), device=device)]
        for first in range(0, len(train), batch):
            rows = shuffled[first : first + batch]
            optimizer.zero_grad()
            loss_of(model(features[rows]), targets[rows]).backward()
            optimizer.step()
    training_seconds = time.perf_counter() - training_start
    model.eval()
    with torch.no_grad():
        predicted = model(features[test]).double().cpu() * y_std + y_mean
    actual = y[test.cpu()]
    mse = ((predicted - actual) ** 2).mean()
    return {
        "workload": "flagship", "engine": "torch loop", "device": device, "seed": seed, "epochs": epochs,
        "rmse": mse.sqrt().item(), "r2": (1 - mse / actual.var(correction=0)).item(),
        "training_seconds": training_seconds, "seconds": time.perf_counter() - start, "torch": torch.__version__,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    for seed in options.seeds:
        print(json.dumps(train_once(options.data, seed, options.epochs, options.batch, options.device)), flush=True)


if __name__ == "__main__":
    main()
