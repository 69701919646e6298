#!/usr/bin/env python3
"""Writes one_step.json: one training step of a small network in PyTorch, with everything in between.

python3 one_step.py   (needs torch; made with 2.13)
"""
import json
from pathlib import Path

import torch

torch.manual_seed(5)
ROWS, COLUMNS, HIDDEN = 5, 3, 4
features = torch.randn(ROWS, COLUMNS)
targets = torch.randn(ROWS, 1)
losses = {"mse": torch.nn.MSELoss, "mae": torch.nn.L1Loss, "huber": torch.nn.HuberLoss}
optimizers = {
    "adam": (torch.optim.Adam, {}),
    "adamw": (torch.optim.AdamW, {}),
    "sgd": (torch.optim.SGD, {"momentum": 0.9}),
    "rmsprop": (torch.optim.RMSprop, {}),
}
activations = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid, "gelu": torch.nn.GELU,
               "silu": torch.nn.SiLU}


def flat(tensor):
    return [float(x) for x in tensor.detach().flatten()]


def case(activation, loss, optimizer, weight_decay, clip):
    torch.manual_seed(7)
    network = torch.nn.Sequential(torch.nn.Linear(COLUMNS, HIDDEN), activations[activation](), torch.nn.Linear(HIDDEN, 1))
    names = ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]
    before = {name: flat(p) for name, p in zip(names, network.parameters())}
    kind, options = optimizers[optimizer]
    made = kind(network.parameters(), lr=0.05, weight_decay=weight_decay, **options)
    hidden = network[1](network[0](features))
    predictions = network[2](hidden)
    of_rows = losses[loss](reduction="none")(predictions, targets)
    made.zero_grad()
    of_rows.mean().backward()
    gradients = {name: flat(p.grad) for name, p in zip(names, network.parameters())}
    norm = float(torch.cat([p.grad.flatten() for p in network.parameters()]).norm())
    if clip > 0:
        torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
    made.step()
    return {"activation": activation, "loss": loss, "optimizer": optimizer, "weight_decay": weight_decay, "clip": clip,
            "before": before, "hidden": flat(hidden), "predictions": flat(predictions), "of_rows": flat(of_rows),
            "mean": float(of_rows.detach().mean()), "gradients": gradients, "gradient_norm": norm,
            "after": {name: flat(p) for name, p in zip(names, network.parameters())}}


cases = [case(activation, loss, optimizer, weight_decay, clip)
         for activation, loss, optimizer, weight_decay, clip in [
             ("relu", "mse", "adam", 0.0, 0.0), ("tanh", "mse", "adamw", 0.1, 0.0), ("sigmoid", "mae", "sgd", 0.1, 0.0),
             ("gelu", "huber", "rmsprop", 0.0, 0.0), ("silu", "mse", "sgd", 0.0, 0.2), ("relu", "mae", "rmsprop", 0.1, 0.0),
             ("tanh", "huber", "adam", 0.1, 0.1)]]
document = {"torch": torch.__version__, "rows": ROWS, "columns": COLUMNS, "hidden": HIDDEN, "learning_rate": 0.05,
            "features": flat(features), "targets": flat(targets), "cases": cases}
Path(__file__).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
