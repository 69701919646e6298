"""What NumPy takes for the statistics of `stoker bench w6`: the least, the most, the mean and the covariance of 50
channels over cubes of 128 x 128 pixels, with one matrix product. Twice: in float64, which is as accurate as Stoker, and
in float32, which is not where values lie far from 0. One JSON object per line. Needs NumPy, and scikit-learn for the
module whose clock it shares; runs on the CPU."""
import argparse
import json
import resource

import numpy as np

from linear_sklearn import measure

PIXELS, CHANNELS = 128 * 128, 50


def pixels(cubes):
    """Each pixel a sum of two curves over the channels with noise."""
    random = np.random.default_rng(42)
    channel = np.arange(CHANNELS, dtype=np.float32)
    curves = np.stack([1 / (1 + ((channel - 15) / 8) ** 2), 1 / (1 + ((channel - 34) / 6) ** 2)])
    result = np.empty((cubes * PIXELS, CHANNELS), np.float32)
    for cube in range(cubes):
        part = result[cube * PIXELS : (cube + 1) * PIXELS]
        np.matmul(random.random((PIXELS, 2), np.float32), curves, out=part)
        part += 0.2 + 0.05 * random.random((PIXELS, CHANNELS), np.float32)
    return result


def statistics(x, kind):
    """One pass for each of them; the product is one call of BLAS."""
    least, most = x.min(axis=0), x.max(axis=0)
    mean = x.mean(axis=0, dtype=kind)
    centred = x - mean
    return least, most, mean, centred.T @ centred / (len(x) - 1)


def product_alone(x, kind):
    """The mean and the product, without the extremes."""
    mean = x.mean(axis=0, dtype=kind)
    centred = x - mean
    return mean, centred.T @ centred / (len(x) - 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cubes", type=int, default=160)
    parser.add_argument("--seconds", type=float, default=0.25, help="least length of a measuring window")
    parser.add_argument("--device", default="cpu")
    settings = parser.parse_known_args()[0]
    x = pixels(settings.cubes)
    for name, work in (("mean and product", product_alone), ("and extremes", statistics)):
        for kind in (np.float64, np.float32):
            median, spread, processor, processor_spread = measure(lambda: work(x, kind), settings.seconds)
            line = {
                "workload": "w6 statistics",
                "batch": len(x),
                "engine": f"numpy, {name}",
                "device": "cpu",
                "precision": "fp64" if kind is np.float64 else "fp32",
                "us_per_step": 1e6 * median,
                "spread": spread,
                "processor_us_per_step": 1e6 * processor,
                "processor_spread": processor_spread,
                "samples_per_s": len(x) / median,
                "models": 1,
                "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
                "versions": {"numpy": np.__version__},
            }
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
