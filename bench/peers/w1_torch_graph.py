"""w1 in PyTorch with the step captured as a CUDA graph: gathering, forward, backward and fused Adam."""
import sys

import torch

import w1
import w1_with_torch


def capture(step, warm_up=11):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_up):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def run(engine, compiled):
    settings = w1.options()
    device = w1_with_torch.device_of(settings.device)
    if device.type != "cuda":
        sys.exit(f"{engine} needs an NVIDIA GPU")
    features, targets = w1_with_torch.placed_rows(device)
    network = w1_with_torch.network(settings.dropout).to(device)
    forward = torch.compile(network) if compiled else network
    optimizer = torch.optim.Adam(network.parameters(), lr=w1.RATE, fused=True, capturable=True)
    rows = torch.arange(settings.batch, device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(forward(features[rows]), targets[rows])
        loss.backward()
        optimizer.step()

    graph = capture(step)
    batches = w1_with_torch.batches(w1.ROWS, settings.batch, device)

    def run_steps(count):
        for _ in range(count):
            rows.copy_(next(batches))
            graph.replay()
        w1_with_torch.wait(device)

    w1_with_torch.report(engine, device, settings.batch, w1.measure(run_steps, settings.seconds))


if __name__ == "__main__":
    run("torch CUDA graph", compiled=False)
