"""Makes sequences.json: outputs and gradients of small networks over windows in torch, with their weights and inputs.

Run with a Python that has torch (made with 2.13.0): python sequences.py
"""
import json
import math
import pathlib

import torch
from torch import nn

torch.manual_seed(12)
ROWS, LENGTH, COLUMNS, OUTPUTS = 3, 5, 8, 2
activations = {"relu": nn.ReLU(), "gelu": nn.GELU(), "silu": nn.SiLU()}


class End(nn.Module):
    """What follows the moments of a window: pooling and head."""

    def __init__(self, width, pooling, activation, norms=True, forwards=None):
        super().__init__()
        half = width // 2
        self.kind, self.activate, self.forwards = pooling, activations[activation], forwards or width
        self.pooling, self.head = nn.ModuleDict(), nn.ModuleDict()
        if pooling == "attention":
            self.pooling["scores"], self.pooling["weights"] = nn.Linear(width, half), nn.Linear(half, 1)
        if norms:
            self.head["norm"], self.head["hidden_norm"] = nn.LayerNorm(width), nn.LayerNorm(half)
        self.head["hidden"], self.head["last"] = nn.Linear(width, half), nn.Linear(half, OUTPUTS)

    def forward(self, x):
        if self.kind == "attention":
            weights = torch.softmax(self.pooling["weights"](torch.tanh(self.pooling["scores"](x))), 1)
            x = (weights * x).sum(1)
        elif self.kind == "mean":
            x = x.mean(1)
        else:
            x = torch.cat([x[:, -1, :self.forwards], x[:, 0, self.forwards:]], 1)
        same = nn.Identity()
        x = self.activate(self.head["hidden"](self.head["norm"](x) if "norm" in self.head else x))
        return self.head["last"]((self.head["hidden_norm"] if "hidden_norm" in self.head else same)(x))


class Recurrent(nn.Module):
    def __init__(self, kind, hidden_size, layers, bidirectional, layer_norm, pooling):
        super().__init__()
        width = hidden_size * (2 if bidirectional else 1)
        if layer_norm:
            self.input_norm, self.norm = nn.LayerNorm(COLUMNS), nn.LayerNorm(width)
        self.recurrent = kind(COLUMNS, hidden_size, layers, bidirectional=bidirectional, batch_first=True)
        self.end = End(width, pooling, "relu", layer_norm, hidden_size)
        self.layer_norm = layer_norm

    def forward(self, x):
        if not self.layer_norm:
            return self.end(self.recurrent(x)[0])
        return self.end(self.norm(self.recurrent(self.input_norm(x))[0]))


class Transformer(nn.Module):
    def __init__(self, hidden_size, layers, heads, feed_forward, activation, pooling):
        super().__init__()
        self.input, self.input_norm = nn.Linear(COLUMNS, hidden_size), nn.LayerNorm(hidden_size)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(hidden_size, heads, feed_forward, 0, activations[activation],
                                       batch_first=True, norm_first=True) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden_size)
        self.end = End(hidden_size, pooling, activation)
        places = torch.arange(LENGTH).unsqueeze(1)
        waves = torch.exp(torch.arange(0, hidden_size, 2) * (-math.log(10000.0) / hidden_size))
        self.places = torch.zeros(LENGTH, hidden_size)
        self.places[:, 0::2], self.places[:, 1::2] = torch.sin(places * waves), torch.cos(places * waves)

    def forward(self, x):
        x = self.input_norm(self.input(x)) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.end(self.norm(x))


