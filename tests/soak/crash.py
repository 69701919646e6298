#!/usr/bin/env python3
"""Kills and interrupts runs and sweeps at random moments, goes on with them, and compares what they come to with
what nobody stopped.

    tests/soak/crash.py build/stoker --seconds 600 --seed 1

After each stop the list of runs must be readable, whatever it offers must be whole, and what it says about going on
must work.
"""
import csv
import hashlib
import json
import pathlib
import shlex
import signal
import tempfile
import time

import rounds
from rounds import Fault

SIGNALS = [signal.SIGKILL] * 3 + [signal.SIGINT, signal.SIGTERM]
MOST_STOPS = 4

CARDS = """version: 1
name: crash
cards:
  load: {type: data_load, config: {source: sample, sample_name: friedman, sample_rows: 600}}
  split: {type: data_split, inputs: {dataset: load.dataset}}
  model:
    type: model_define_gpu
    config: {hidden_layers: [8], dropout: 0.1, epochs: EPOCHS, batch_size: 4, validation_ratio: 0.2,
             learning_rate: RATE}
  train:
    type: train
    inputs: {train_dataset: split.train_dataset, model_spec: model.model_spec}
    config: {target_column: y, device: cpu, engine: fused, checkpoint_seconds: 0}
  evaluate: {type: evaluate, inputs: {trained_model: train.trained_model, test_dataset: split.test_dataset}}
  predict: {type: inference, inputs: {trained_model: train.trained_model, dataset: split.test_dataset}}
"""
RATES = "{grid: [0.001, 0.002, 0.004, 0.008, 0.016, 0.032]}"


def document(epochs, rate, sweep=""):
    return CARDS.replace("EPOCHS", str(epochs)).replace("RATE", rate) + sweep


# Checkpoints that wait for those before them to be written, and stay for being the best.
BEST = 4
KEPT = document(40, "0.005").replace("checkpoint_seconds: 0", f"checkpoint_seconds: 0, keep_last: 3, keep_best: {BEST}")

# Networks that read windows of a series, one of them walked forward.
SERIES = """version: 1
name: crash
cards:
  load: {type: data_load, config: {source: sample, sample_name: friedman, sample_rows: 400}}
  windows: {type: windows, inputs: {dataset: load.dataset}, config: {length: 4, horizon: 1, target_column: y}}
  split: {type: data_split, inputs: {dataset: windows.dataset}}
  model:
    type: model_define_gpu
    config: {MODEL, dropout: 0.1, batch_size: 16, accumulation_steps: 2, weight_average: 0.9, validation_ratio: 0.2}
  train:
    type: train_gpu
    inputs: {train_dataset: split.train_dataset, model_spec: model.model_spec}
    config: {target_column: y, device: cpu, checkpoint_seconds: 0FURTHER}
  evaluate: {type: evaluate, inputs: {trained_model: train.trained_model, test_dataset: split.test_dataset}}
"""


def series(model, further=""):
    return SERIES.replace("MODEL", model).replace("FURTHER", further)


WORK = {
    "series": ("run", series("model_type: gru, hidden_size: 6, layers: 1, epochs: 20")),
    "walk": ("run", series("model_type: temporal_mlp, moments: 4, hidden_layers: [8], epochs: 12",
                           ", walk_forward: {folds: 3}")),
    "run": ("run", document(60, "0.005")),
    "best": ("run", KEPT.replace("hidden_layers: [8]", "hidden_layers: [96, 96]")),
    "grid": ("sweep", document(12, RATES, "sweep: {strategy: grid, metric: rmse}\n")),
    "halving": ("sweep", document(18, RATES, "sweep: {strategy: halving, factor: 2, min_epochs: 2}\n")),
    "folds": ("sweep", document(9, RATES, "sweep: {strategy: grid, folds: 3}\n")),
}


FILES = ("model/model.safetensors", "model/model.json", "evaluations/evaluate.json", "predictions-predict.csv")
TIMES = ("seconds", "rows_per_second", "memory_bytes")


def rows_without_time(path):
    with path.open(newline="") as file:
        return [{key: value for key, value in row.items() if key not in TIMES} for row in csv.DictReader(file)]


def best_checkpoints(run):
    scores = [json.loads(path.read_text()) for path in run.glob("checkpoints/*/step-*/score.json")]
    return sorted((score["value"], score["epoch"]) for score in scores)[:BEST]


def result_of(out):
    """All that a run or a sweep came to and that does not depend on the time it took."""
    result = {}
    for run in sorted(path.parent for path in out.glob("*/run.json")):
        record = json.loads((run / "run.json").read_text())
        kept = result.setdefault(record["name"], {"status": record["status"], "results": record["results"]})
        kept["walk_forward"] = [training.get("walk_forward") for training in record["trainings"]]
        for file in FILES:
            if (run / file).exists():
                kept[file] = (run / file).read_bytes()
        if best_checkpoints(run):
            kept["the best checkpoints"] = best_checkpoints(run)
        for table in ("metrics.csv", "trials.csv"):
            if (run / table).exists():
                kept[table] = rows_without_time(run / table)
    return result


