"""w1 as a plain PyTorch loop, with the data on the device already."""
import torch

import w1
import w1_with_torch


def run(name, settings, fused=None):
    device = w1_with_torch.device_of(settings.device)
    features, targets = w1_with_torch.placed_rows(device)
    network = w1_with_torch.network(settings.dropout).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=w1.RATE, fused=fused)
    batches = w1_with_torch.batches(w1.ROWS, settings.batch, device)

    def run_steps(count):
        for _ in range(count):
            rows = next(batches)
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(network(features[rows]), targets[rows])
            loss.backward()
            optimizer.step()
        w1_with_torch.wait(device)

    w1_with_torch.report(name, device, settings.batch, w1.measure(run_steps, settings.seconds))


if __name__ == "__main__":
    run("torch eager", w1.options())
