"""What the w1 peers share: the workload, the measurement and the line that they print.

w1: 40,000 x 13 floats -> [128, 64, 32] -> 1, ReLU, dropout 0.2, Adam 1e-3, MSE.
"""
import argparse
import json
import statistics
import time

import numpy as np

ROWS, COLUMNS, HIDDEN, DROPOUT, RATE = 40_000, 13, (128, 64, 32), 0.2, 1e-3


def options(devices=("auto", "cpu", "cuda")):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--device", choices=devices, default=devices[0])
    parser.add_argument("--seconds", type=float, default=0.2, help="least length of a window; there are 5")
    parser.add_argument("--dropout", type=float, default=DROPOUT)
    return parser.parse_args()


def rows():
    generator = np.random.default_rng(1)
    features = generator.standard_normal((ROWS, COLUMNS), dtype=np.float32)
    weights = generator.standard_normal(COLUMNS, dtype=np.float32)
    targets = features @ weights + 0.1 * generator.standard_normal(ROWS, dtype=np.float32)
    return features, ((targets - targets.mean()) / targets.std()).astype(np.float32)


def median_and_spread(windows):
    median = statistics.median(windows)
    return median, (max(windows) - min(windows)) / median


def measure(run_steps, seconds, warm_up=50):
    """run_steps(n) trains n steps and returns when they are done. Median of 5 windows in microseconds a step and its
    spread, by the clock and by the processor."""
    run_steps(warm_up)
    steps = warm_up
    while True:
        start = time.perf_counter()
        run_steps(steps)
        passed = time.perf_counter() - start
        if passed >= seconds:
            break
        steps = max(steps + 1, int(steps * min(10, 1.2 * seconds / max(passed, 1e-6))))
    windows, processor = [], []
    for _ in range(5):
        start, processor_start = time.perf_counter(), time.process_time()
        run_steps(steps)
        processor.append((time.process_time() - processor_start) / steps * 1e6)
        windows.append((time.perf_counter() - start) / steps * 1e6)
    return median_and_spread(windows) + median_and_spread(processor)


def report(engine, device, batch, result, versions, peak_bytes=0, precision="fp32"):
    microseconds, spread, processor, processor_spread = result
    print(json.dumps({
        "workload": "w1", "batch": batch, "engine": engine, "device": device, "precision": precision,
        "us_per_step": round(microseconds, 2), "spread": round(spread, 4),
        "processor_us_per_step": round(processor, 2), "processor_spread": round(processor_spread, 4),
        "samples_per_s": round(batch / microseconds * 1e6), "models": 1, "peak_bytes": peak_bytes,
        "versions": versions}))
