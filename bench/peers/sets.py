"""What the peers of w4 share: the workload and the ways to train it.

3,224 receptions by up to 10 receivers with 6 columns and a mask -> 2 numbers and the logarithm of their variance.
Per receiver 6 -> 64 -> 32, attention with 4 heads, layer norm, mean, maximum, deviation and count -> 64 -> 3,
dropout 0.2, Adam 1e-3, Gaussian NLL.
"""
import torch
from torch import nn

import sequences
import w1

ROWS, RECEIVERS, COLUMNS, TARGETS = 3_224, 10, 6, 2
DROPOUT, RATE = 0.2, 1e-3


class Triangulation(nn.Module):
    def __init__(self):
        super().__init__()
        self.receiver = nn.Sequential(nn.Linear(COLUMNS, 64), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(64, 32), nn.ReLU())
        self.attention = nn.MultiheadAttention(32, 4, dropout=DROPOUT, batch_first=True)
        self.norm = nn.LayerNorm(32)
        self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(64, TARGETS + 1))

    def forward(self, receivers, present):
        known = self.receiver(receivers)
        attended, _ = self.attention(known, known, known, key_padding_mask=present == 0, need_weights=False)
        known = self.norm(known + attended)
        one_each = present.unsqueeze(2)
        count = present.sum(1, keepdim=True).clamp(min=1)
        mean = (known * one_each).sum(1) / count
        largest = known.masked_fill(one_each == 0, -1e4).amax(1)
        variance = (((known - mean.unsqueeze(1)) * one_each) ** 2).sum(1) / count
        share = (count / RECEIVERS).expand(-1, 32)
        return self.head(torch.cat((mean, largest, (variance + 1e-6).sqrt(), share), 1))


def loss_of(outputs, targets):
    outputs = outputs.float()
    # nn.GaussianNLLLoss asks the host whether all variances are positive, which a graph cannot.
    logarithm = outputs[:, TARGETS:].clamp(-10, 10)
    return 0.5 * (logarithm + (outputs[:, :TARGETS] - targets) ** 2 * (-logarithm).exp()).mean()


def placed_rows(device):
    generator = torch.Generator().manual_seed(1)
    heard = torch.randint(3, RECEIVERS + 1, (ROWS, 1), generator=generator)
    present = (torch.arange(RECEIVERS) < heard).float()
    receivers = torch.randn(ROWS, RECEIVERS, COLUMNS, generator=generator) * present.unsqueeze(2)
    places = receivers[:, :, :TARGETS].sum(1) / heard.sqrt() + 0.1 * torch.randn(ROWS, TARGETS, generator=generator)
    return receivers.to(device), present.to(device), places.to(device)


def batches(settings):
    while True:
        order = torch.randperm(ROWS, device=settings.device)
        for first in range(0, ROWS - settings.batch + 1, settings.batch):
            yield order[first:first + settings.batch]


def run_eager():
    """A plain loop, with the data on the device already."""
    settings = sequences.options()
    receivers, present, places = placed_rows(settings.device)
    network = Triangulation().to(settings.device)
    optimizer, numbers = torch.optim.Adam(network.parameters(), lr=RATE), batches(settings)

    def run_steps(count):
        for _ in range(count):
            rows = next(numbers)
            optimizer.zero_grad()
            with sequences.autocast(settings):
                outputs = network(receivers[rows], present[rows])
            loss_of(outputs, places[rows]).backward()
            optimizer.step()
        if settings.device == "cuda":
            torch.cuda.synchronize()

    sequences.report("w4", "torch eager", settings, w1.measure(run_steps, settings.seconds, warm_up=5))


def run_captured(engine, compiled):
    """The whole step as a CUDA graph: gathering, forward, backward and the fused Adam."""
    settings = sequences.options()
    if settings.device != "cuda":
        raise SystemExit(f"{engine} needs an NVIDIA GPU")
    receivers, present, places = placed_rows(settings.device)
    network = Triangulation().cuda()
    forward = torch.compile(network) if compiled else network
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, fused=True, capturable=True)
    rows = torch.arange(settings.batch, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with sequences.autocast(settings):
            outputs = forward(receivers[rows], present[rows])
        loss_of(outputs, places[rows]).backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(11):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    numbers = batches(settings)

    def run_steps(count):
        for _ in range(count):
            rows.copy_(next(numbers))
            graph.replay()
        torch.cuda.synchronize()

    sequences.report("w4", engine, settings, w1.measure(run_steps, settings.seconds))
