"""w1 in PyTorch with torch.compile, on a GPU inside a CUDA graph."""
import torch

import w1
import w1_torch_graph
import w1_with_torch


def run_on_cpu(settings, device):
    features, targets = w1_with_torch.placed_rows(device)
    network = w1_with_torch.network(settings.dropout)
    forward = torch.compile(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=w1.RATE, fused=True)
    batches = w1_with_torch.batches(w1.ROWS, settings.batch, device)

    def run_steps(count):
        for _ in range(count):
            rows = next(batches)
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(forward(features[rows]), targets[rows]).backward()
            optimizer.step()

    w1_with_torch.report("torch compile", device, settings.batch, w1.measure(run_steps, settings.seconds))


def main():
    settings = w1.options()
    device = w1_with_torch.device_of(settings.device)
    if device.type == "cuda":
        w1_torch_graph.run("torch compile + CUDA graph", compiled=True)
    else:
        run_on_cpu(settings, device)


if __name__ == "__main__":
    main()
