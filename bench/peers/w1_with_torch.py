"""What the torch peers of w1 share: the network and the data on the device."""
import resource

import torch

import w1


def device_of(name):
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        torch.set_num_threads(1)  # as Stoker is measured; a second one gains nothing with such products
    return torch.device(name)


def network(dropout):
    layers, width = [], w1.COLUMNS
    for hidden in w1.HIDDEN:
        layers += [torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Dropout(dropout)]
        width = hidden
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))


def placed_rows(device):
    features, targets = w1.rows()
    return torch.from_numpy(features).to(device), torch.from_numpy(targets).reshape(-1, 1).to(device)


def batches(rows, batch, device):
    """Row numbers of one batch after the other, shuffled anew for every epoch."""
    while True:
        order = torch.randperm(rows, device=device)
        for first in range(0, rows - batch + 1, batch):
            yield order[first:first + batch]


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def report(engine, device, batch, result):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated()
    w1.report(engine, device.type, batch, result, {"torch": torch.__version__}, peak)
