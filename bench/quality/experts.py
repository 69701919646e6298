"""Accuracy of a mixture of experts beside a dense network of as many weights as it uses for a row:
  experts.py PROGRAM [--data sample:glyphs] [--seeds 5] [--first-seed 0] [--epochs 10] [--device cpu] [--experts 8]
             [--mixture="--load-balance 0.01"]
DATA is what `stoker train` takes: sample:glyphs, or the images of MNIST or Fashion-MNIST in IDX form. The same rows are
tested on, and each pair has its seed. One JSON object per line, then a summary: the mean difference and two standard
errors of it."""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

SETTINGS = ["--target", "label", "--batch-size", "128", "--optimizer", "adamw", "--learning-rate", "0.001",
            "--weight-decay", "0.01", "--schedule", "cosine", "--dropout", "0.15", "--validation-ratio", "0.05",
            "--early-stopping-patience", "0", "--no-cache", "--quiet"]
# 784-640-512-10 has 836,000 weights; two experts of 784-256-256-10 and their router 784-392-8 have 848,000.
KINDS = {"experts": ["--model", "mixture_of_experts"], "dense": ["--model", "neural_network", "--hidden-layers", "640,512"]}


def accuracy(options, kind, seed):
    with tempfile.TemporaryDirectory() as place:
        flags = [*KINDS[kind], *(["--experts", str(options.experts), *options.mixture.split()] if kind == "experts" else [])]
        subprocess.run([options.program, "train", options.data, *flags, *SETTINGS, "--epochs", str(options.epochs),
                        "--device", options.device, "--seed", str(seed), "--out", place], check=True, stdout=subprocess.DEVNULL)
        (record,) = pathlib.Path(place).glob("*/run.json")
        run = json.loads(record.read_text())
        metrics = {each["name"]: each["value"] for each in run["results"][0]["metrics"]}
        return {"accuracy": metrics["accuracy"], "seconds": run["trainings"][0]["seconds"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--data", default="sample:glyphs")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--experts", type=int, default=8)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mixture", default="", help="further flags of the mixture alone")
    options = parser.parse_args()
    differences, found = [], {kind: [] for kind in KINDS}
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for kind in KINDS:
            one = accuracy(options, kind, seed)
            found[kind].append(one["accuracy"])
            print(json.dumps({"seed": seed, "kind": kind, **one}), flush=True)
        differences.append(found["experts"][-1] - found["dense"][-1])
    error = 2 * statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else float("nan")
    print(json.dumps({"data": options.data, **{kind: round(statistics.mean(all), 5) for kind, all in found.items()},
                      "difference": round(statistics.mean(differences), 5), "two_standard_errors": round(error, 5)}))


if __name__ == "__main__":
    main()
