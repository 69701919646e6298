"""What torch takes for the training of `stoker bench w6`, forward and backward through every pixel of 16 cubes of
128 x 128 x 50: min-max, two linear projections (50 -> 20 -> 10), a squared Mahalanobis distance, a logit, cross-entropy
and the orthogonality of the first projection. One JSON object per line. Needs torch, and
scikit-learn for the module whose clock it shares; runs on the CPU."""
import argparse
import json
import resource

import numpy as np
import torch
import torch.nn.functional as F

from linear_sklearn import measure
from w6_numpy import pixels

CUBES = 16


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.25, help="least length of a measuring window")
    settings = parser.parse_known_args()[0]
    x = torch.from_numpy(pixels(CUBES))
    marks = torch.from_numpy((np.random.default_rng(1).random(len(x)) < 0.02).astype(np.float32))
    least, factor = x.amin(0), 1 / (x.amax(0) - x.amin(0))
    scaled = (x - least) * factor
    mean = scaled.mean(0)
    first = torch.linalg.eigh(torch.cov(scaled.T.double()))[1].flip(1)[:, :20].T.float().contiguous().requires_grad_()
    second = torch.eye(20)[:10].clone().requires_grad_()
    projected = ((scaled - mean) @ first.T @ second.T).detach()
    inverse = torch.linalg.inv(torch.cov(projected.T.double()) + 1e-6 * torch.eye(10)).float()
    scale, bias = torch.ones((), requires_grad=True), torch.full((), 20.0, requires_grad=True)

    def step():
        for each in (first, second, scale, bias):
            each.grad = None
        z = ((x - least) * factor - mean) @ first.T @ second.T
        logits = scale * ((z @ inverse * z).sum(1) - bias)
        loss = F.binary_cross_entropy_with_logits(logits, marks)
        loss = loss + ((first @ first.T - torch.eye(20)) ** 2).sum()
        loss.backward()

    median, spread, processor, processor_spread = measure(step, settings.seconds)
    line = {
        "workload": "w6 forward and backward",
        "batch": len(x),
        "engine": "torch eager",
        "device": "cpu",
        "precision": "fp32",
        "us_per_step": 1e6 * median,
        "spread": spread,
        "processor_us_per_step": 1e6 * processor,
        "processor_spread": processor_spread,
        "samples_per_s": len(x) / median,
        "models": 1,
        "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "versions": {"torch": torch.__version__},
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
