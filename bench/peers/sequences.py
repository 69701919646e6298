"""What the peers of w2 and w3 share: the workloads and the line that they print.

76,792 windows of 20 x 29 floats, 3 classes, AdamW 1e-3, gradients shortened to 0.5.
w2: layer norm, 2 bidirectional LSTM layers of 128, attention over the moments, a head.
w3: 3 pre-norm transformer layers of 128 with 8 heads and 512 between, the mean over the moments, a head.
"""
import argparse
import contextlib
import json
import math
import resource

import torch
from torch import nn

import w1

ROWS, LENGTH, COLUMNS, CLASSES = 76_792, 20, 29, 3
RATE, DECAY, MOST_NORM = 1e-3, 1e-2, 0.5


def options(device=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default=device or "auto")
    parser.add_argument("--seconds", type=float, default=0.2, help="least length of a window; there are 5")
    parser.add_argument("--precision", choices=("auto", "fp32", "tf32", "bf16", "fp16"), default="auto")
    parser.add_argument("--threads", type=int, default=0, help="of the CPU; 0: as many as torch takes")
    parser.add_argument("--smoothing", type=float, default=0.0, help="of the classes")
    settings = parser.parse_args()
    if settings.device == "auto":
        settings.device = "cuda" if torch.cuda.is_available() else "cpu"
    if settings.precision == "auto":
        settings.precision = "bf16" if settings.device == "cuda" else "fp32"
    if settings.threads > 0:
        torch.set_num_threads(settings.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = settings.precision == "tf32"
    return settings


def head(width, activation, dropout):
    return nn.Sequential(nn.LayerNorm(width), nn.Dropout(dropout), nn.Linear(width, width // 2), activation,
                         nn.LayerNorm(width // 2), nn.Dropout(dropout), nn.Linear(width // 2, CLASSES))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_norm = nn.LayerNorm(COLUMNS)
        self.recurrent = nn.LSTM(COLUMNS, 128, 2, bidirectional=True, dropout=0.4, batch_first=True)
        self.norm = nn.LayerNorm(256)
        self.scores = nn.Sequential(nn.Linear(256, 128), nn.Tanh(), nn.Dropout(0.2), nn.Linear(128, 1))
        self.head = head(256, nn.ReLU(), 0.4)

    def forward(self, x):
        x = self.norm(self.recurrent(self.input_norm(x))[0])
        return self.head((torch.softmax(self.scores(x), 1) * x).sum(1))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input = nn.Sequential(nn.Linear(COLUMNS, 128), nn.LayerNorm(128), nn.Dropout(0.1))
        layer = nn.TransformerEncoderLayer(128, 8, 512, 0.2, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(128)
        self.head = head(128, nn.GELU(), 0.2)
        places, waves = torch.arange(LENGTH).unsqueeze(1), torch.exp(torch.arange(0, 128, 2) * (-math.log(1e4) / 128))
        table = torch.zeros(LENGTH, 128)
        table[:, 0::2], table[:, 1::2] = torch.sin(places * waves), torch.cos(places * waves)
        self.register_buffer("places", table)

    def forward(self, x):
        return self.head(self.norm(self.layers(self.input(x) + self.places)).mean(1))


NETWORKS = {"w2": Lstm, "w3": Transformer}


def placed_rows(device):
    generator = torch.Generator().manual_seed(1)
    series = torch.randn(ROWS + LENGTH - 1, COLUMNS, generator=generator)
    windows = series.unfold(0, LENGTH, 1).transpose(1, 2).contiguous()
    classes = torch.bucketize(windows[:, -3:, 0].mean(1), torch.tensor([-0.25, 0.25]))
    return windows.to(device), classes.to(device)


def autocast(settings):
    types = {"bf16": torch.bfloat16, "fp16": torch.float16}
    if settings.precision not in types:
        return contextlib.nullcontext()
    return torch.autocast(settings.device, types[settings.precision])


def optimizer_of(network, **more):
    return torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY, **more)


def report(workload, engine, settings, result):
    microseconds, spread, processor, processor_spread = result
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if settings.device == "cuda":
        peak = torch.cuda.max_memory_allocated()
    print(json.dumps({
        "workload": workload, "batch": settings.batch, "engine": engine, "device": settings.device,
        "precision": settings.precision, "us_per_step": round(microseconds, 2), "spread": round(spread, 4),
        "processor_us_per_step": round(processor, 2), "processor_spread": round(processor_spread, 4),
        "samples_per_s": round(settings.batch / microseconds * 1e6), "models": 1, "peak_bytes": peak,
        "versions": {"torch": torch.__version__}}))


def batches(settings):
    while True:
        order = torch.randperm(ROWS, device=settings.device)
        for first in range(0, ROWS - settings.batch + 1, settings.batch):
            yield order[first:first + settings.batch]


def run_eager(workload):
    """A plain loop, with the data on the device already."""
    settings = options()
    windows, classes = placed_rows(settings.device)
    network = NETWORKS[workload]().to(settings.device)
    optimizer, numbers = optimizer_of(network), batches(settings)

    def run_steps(count):
        for _ in range(count):
            rows = next(numbers)
            optimizer.zero_grad()
            with autocast(settings):
                loss = nn.functional.cross_entropy(network(windows[rows]), classes[rows],
                                                   label_smoothing=settings.smoothing)
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), MOST_NORM)
            optimizer.step()
        if settings.device == "cuda":
            torch.cuda.synchronize()

    report(workload, "torch eager", settings, w1.measure(run_steps, settings.seconds, warm_up=3))


def run_captured(workload, engine, compiled):
    """The whole step as a CUDA graph: gathering, forward, backward, clipping and the fused AdamW."""
    settings = options()
    if settings.device != "cuda":
        raise SystemExit(f"{engine} needs an NVIDIA GPU")
    windows, classes = placed_rows(settings.device)
    network = NETWORKS[workload]().cuda()
    forward = torch.compile(network) if compiled else network
    optimizer = optimizer_of(network, fused=True, capturable=True)
    rows = torch.arange(settings.batch, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast(settings):
            loss = nn.functional.cross_entropy(forward(windows[rows]), classes[rows],
                                               label_smoothing=settings.smoothing)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), MOST_NORM, foreach=True)
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

    report(workload, engine, settings, w1.measure(run_steps, settings.seconds))
