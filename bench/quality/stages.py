#!/usr/bin/env python3
"""What is left of old classes when new ones arrive: a mixture of experts beside dense networks of as many weights as it
uses for a row, and as it has in all, with and without replay, and with parts of it switched off:
  stages.py PROGRAM [--data sample:glyphs] [--stages 0,1,2,3,4/5,6,7,8,9] [--seeds 5] [--epochs 4] [--kinds experts,total]
            [--replay 0,2000] [--device cpu]
Accuracy on test rows: of all classes, of those of earlier stages, of those of the last stage. The same rows are tested
on, and each pair has its seed. One JSON object per line, then the means with two standard errors, and for each the mean
difference to the mixture of experts."""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

SETTINGS = ["--target", "label", "--batch-size", "128", "--optimizer", "adamw", "--learning-rate", "0.001",
            "--weight-decay", "0.01", "--validation-ratio", "0.05", "--early-stopping-patience", "0", "--dropout", "0",
            "--schedule", "constant", "--no-cache", "--quiet"]
MIXTURE = ["--model", "mixture_of_experts"]
# 784-640-512-10 has 836,000 weights, as two experts of 784-256-256-10 with their router 784-392-8 (848,000); the eight
# that it begins with have 2.4 million in all, as 784-1300-1060-10.
KINDS = {"experts": MIXTURE, "no growth": [*MIXTURE, "--no-growth"], "no merging": [*MIXTURE, "--no-merging"],
         "active": ["--model", "neural_network", "--hidden-layers", "640,512"],
         "total": ["--model", "neural_network", "--hidden-layers", "1300,1060"]}
SHARES = ["all", "old", "new"]


def shares(predictions, last_stage):
    """Of all rows, of those of earlier stages, of those of the last one: which share is right."""
    right = {name: [] for name in SHARES}
    for actual, predicted in predictions:
        is_right = actual == predicted
        right["all"].append(is_right)
        right["new" if actual in last_stage else "old"].append(is_right)
    return {name: statistics.mean(each) for name, each in right.items()}


def confusion_of(run):
    """Pairs of actual and predicted class of the test rows."""
    (evaluation,) = (run / "evaluations").glob("*.json")
    for chart in json.loads(evaluation.read_text())["charts"]:
        if chart["kind"] != "confusion_matrix":
            continue
        for actual, line in zip(chart["classes"], chart["counts"]):
            for predicted, count in zip(chart["classes"], line):
                yield from [(str(actual), str(predicted))] * count
        return
    raise SystemExit("the run has no confusion matrix")


def measured(options, kind, replay, seed):
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([options.program, "train", options.data, *KINDS[kind], *SETTINGS, "--epochs", str(options.epochs),
                        "--stages", options.stages, "--stage-replay", str(replay), "--device", options.device,
                        "--seed", str(seed), "--out", place], check=True, stdout=subprocess.DEVNULL)
        (record,) = pathlib.Path(place).glob("*/run.json")
        last = set(options.stages.split("/")[-1].split(","))
        run = json.loads(record.read_text())
        return {**shares(confusion_of(record.parent), last), "seconds": run["trainings"][0]["seconds"]}


def with_error(values):
    error = 2 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else float("nan")
    return [round(100 * statistics.mean(values), 2), round(100 * error, 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--data", default="sample:glyphs")
    parser.add_argument("--stages", default="0,1,2,3,4/5,6,7,8,9")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--replay", default="0,2000")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    found = {}
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for replay in options.replay.split(","):
            for kind in options.kinds.split(","):
                one = measured(options, kind, int(replay), seed)
                found.setdefault((replay, kind), []).append(one)
                print(json.dumps({"seed": seed, "replay": int(replay), "kind": kind, **one}), flush=True)
    for (replay, kind), all_seeds in found.items():
        line = {name: with_error([each[name] for each in all_seeds]) for name in SHARES}
        beside = found.get((replay, "experts"))
        if kind != "experts" and beside:
            line["experts above"] = with_error([a["all"] - b["all"] for a, b in zip(beside, all_seeds)])
            line["experts above on new"] = with_error([a["new"] - b["new"] for a, b in zip(beside, all_seeds)])
        print(json.dumps({"data": options.data, "replay": int(replay), "kind": kind, **line}))


if __name__ == "__main__":
    main()
