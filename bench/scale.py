#!/usr/bin/env python3
"""What large inputs cost: seconds and peak memory of whole commands.

    bench/scale.py build/stoker [ANOTHER_BUILD/stoker ...]

Takes about 2 GB of disk for a while, in the folder for temporary files, and a few minutes.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

LOAD = "  load: {type: data_load, config: {source: sample, sample_name: boston_housing, sample_rows: 200}}\n"
SPLIT = "  split: {type: data_split, inputs: {dataset: load.dataset}}\n"
TRAIN = ("  train: {type: train_gpu, inputs: {train_dataset: split.train_dataset, model_spec: model.model_spec}, "
         "config: {target_column: MEDV}}\n")
LARGE_ROWS, LARGE_COLUMNS = 2_000_000, 20


def large_table():
    chance = random.Random(1)
    rows = "".join(",".join(f"{chance.gauss(0, 1):.6g}" for _ in range(LARGE_COLUMNS)) + "\n" for _ in range(10_000))
    with open("large.csv", "w") as file:
        file.write(",".join(["y"] + [f"x{i}" for i in range(1, LARGE_COLUMNS)]) + "\n")
        for _ in range(LARGE_ROWS // 10_000):
            file.write(rows)


def table_of_classes(classes, rows):
    chance = random.Random(2)
    with open(f"classes{classes}.csv", "w") as file:
        file.write("a,b,c,label\n")
        for i in range(rows):
            k = i % classes
            file.write(f"{k * 0.01 + chance.gauss(0, 0.1):.4f},{k * 37 % classes * 0.01:.4f},{chance.random():.4f},c{k}\n")


def documents():
    models = "".join(f"  m{i}: {{type: model_define_gpu, config: {{model_type: neural_network, epochs: {i + 1}}}}}\n"
                     for i in range(998))
    pathlib.Path("cards.yaml").write_text("version: 1\nname: cards\ncards:\n" + LOAD + SPLIT + models)
    model = ("  model: {type: model_define_gpu, config: {model_type: neural_network, hidden_layers: [4], epochs: 100000, "
             "batch_size: 64}}\n")
    pathlib.Path("epochs.yaml").write_text("version: 1\nname: epochs\ncards:\n" + LOAD + SPLIT + model + TRAIN)


def runs(program):
    """Ten thousand times the same run."""
    command = [program, "train", "sample:boston_housing", "--target", "MEDV", "--model", "linear_regression", "--quiet"]
    subprocess.run([*command, "--sample-rows", "200", "--out", "one"], check=True, capture_output=True)
    [record] = pathlib.Path("one").glob("*/run.json")
    for i in range(10_000):
        folder = pathlib.Path("many", f"run{i}")
        folder.mkdir(parents=True)
        shutil.copy(record, folder / "run.json")


def measured(program, words):
    """Seconds and bytes."""
    shutil.rmtree("runs", ignore_errors=True)
    start = time.monotonic()
    process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{program} {' '.join(words)}: {said.strip().splitlines()[-1]}")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def main():
    programs = [str(pathlib.Path(each).resolve()) for each in sys.argv[1:]] or sys.exit(__doc__)
    classes = ["--target", "label", "--task", "multiclass", "--epochs", "1"]
    work = {
        "a CSV file of 2,000,000 × 20": ["train", "large.csv", "--target", "y", "--epochs", "1", "--batch-size", "4096"],
        "1,000 cards": ["run", "cards.yaml", "--quiet"],
        "a list of 10,000 runs": ["runs", "list", "--out", "many"],
        "100,000 epochs": ["run", "epochs.yaml", "--quiet"],
        "3,000 classes": ["train", "classes3000.csv", *classes],
    }
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        large_table()
        table_of_classes(3_000, 60_000)
        documents()
        runs(programs[0])
        for name, words in work.items():
            for program in programs:
                # The best of three where it is short: the first finds nothing in the disk's memory.
                seconds, size = measured(program, words)
                if seconds < 3:
                    seconds = min(seconds, *(measured(program, words)[0] for _ in range(2)))
                tensor = f", {size / (4 * LARGE_ROWS * LARGE_COLUMNS):.2f} × its float32 numbers" if "CSV" in name else ""
                print(f"{seconds:8.2f} s  {size / 2**20:6.0f} MiB  {name}{tensor}  ({program})", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