def difference_inside(expected, found, path=""):
    """The place and both values of the first difference between parsed results, in brackets."""
    if isinstance(expected, bytes) or isinstance(found, bytes):
        return ""
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        pairs = [(f"{path}/{key}", expected[key], found[key]) for key in expected]
    elif isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)) and len(expected) == len(found):
        pairs = [(f"{path}/{i}", *pair) for i, pair in enumerate(zip(expected, found))]
    else:
        return f" ({path or 'all of it'}: {str(expected)[:200]} became {str(found)[:200]})"
    return next((difference_inside(one, other, place) for place, one, other in pairs if one != other), "")


def first_difference(expected, found):
    if expected.keys() != found.keys():
        return f"{sorted(found)} and not {sorted(expected)}"
    for name, kept in expected.items():
        for what in sorted(kept.keys() | found[name].keys()):
            if kept.get(what) != found[name].get(what):
                return f"{what} of {name}{difference_inside(kept.get(what), found[name].get(what))}"
    return ""


def check_whole(program, out, rows=("sample:friedman", "--sample-rows", "8")):
    """Nothing that a name offers is half written; `rows` are some that a model can predict."""
    for path in out.glob("*/**/*.json"):
        if not any(part.startswith(".") or ".partial-" in part for part in path.relative_to(out).parts):
            try:
                json.loads(path.read_text())
            except ValueError as error:
                raise Fault(f"{path} is half written: {error}") from None
    for done in out.glob("*/checkpoints/**/DONE"):
        # A sweep puts those of a finished candidate out of sight before it removes them.
        if any(".partial-" in part for part in done.relative_to(out).parts):
            continue
        for line in done.read_text().splitlines():
            digest, name = line.split()
            if hashlib.sha256((done.parent / name).read_bytes()).hexdigest() != digest:
                raise Fault(f"{done.parent / name} is not what was written")
    for page in out.glob("*/report.html"):
        if not page.read_text().rstrip().endswith("</html>"):
            raise Fault(f"{page} is half written")
    for model in out.glob("*/model"):
        program.must("predict", str(model), *rows)


def listed(program):
    found = json.loads(program.must("runs", "list", "--json", "--out", "out").output)
    if found["damaged"]:
        raise Fault(f"the list of runs calls something damaged: {found['damaged']}")
    return found["runs"]


def next_command(program):
    """What the list offers to go on with, a sweep before the run that it is refitting; None when nothing is open."""
    open_runs = [run for run in listed(program) if run["status"] != "finished"]
    for run in open_runs:
        program.must("runs", "show", run["run"], "--out", "out")
        if "to_go_on" not in run:
            raise Fault(f"the run {run['run']} is {run['status']} and cannot be gone on with: {run['error']}")
    open_runs.sort(key=lambda run: "sweep --resume" not in run["to_go_on"])
    return shlex.split(open_runs[0]["to_go_on"])[1:] if open_runs else None


def stopped(program, words, chance, duration):
    """Runs it and stops it at a random moment; half of all moments are early, where files come into being."""
    process = program.start(words)
    moment = chance.uniform(0, 0.05) if chance.random() < 0.4 else chance.uniform(0, duration * 1.1)
    number = chance.choice(SIGNALS)
    time.sleep(moment)
    process.send_signal(number)
    finished = program.finish(words, process)
    # Before the program has taken charge of the signal, it ends at once, as any program does.
    if finished.code not in (0, 130, -number):
        raise Fault(f"{finished}\n  after {number.name} at {moment * 1000:.0f} ms")
    return f"{number.name} at {moment * 1000:.1f} ms"


def play_round(options, expected, chance, folder):
    name = chance.choice(sorted(WORK))
    command, text = WORK[name]
    (folder / "crash.yaml").write_text(text)
    program = rounds.Program(options.program, folder)
    first = [command, "crash.yaml", "--quiet", "--out", "out", "--threads", "2"][:None if command == "sweep" else -2]
    words = first
    stops = [stopped(program, words, chance, expected[name]["seconds"])]
    try:
        while True:
            check_whole(program, folder / "out")
            words = next_command(program) or (first if not listed(program) else None)
            if words is None:
                break
            if len(stops) < chance.randint(1, MOST_STOPS):
                stops.append(stopped(program, words, chance, expected[name]["seconds"]))
            else:
                program.must(*words)
        difference = first_difference(expected[name]["result"], result_of(folder / "out"))
        if difference:
            raise Fault(f"another result than that of nobody's stopping: {difference}")
    except Fault as fault:
        raise Fault(f"{name} stopped by {', '.join(stops)}:\n  {fault}") from None


def uninterrupted(options):
    expected = {}
    for name, (command, text) in WORK.items():
        with tempfile.TemporaryDirectory(prefix="stoker-soak-") as folder:
            (pathlib.Path(folder) / "crash.yaml").write_text(text)
            began = time.monotonic()
            rounds.Program(options.program, folder).must(command, "crash.yaml", "--quiet", "--out", "out")
            expected[name] = {"seconds": time.monotonic() - began, "result": result_of(pathlib.Path(folder) / "out")}
    return expected


def main():
    options = rounds.options_of(__doc__)
    expected = uninterrupted(options)
    rounds.play(options, lambda chance, folder, number: play_round(options, expected, chance, folder))


if __name__ == "__main__":
    main()
