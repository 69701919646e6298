"""The networks and the training of Stoker's lstm and gru, as one would write them in PyTorch; for nyse.py and sequences.py."""
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import torch
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, columns, outputs, kind="lstm", hidden_size=128, layers=2, bidirectional=True, layer_norm=True,
                 pooling="attention", dropout=0.4, pooling_dropout=0.2):
        super().__init__()
        width = hidden_size * (2 if bidirectional else 1)
        half = max(1, width // 2)

        def norm(size):
            return nn.LayerNorm(size) if layer_norm else nn.Identity()

        cell = {"lstm": nn.LSTM, "gru": nn.GRU}[kind]
        self.recurrent = cell(columns, hidden_size, layers, batch_first=True, bidirectional=bidirectional,
                              dropout=dropout if layers > 1 else 0.0)
        self.input_norm, self.norm = norm(columns), norm(width)
        self.pooling, self.forwards = pooling, hidden_size
        if pooling == "attention":
            self.scores = nn.Sequential(nn.Linear(width, half), nn.Tanh(), nn.Dropout(pooling_dropout), nn.Linear(half, 1))
        self.head = nn.Sequential(norm(width), nn.Dropout(dropout), nn.Linear(width, half), nn.ReLU(), norm(half),
                                  nn.Dropout(dropout), nn.Linear(half, outputs))

    def forward(self, windows):
        moments = self.norm(self.recurrent(self.input_norm(windows))[0])
        if self.pooling == "attention":
            return self.head((torch.softmax(self.scores(moments), 1) * moments).sum(1))
        if self.pooling == "mean":
            return self.head(moments.mean(1))
        return self.head(torch.cat([moments[:, -1, :self.forwards], moments[:, 0, self.forwards:]], 1))


def train(network, inputs, targets, loss, epochs, batch_size, learning_rate):
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    network.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(inputs)).split(batch_size):
            optimizer.zero_grad()
            loss(network(inputs[rows]), targets[rows]).backward()
            optimizer.step()
    network.eval()


@torch.no_grad()
def predict(network, inputs):
    return torch.cat([network(part) for part in inputs.split(4096)])


def run_document(program, cards, card="evaluate"):
    """The metrics of the evaluate card by name."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        document = place / "document.json"
        document.write_text(json.dumps({"version": 1, "name": "quality", "cards": cards}))
        command = [program, "run", document, "--out", place / "runs", "--no-cache", "--quiet", "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)["evaluations"][card]["metrics"]


def summary(lines, metric):
    """Whether Stoker is worse than its twin by more than two standard errors of the difference of their means."""
    for name in dict.fromkeys(line["model"] for line in lines):
        by = {who: np.array([line[metric] for line in lines if line["model"] == name and line["by"] == who])
              for who in ("stoker", "torch")}
        text = f"{name}: " + ", ".join(f"{who} {values.mean():.4f} (± {values.std(ddof=1) / len(values) ** 0.5:.4f})"
                                      if len(values) > 1 else f"{who} {values.mean():.4f}"
                                      for who, values in by.items() if len(values))
        if all(len(values) > 1 for values in by.values()):
            error = sum(values.var(ddof=1) / len(values) for values in by.values()) ** 0.5
            gap = by["stoker"].mean() - by["torch"].mean()
            text += f"; difference {gap:+.4f}, two standard errors {2 * error:.4f}"
        print(f"{text}; {metric}, {max(map(len, by.values()))} seeds")
