"""What the peers of w5 share: the workload and the ways to train it.

60,000 x 784, 10 classes; experts of 784-256-256-10, of which a router 784-392-experts asks two for each row; AdamW
in one fused call.
"""
import argparse
import math

import torch
from torch import nn
from torch.nn import functional

import sequences
import w1

ROWS, COLUMNS, CLASSES, WIDTH, ASKED = 60_000, 784, 10, 256, 2
RATE, DECAY = 1e-6, 1e-2  # so small that the router keeps sending rows to all alike


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experts", type=int, default=8)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--seconds", type=float, default=0.2, help="least length of a window; there are 5")
    parser.add_argument("--precision", choices=("auto", "fp32", "tf32", "bf16"), default="auto")
    parser.add_argument("--clip", type=float, default=0.0)
    parser.add_argument("--threads", type=int, default=0, help="of the CPU; 0: as many as torch takes")
    settings = parser.parse_args()
    if settings.device == "auto":
        settings.device = "cuda" if torch.cuda.is_available() else "cpu"
    if settings.precision == "auto":
        settings.precision = "bf16" if settings.device == "cuda" else "fp32"
    if settings.threads > 0:
        torch.set_num_threads(settings.threads)
    torch.backends.cuda.matmul.allow_tf32 = settings.precision == "tf32"
    return settings


def report(engine, settings, result):
    sequences.report(f"w5, {settings.experts} experts", engine, settings, result)


def placed_rows(device):
    generator = torch.Generator().manual_seed(1)
    features = (torch.rand(ROWS, COLUMNS, generator=generator) - 0.5) * math.sqrt(12)
    classes = torch.randint(0, CLASSES, (ROWS,), generator=generator)
    return features.to(device), classes.to(device)


def router(experts, features):
    """Prefers nobody: from each score is taken what it is on average."""
    made = nn.Sequential(nn.Linear(COLUMNS, COLUMNS // 2), nn.ReLU(), nn.Linear(COLUMNS // 2, experts)).to(features.device)
    with torch.no_grad():
        made[2].bias -= made(features[:512]).mean(0)
    return made


def batches(settings):
    while True:
        order = torch.randperm(ROWS, device=settings.device)
        for first in range(0, ROWS - settings.batch + 1, settings.batch):
            yield order[first:first + settings.batch]


class Loop(nn.Module):
    """For the first choice of each row and for the second: one expert after the other, as one writes it down first."""

    def __init__(self, experts, features):
        super().__init__()
        self.router = router(experts, features)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(COLUMNS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES))
            for _ in range(experts))

    def forward(self, x):
        shares, asked = torch.softmax(self.router(x), 1).topk(ASKED, 1)
        shares = shares / shares.sum(1, keepdim=True)
        mixed = x.new_zeros(len(x), CLASSES)
        for choice in range(ASKED):
            for number, expert in enumerate(self.experts):
                wants = asked[:, choice] == number
                if not wants.any().item():
                    continue
                mixed[wants] += shares[wants, choice].unsqueeze(1) * expert(x[wants])
        return mixed


class ByExpert(Loop):
    """One expert after the other, each with all rows that want it: a loop that somebody has thought about."""

    def forward(self, x):
        shares, asked = torch.softmax(self.router(x), 1).topk(ASKED, 1)
        shares = shares / shares.sum(1, keepdim=True)
        mixed = x.new_zeros(len(x), CLASSES)
        for number, expert in enumerate(self.experts):
            rows, places = (asked == number).nonzero(as_tuple=True)
            if len(rows) > 0:
                mixed = mixed.index_add(0, rows, shares[rows, places].unsqueeze(1) * expert(x[rows]))
        return mixed


class Dense(nn.Module):
    """Every row through every expert, in batched products."""

    def __init__(self, experts, features):
        super().__init__()
        self.router = router(experts, features)
        widths = (COLUMNS, WIDTH, WIDTH, CLASSES)
        self.weights = nn.ParameterList(
            nn.Parameter((torch.rand(experts, a, b) * 2 - 1) / math.sqrt(a)) for a, b in zip(widths, widths[1:]))
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(experts, 1, b)) for b in widths[1:])

    def forward(self, x):
        scores, asked = self.router(x).topk(ASKED, 1)
        shares = torch.softmax(scores, 1)
        of_all = torch.zeros(len(x), self.biases[0].shape[0], device=x.device, dtype=shares.dtype)
        of_all = of_all.scatter(1, asked, shares)
        values = x.unsqueeze(0).expand(self.biases[0].shape[0], -1, -1)
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            values = torch.baddbmm(bias.to(values.dtype), values, weight)
            if number < 2:
                values = torch.relu(values)
        return (values * of_all.t().unsqueeze(2)).sum(0)


class Grouped(nn.Module):
    """Rows sorted by expert, then one grouped product for each layer, which torch has for bf16 alone."""

    def __init__(self, experts, features):
        super().__init__()
        self.router = router(experts, features)
        widths = (COLUMNS, WIDTH, WIDTH, -(-CLASSES // 8) * 8)  # the products want whole pieces of 16 bytes
        self.weights = nn.ParameterList(
            nn.Parameter((torch.rand(experts, a, b) * 2 - 1) / math.sqrt(a)) for a, b in zip(widths, widths[1:]))
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(experts, b)) for b in widths[1:])

    def forward(self, x):
        scores, asked = self.router(x).topk(ASKED, 1)
        shares = torch.softmax(scores, 1).flatten()
        of_choice, order = asked.flatten().sort(stable=True)
        numbers = torch.arange(self.biases[0].shape[0], device=x.device)
        ends = (of_choice.unsqueeze(1) <= numbers).sum(0).to(torch.int32)
        rows = order // ASKED
        values = x[rows].bfloat16()
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            values = torch._grouped_mm(values, weight.bfloat16(), offs=ends) + bias.bfloat16()[of_choice]
            if number < 2:
                values = torch.relu(values)
        answers = values[:, :CLASSES].float() * shares[order].unsqueeze(1)
        return torch.zeros(len(x), CLASSES, device=x.device).index_add(0, rows, answers)


def run_plain(engine, kind):
    settings = options()
    features, classes = placed_rows(settings.device)
    network = kind(settings.experts, features).to(settings.device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    numbers = batches(settings)

    def run_steps(count):
        for _ in range(count):
            rows = next(numbers)
            optimizer.zero_grad()
            with torch.autocast(settings.device, torch.bfloat16, enabled=settings.precision == "bf16"):
                outputs = network(features[rows])
            functional.cross_entropy(outputs.float(), classes[rows]).backward()
            if settings.clip > 0:
                nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
            optimizer.step()
        if settings.device == "cuda":
            torch.cuda.synchronize()

    report(engine, settings, w1.measure(run_steps, settings.seconds, warm_up=5))


def run_captured(engine, kind):
    """The whole step as a CUDA graph."""
    settings = options()
    if settings.device != "cuda":
        raise SystemExit(f"{engine} needs an NVIDIA GPU")
    if kind is Grouped and settings.precision != "bf16":
        raise SystemExit(f"{engine} runs in bf16 alone")
    features, classes = placed_rows("cuda")
    network = kind(settings.experts, features).cuda()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY, fused=True, capturable=True)
    rows = torch.arange(settings.batch, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=settings.precision == "bf16"):
            outputs = network(features[rows])
        functional.cross_entropy(outputs.float(), classes[rows]).backward()
        if settings.clip > 0:
            nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
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

    report(engine, settings, w1.measure(run_steps, settings.seconds))
