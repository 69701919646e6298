"""Distances on the sample uhf_mixed, by Stoker and by PyTorch with the same settings:
  triangulation.py PROGRAM [--seeds 10] [--first-seed 0] [--rows 4030] [--epochs 200] [--device cpu] [--engine auto]
The settings of examples/triangulation.yaml; the same rows are trained on and tested. distance_p68 is the distance that
68 % of the predictions stay below, in km; within_68 the share of the rows within the circle that is to hold 68 %.
One JSON object per line, then a summary. Needs torch."""
import argparse
import csv
import json
import math
import pathlib
import sys
import tempfile

import numpy as np
import torch

import recurrent_twin
import splits

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import sets  # the module and its loss

CONDITIONS = {"min_snr_db": 5, "max_gdop": 10}
BATCH, RATE = 256, 0.001


def documents(options, seed, more):
    return {
        "load": {"type": "data_load", "config": {"source": "sample", "sample_name": "uhf_mixed", "sample_rows": options.rows}},
        "filter": {"type": "data_filter", "inputs": {"dataset": "load.dataset"}, "config": CONDITIONS},
        "split": {"type": "data_split", "inputs": {"dataset": "filter.dataset"}, "config": {"random_seed": 42}},
        "model": {"type": "model_define_gpu",
                  "config": {"model_type": "triangulation", "learning_rate": RATE, "batch_size": BATCH, "schedule": "cosine",
                             "epochs": options.epochs, "validation_ratio": 0.1, "seed": seed}},
        "train": {"type": "train_gpu", "inputs": {"train_dataset": "split.train_dataset", "model_spec": "model.model_spec"},
                  "config": {"target_column": "position", "mask_column": "present", "device": options.device,
                             "engine": options.engine}},
        **more}


def by_stoker(options, seed):
    evaluate = {"evaluate": {"type": "evaluate", "inputs": {"trained_model": "train.trained_model",
                                                            "test_dataset": "split.test_dataset"}}}
    found = recurrent_twin.run_document(options.program, documents(options, seed, evaluate))
    return {name: found[name] for name in ("distance_p50", "distance_p68", "distance_p95", "within_68")}


def rows_of(options):
    """The rows that Stoker trains on and tests with, by the card `inference`, whose rows come with their features."""
    parts = {}
    for part in ("train", "test"):
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            more = {"inference": {"type": "inference", "config": {"include_features": True},
                                  "inputs": {"trained_model": "train.trained_model", "dataset": f"split.{part}_dataset"}}}
            short = argparse.Namespace(**{**vars(options), "epochs": 1, "device": "cpu", "engine": "eager"})
            (place / "rows.json").write_text(json.dumps({"version": 1, "name": "rows", "cards": documents(short, 0, more)}))
            splits.call([options.program, "run", place / "rows.json", "--out", place / "runs", "--no-cache", "--quiet"])
            (file,) = (place / "runs").glob("*/predictions*.csv")
            with open(file, newline="") as lines:
                parts[part] = list(csv.DictReader(lines))
    return parts


def arrays(lines):
    def column(name):
        return np.array([float(line[name]) for line in lines], np.float32)

    receivers = np.stack([np.stack([column(f"receivers_{i}_{j}") for j in range(6)], 1) for i in range(10)], 1)
    present = np.stack([column(f"present_{i}") for i in range(10)], 1)
    places = np.stack([column("position_0"), column("position_1")], 1)
    return receivers, present, places


def by_torch(parts, options, seed):
    torch.manual_seed(seed)
    receivers, present, places = parts["train"]
    known = receivers[present == 1]
    shift, scale = known.mean(0), known.std(0)
    middle = places.mean(0)
    size = math.sqrt((places.std(0) ** 2).mean())

    def prepared(part):
        receivers, present, places = part
        values = (receivers - shift) / scale * present[:, :, None]
        return (torch.tensor(values).to(options.device), torch.tensor(present).to(options.device),
                torch.tensor((places - middle) / size).to(options.device))

    values, mask, targets = prepared(parts["train"])
    held = torch.randperm(len(values))[: len(values) // 10]
    is_held = torch.zeros(len(values), dtype=torch.bool)
    is_held[held] = True
    rows = torch.nonzero(~is_held)[:, 0].to(options.device)
    network = sets.Triangulation().to(options.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    steps = options.epochs * math.ceil(len(rows) / BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    best, best_loss = None, math.inf
    held = held.to(options.device)
    for _ in range(options.epochs):
        network.train()
        for batch in rows[torch.randperm(len(rows), device=options.device)].split(BATCH):
            optimizer.zero_grad()
            sets.loss_of(network(values[batch], mask[batch]), targets[batch]).backward()
            optimizer.step()
            schedule.step()
        network.eval()
        with torch.no_grad():
            loss = float(sets.loss_of(network(values[held], mask[held]), targets[held]))
        if loss < best_loss:
            best_loss, best = loss, {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(best)
    values, mask, targets = prepared(parts["test"])
    network.eval()
    with torch.no_grad():
        outputs = network(values, mask)
    distances = size * (outputs[:, :2] - targets).norm(dim=1)
    deviations = size * (outputs[:, 2].clamp(-10, 10) / 2).exp()
    within = (distances / deviations) ** 2 <= -2 * math.log(1 - 0.68)
    quantiles = torch.quantile(distances, torch.tensor([0.5, 0.68, 0.95], device=distances.device)).tolist()
    return {**dict(zip(("distance_p50", "distance_p68", "distance_p95"), quantiles)), "within_68": float(within.float().mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=4_030)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()
    parts, lines = {name: arrays(rows) for name, rows in rows_of(options).items()}, []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for by, found in (("stoker", by_stoker(options, seed)), ("torch", by_torch(parts, options, seed))):
            lines.append({"table": "uhf_mixed", "model": "triangulation", "by": by, "seed": seed, **found})
            print(json.dumps(lines[-1]), flush=True)
    for metric in ("distance_p68", "within_68"):
        recurrent_twin.summary(lines, metric)


if __name__ == "__main__":
    main()
