#!/usr/bin/env python3
"""The flagship's quality against a plain torch loop: mean test RMSE over the seeds within 5 %, every R² above 0.98.

    tests/soak/flagship_quality.py build/stoker [--seeds 1 2 3 4 5] [--jobs 2] [--device cpu]

Single runs swing between 11 and 15 under dropout, so only means are compared. Both train the same 50 epochs on the
same 50,000 rows, each with its own split.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = SOURCE / ".venv/bin/python"


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def ours(stoker, out, seed, device):
    text = run([stoker, "run", SOURCE / "examples/boston_housing.yaml", "--out", out, "--device", device, "--json", "--quiet",
                "--set", f"cards.model.config.seed={seed}", "--set", f"cards.split.config.random_seed={seed}"])
    result = json.loads(text)
    metrics = result["evaluations"]["evaluate"]["metrics"]
    return {"rmse": metrics["rmse"], "r2": metrics["r2"], "seconds": result["seconds"], "folder": result["folder"]}


def theirs(data, seed, device):
    python = PYTHON if PYTHON.exists() else "python3"
    return json.loads(run([python, SOURCE / "bench/peers/flagship_torch.py", data, "--seeds", seed, "--device", device]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stoker", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        stoker = options.stoker.resolve()
        mine = list(pool.map(lambda seed: ours(stoker, folder, seed, options.device), options.seeds))
        data = pathlib.Path(folder) / "boston.csv"
        run([stoker, "predict", mine[0]["folder"], "sample:boston_housing", "--include-features", "--output", data])
        peer = list(pool.map(lambda seed: theirs(data, seed, options.device), options.seeds))
    for name, results in (("stoker", mine), ("torch loop", peer)):
        errors = [result["rmse"] for result in results]
        print(f"{name:10}  RMSE {' '.join(f'{error:.3f}' for error in errors)}  mean {statistics.mean(errors):.3f}"
              f"  least R² {min(result['r2'] for result in results):.4f}")
    ratio = statistics.mean(r["rmse"] for r in mine) / statistics.mean(r["rmse"] for r in peer)
    print(f"ratio of the means: {ratio:.4f}")
    sys.exit(0 if ratio < 1.05 and min(r["r2"] for r in mine) > 0.98 else 1)


if __name__ == "__main__":
    main()
