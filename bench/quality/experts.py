#!/usr/bin/env python3
"""Accuracy of a mixture of experts beside a dense network of as many weights as it uses for a row:
  experts.py PROGRAM [--data sample:glyphs] [--seeds 5] [--first-seed 0] [--epochs 10] [--device cpu] [--experts 8]
             [--label-smoothing 0.1] [--router-exploration 1] [--kept-by accuracy] [--at-once 1]
             [--mixture="--load-balance 0.01"] [--dense 640,512]
DATA is what `stoker train` takes: sample:glyphs, or the images of MNIST or Fashion-MNIST in IDX form. The same rows are
tested on, and each pair has its seed. Every setting that both have is the same for both. Of each training the epoch that
has most of the validation rows right is kept, or with `--kept-by loss` the one with the least validation loss. One JSON
object per training as it ends, then a summary: the mean difference and two standard errors of it. `--at-once` runs
several trainings beside each other, which then take longer each: for their seconds leave it at 1."""
import argparse
import concurrent.futures
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
AS_LARGE = "640,512"
KINDS = ["experts", "dense"]


def accuracy(options, kind, seed):
    flags = [*SETTINGS, "--label-smoothing", str(options.label_smoothing), "--early-stopping-metric", options.kept_by]
    if kind == "experts":
        flags += ["--model", "mixture_of_experts", "--experts", str(options.experts),
                  "--router-exploration", str(options.router_exploration), *options.mixture.split()]
    else:
        flags += ["--model", "neural_network", "--hidden-layers", options.dense]
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([options.program, "train", options.data, *flags, "--epochs", str(options.epochs),
                        "--device", options.device, "--seed", str(seed), "--out", place], check=True, stdout=subprocess.DEVNULL)
        (record,) = pathlib.Path(place).glob("*/run.json")
        run = json.loads(record.read_text())
        metrics = {each["name"]: each["value"] for each in run["results"][0]["metrics"]}
        one = {"accuracy": metrics["accuracy"], "seconds": run["trainings"][0]["seconds"]}
    print(json.dumps({"seed": seed, "kind": kind, **one}), flush=True)
    return one["accuracy"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--data", default="sample:glyphs")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--experts", type=int, default=8)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--label-smoothing", type=float, default=0.1, help="of both kinds")
    parser.add_argument("--router-exploration", type=float, default=1, help="of the mixture")
    parser.add_argument("--kept-by", choices=["accuracy", "loss"], default="accuracy", help="what chooses the epoch")
    parser.add_argument("--at-once", type=int, default=1, help="trainings that run at a time")
    parser.add_argument("--mixture", default="", help="further flags of the mixture alone")
    parser.add_argument("--dense", default=AS_LARGE, help="hidden layers of the dense network")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        trainings = [[pool.submit(accuracy, options, kind, seed) for kind in KINDS] for seed in seeds]
        pairs = [dict(zip(KINDS, [each.result() for each in pair])) for pair in trainings]
    differences = [pair["experts"] - pair["dense"] for pair in pairs]
    error = 2 * statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else None
    print(json.dumps({"data": options.data, "epochs": options.epochs, "label_smoothing": options.label_smoothing,
                      "router_exploration": options.router_exploration,
                      **{kind: round(statistics.mean(pair[kind] for pair in pairs), 5) for kind in KINDS},
                      "difference": round(statistics.mean(differences), 5), "two_standard_errors": error and round(error, 5)}))


if __name__ == "__main__":
    main()
