#!/usr/bin/env python3
"""Forecasts of series whose level moves, with answers as they are and relative to the last value.

    bench/quality/levels.py build/stoker WHEELS

WHEELS is a folder with the unpacked wheels ISLP and statsmodels, whose files are read as they are. For every
series and model it prints the test R2 and the coverage of intervals of 90 %, with `--relative-to none` and as
`stoker train --windows` decides by itself.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

# File, target, windows, column of times, and what is left out: numbers that sum up to the target.
SERIES = {
    "nyse": ("ISLP/data/NYSE.csv", "log_volume", 5, "date", ()),
    "bikeshare": ("ISLP/data/Bikeshare.csv", "bikers", 24, None, ("casual", "registered")),
    "co2": ("statsmodels/datasets/co2/co2.csv", "co2", 52, "date", ()),
    "sunspots": ("statsmodels/datasets/sunspots/sunspots.csv", "SUNACTIVITY", 11, "YEAR", ()),
    "gdp": ("statsmodels/datasets/macrodata/macrodata.csv", "realgdp", 8, None, ("year", "quarter")),
}
MODELS = ["ridge", "temporal_mlp", "gru", "lstm"]


def features(path, time, left_out):
    with open(path, newline="") as file:
        return [name for name in next(csv.reader(file)) if name != time and name not in left_out]


def result_of(options, name, model, relative_to):
    file, target, length, time, left_out = SERIES[name]
    path = options.wheels / file
    command = [options.program, "train", path, "--target", target, "--windows", length, "--model", model,
               "--device", "cpu", "--no-cache", "--json",
               "--feature-columns", ",".join(features(path, time, left_out))]
    if time:
        command += ["--time-column", time]
    if relative_to != "auto":
        command += ["--relative-to", relative_to]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(each) for each in command + ["--out", folder] + options.more], check=True,
                              capture_output=True, text=True)
    result = json.loads(done.stdout)
    measured = result["evaluations"]["evaluate"]
    return {"series": name, "model": model, "relative_to": relative_to,
            "last value": measured["baseline"]["metrics"]["r2"],
            **{each: measured["metrics"].get(each) for each in ("r2", "coverage_of_90", "coverage_of_90_updated")},
            "note": [each for each in result["notes"] if "learnt" in each]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("wheels", type=pathlib.Path)
    parser.add_argument("--series", nargs="+", default=list(SERIES))
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--relative-to", nargs="+", default=["none", "auto"])
    parser.add_argument("more", nargs="*", help="further flags of stoker train, behind --")
    options = parser.parse_args()
    for name in options.series:
        for model in options.model:
            for relative_to in options.relative_to:
                print(json.dumps(result_of(options, name, model, relative_to)), flush=True)


if __name__ == "__main__":
    main()
