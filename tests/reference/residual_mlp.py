"""Makes residual_mlp.json: outputs of small residual networks in torch, with their weights and inputs.

Run with a Python that has torch (made with 2.13.0): python residual_mlp.py
"""
import json
import pathlib

import torch

torch.manual_seed(11)
WIDTH, BLOCKS, BLOCK_WIDTH, INPUTS, OUTPUTS = 4, 2, 6, 3, 2
activations = {
    "relu": torch.nn.ReLU(),
    "tanh": torch.nn.Tanh(),
    "sigmoid": torch.nn.Sigmoid(),
    "gelu": torch.nn.GELU(),
    "silu": torch.nn.SiLU(),
}


def norm():
    layer = torch.nn.BatchNorm1d(WIDTH)
    layer.weight.data = torch.rand(WIDTH) + 0.5
    layer.bias.data = torch.randn(WIDTH)
    layer.running_mean = torch.randn(WIDTH)
    layer.running_var = torch.rand(WIDTH) + 0.1
    return layer.eval()


def arrays(name, layer):
    yield f"{name}.weight", layer.weight
    yield f"{name}.bias", layer.bias
    if isinstance(layer, torch.nn.BatchNorm1d):
        yield f"{name}.running_mean", layer.running_mean
        yield f"{name}.running_variance", layer.running_var


cases = []
for activation, activate in activations.items():
    layers = {"first": torch.nn.Linear(INPUTS, WIDTH)}
    for i in range(BLOCKS):
        layers[f"blocks.{i}.norm"] = norm()
        layers[f"blocks.{i}.inner"] = torch.nn.Linear(WIDTH, BLOCK_WIDTH)
        layers[f"blocks.{i}.outer"] = torch.nn.Linear(BLOCK_WIDTH, WIDTH)
    layers["norm"] = norm()
    layers["last"] = torch.nn.Linear(WIDTH, OUTPUTS)
    features = torch.randn(5, INPUTS) * 2
    x = layers["first"](features)
    for i in range(BLOCKS):
        inner = activate(layers[f"blocks.{i}.inner"](layers[f"blocks.{i}.norm"](x)))
        x = x + layers[f"blocks.{i}.outer"](inner)
    outputs = layers["last"](activate(layers["norm"](x)))
    cases.append({
        "activation": activation,
        "width": WIDTH,
        "blocks": BLOCKS,
        "block_width": BLOCK_WIDTH,
        "parameters": {key: value.flatten().tolist()
                       for name, layer in layers.items() for key, value in arrays(name, layer)},
        "features": features.flatten().tolist(),
        "expected": outputs.flatten().tolist(),
    })
lines = ",\n".join(json.dumps(case) for case in cases)
pathlib.Path(__file__).with_name("residual_mlp.json").write_text(f"[\n{lines}\n]\n")