class TemporalMlp(nn.Module):
    def __init__(self, hidden_layers, moments, activation):
        super().__init__()
        self.moments, self.activate = moments, activations[activation]
        widths = [moments * COLUMNS, *hidden_layers]
        self.input_norm = nn.BatchNorm1d(widths[0])
        self.layers = nn.ModuleList(nn.ModuleDict({"linear": nn.Linear(one, other), "norm": nn.BatchNorm1d(other)})
                                    for one, other in zip(widths, widths[1:]))
        self.gate = nn.ModuleDict({"inner": nn.Linear(widths[-1], widths[-1] // 2),
                                   "outer": nn.Linear(widths[-1] // 2, widths[-1])})
        self.last = nn.Linear(widths[-1], OUTPUTS)

    def forward(self, x):
        x = self.input_norm(x[:, -self.moments:].flatten(1))
        for layer in self.layers:
            x = self.activate(layer["norm"](layer["linear"](x)))
        return self.last(x * torch.sigmoid(self.gate["outer"](torch.relu(self.gate["inner"](x)))))


class Cnn1d(nn.Module):
    def __init__(self, hidden_size, layers, kernel_size, layer_norm, activation, pooling):
        super().__init__()
        norm = nn.LayerNorm if layer_norm else (lambda width: nn.Identity())
        self.activate = activations[activation]
        self.input_norm, self.input = norm(COLUMNS), nn.Linear(COLUMNS, hidden_size)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "norm": norm(hidden_size),
            "first": nn.Conv1d(hidden_size, hidden_size, kernel_size, dilation=2 ** i),
            "second": nn.Conv1d(hidden_size, hidden_size, kernel_size, dilation=2 ** i)}) for i in range(layers))
        self.norm = norm(hidden_size)
        self.end = End(hidden_size, pooling, activation, layer_norm)

    def forward(self, x):
        x = self.input(self.input_norm(x))
        for layer in self.layers:
            def convolved(values, convolution):
                back = (convolution.kernel_size[0] - 1) * convolution.dilation[0]
                return convolution(nn.functional.pad(values.transpose(1, 2), (back, 0))).transpose(1, 2)
            inner = self.activate(convolved(layer["norm"](x), layer["first"]))
            x = x + convolved(inner, layer["second"])
        return self.end(self.norm(x))


def numbers(tensor):
    return [float(f"{value:.8g}") for value in tensor.flatten().tolist()]


def named(network):
    for name, value in network.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        yield name.removeprefix("end.").replace("running_var", "running_variance"), value


def case(family, network, **settings):
    for name, value in network.state_dict().items():
        if "norm" in name and value.dtype == torch.float32:  # their initial values would hide mistakes
            value.copy_(torch.rand(value.shape) + 0.5)
    network.eval()
    window = torch.randn(ROWS, LENGTH, COLUMNS)
    factors = torch.randn(ROWS, OUTPUTS)
    outputs = network(window)
    (outputs * factors).sum().backward()
    gradients = {name.removeprefix("end."): value.grad for name, value in network.named_parameters()}
    return {"family": family, "settings": settings,
            "parameters": {name: numbers(value) for name, value in named(network)},
            "window": numbers(window), "factors": numbers(factors),
            "expected": numbers(outputs),
            "gradients": {name: numbers(value) for name, value in gradients.items()}}


def recurrent(family, kind, **settings):
    return case(family, Recurrent(kind, **settings), **settings)


cases = []
for family, kind in (("lstm", nn.LSTM), ("gru", nn.GRU)):
    cases.append(recurrent(family, kind, hidden_size=4, layers=2, bidirectional=True, layer_norm=True,
                           pooling="attention"))
    cases.append(recurrent(family, kind, hidden_size=4, layers=1, bidirectional=False, layer_norm=False,
                           pooling="mean"))
    cases.append(recurrent(family, kind, hidden_size=3, layers=2, bidirectional=True, layer_norm=False,
                           pooling="last"))
for settings in (dict(hidden_size=8, layers=2, heads=2, feed_forward=12, activation="gelu", pooling="mean"),
                 dict(hidden_size=6, layers=1, heads=3, feed_forward=5, activation="relu", pooling="attention"),
                 dict(hidden_size=4, layers=1, heads=1, feed_forward=8, activation="silu", pooling="last")):
    cases.append(case("transformer", Transformer(**settings), **settings))
for settings in (dict(hidden_layers=[6, 4], moments=1, activation="relu"),
                 dict(hidden_layers=[5], moments=3, activation="gelu")):
    cases.append(case("temporal_mlp", TemporalMlp(**settings), **settings))
for settings in (dict(hidden_size=6, layers=2, kernel_size=3, layer_norm=True, activation="relu", pooling="last"),
                 dict(hidden_size=4, layers=4, kernel_size=2, layer_norm=False, activation="gelu", pooling="mean")):
    cases.append(case("cnn1d", Cnn1d(**settings), **settings))
lines = ",\n".join(json.dumps(each) for each in cases)
pathlib.Path(__file__).with_name("sequences.json").write_text(f"[\n{lines}\n]\n")
