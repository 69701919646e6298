"""What scikit-learn takes for the linear models of `stoker bench linear`: 40,000 rows of 13 columns, in memory as
doubles. One JSON object per line. Needs scikit-learn."""
import argparse
import json
import resource
import statistics
import time
import warnings

import numpy as np
import sklearn
from sklearn.linear_model import Lasso, LassoCV, LinearRegression, Ridge

ROWS, COLUMNS = 40_000, 13


def table():
    """Ten of the thirteen columns matter; noise of standard deviation 10."""
    random = np.random.default_rng(42)
    x = random.normal(size=(ROWS, COLUMNS))
    coefficients = np.concatenate([10.0 * np.arange(1, 11), np.zeros(3)])
    return x, x @ coefficients + 10 * random.normal(size=ROWS)


def median_and_spread(windows):
    median = statistics.median(windows)
    return median, (max(windows) - min(windows)) / median


def measure(work, seconds):
    """Median time of one call over at least 5 windows of at least `seconds`, and the spread of the windows, by the
    clock and by the processor."""
    work()
    start = time.perf_counter()
    work()
    calls = max(1, round(seconds / (time.perf_counter() - start)))
    windows, processor = [], []
    for _ in range(5):
        start, processor_start = time.perf_counter(), time.process_time()
        for _ in range(calls):
            work()
        processor.append((time.process_time() - processor_start) / calls)
        windows.append((time.perf_counter() - start) / calls)
    return median_and_spread(windows) + median_and_spread(processor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.5, help="least length of a measuring window")
    seconds = parser.parse_known_args()[0].seconds
    warnings.filterwarnings("ignore")
    x, y = table()
    models = {
        "linear_regression": LinearRegression(),
        "ridge": Ridge(alpha=1.0),
        "lasso": Lasso(alpha=0.1),
        "lasso_cv": LassoCV(cv=5),
    }
    for name, model in models.items():
        median, spread, processor, processor_spread = measure(lambda: model.fit(x, y), seconds)
        line = {
            "workload": name,
            "model": name,
            "batch": ROWS,
            "engine": "scikit-learn",
            "device": "cpu",
            "precision": "fp64",
            "ms": 1e3 * median,
            "us_per_step": 1e6 * median,
            "spread": spread,
            "processor_us_per_step": 1e6 * processor,
            "processor_spread": processor_spread,
            "samples_per_s": ROWS / median,
            "models": 1,
            "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
