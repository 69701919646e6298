"""Makes mlp.json: outputs of small torch networks, one per activation, with their weights and inputs.

Run with a Python that has torch (made with 2.13.0): python mlp.py
"""
import json
import pathlib

import torch

torch.manual_seed(7)
activations = {
    "relu": torch.nn.ReLU,
    "tanh": torch.nn.Tanh,
    "sigmoid": torch.nn.Sigmoid,
    "gelu": torch.nn.GELU,
    "silu": torch.nn.SiLU,
}

cases = []
for name, activation in activations.items():
    sizes = [3, 5, 4, 2]
    layers = [torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
    for layer in layers:
        layer.weight.data *= 3
    network = torch.nn.Sequential(layers[0], activation(), layers[1], activation(), layers[2])
    features = torch.randn(6, 3) * 2
    cases.append({
        "activation": name,
        "inputs": 3,
        "hidden_layers": [5, 4],
        "outputs": 2,
        "weights": [layer.weight.tolist() for layer in layers],
        "biases": [layer.bias.tolist() for layer in layers],
        "features": features.tolist(),
        "expected": network(features).tolist(),
    })
lines = ",\n".join(json.dumps(case) for case in cases)
pathlib.Path(__file__).with_name("mlp.json").write_text(f"[\n{lines}\n]\n")
