#!/usr/bin/env python3
"""Makes one call of the system fail, or all from one on, in the middle of a run, a sweep or a prediction: no space, an
I/O error, no descriptors, no memory, no threads.

    tests/soak/injection.py build/stoker build/libstoker_inject.so --seconds 600 --seed 1

The program must end with a message and exit code 1 or 2, or do without what failed; nothing half-written may be
offered; and a second try without the failure must come to the same result as if there had been none.
"""
import errno
import json
import math
import pathlib
import shutil
import signal
import struct
import tempfile

import crash
import rounds
from rounds import Fault

# What may go wrong with each function of tests/soak/inject.cpp.
ERRORS = {
    "open": [errno.EMFILE, errno.ENOSPC, errno.EIO, errno.EACCES],
    "write": [errno.ENOSPC, errno.EIO],
    "sync": [errno.EIO, errno.ENOSPC],
    "rename": [errno.ENOSPC, errno.EIO],
    "mkdir": [errno.ENOSPC, errno.EACCES],
    "read": [errno.EIO],
    "map": [errno.ENOMEM],
    "memory": [errno.ENOMEM],
    "thread": [errno.EAGAIN],
}

TABLE = "a,b,kind,y\n" + "".join(
    f"{i * 37 % 101 / 10},{i * 53 % 97 / 8},{'flat' if i % 3 else 'house'},{i * 37 % 101 / 5 - i * 53 % 97 / 4}\n"
    for i in range(300))

CARDS = """version: 1
name: crash
cards:
  load: {type: data_load, config: {source: csv, path: houses.csv}}
  split: {type: data_split, inputs: {dataset: load.dataset}}
  model:
    type: model_define_gpu
    config: {hidden_layers: [6], epochs: 8, batch_size: 16, validation_ratio: 0.2, learning_rate: RATE}
  train:
    type: train
    inputs: {train_dataset: split.train_dataset, model_spec: model.model_spec}
    config: {target_column: y, device: cpu, engine: fused, checkpoint_seconds: 0}
  evaluate: {type: evaluate, inputs: {trained_model: train.trained_model, test_dataset: split.test_dataset}}
  predict: {type: inference, inputs: {trained_model: train.trained_model, dataset: split.test_dataset}}
"""

# The same values as a series.
SERIES = """version: 1
name: crash
cards:
  load: {type: data_load, config: {source: csv, path: houses.csv}}
  windows:
    type: windows
    inputs: {dataset: load.dataset}
    config: {length: 3, horizon: 1, target_column: y, feature_columns: [a, b]}
  split: {type: data_split, inputs: {dataset: windows.dataset}}
  model:
    type: model_define_gpu
    config: {model_type: gru, hidden_size: 4, layers: 1, epochs: 4, batch_size: 32, validation_ratio: 0.2}
  train:
    type: train_gpu
    inputs: {train_dataset: split.train_dataset, model_spec: model.model_spec}
    config: {target_column: y, device: cpu, checkpoint_seconds: 0, walk_forward: {folds: 2}}
  evaluate: {type: evaluate, inputs: {trained_model: train.trained_model, test_dataset: split.test_dataset}}
"""

# The words of each kind of work. `predict` uses the model that a run beside it left.
WORK = {
    "run": ["run", "run.yaml", "--quiet", "--out", "out"],
    "best": ["run", "best.yaml", "--quiet", "--out", "out"],
    "series": ["run", "series.yaml", "--quiet", "--out", "out"],
    "sweep": ["sweep", "sweep.yaml", "--quiet", "--out", "out", "--threads", "2"],
    "predict csv": ["predict", "model", "houses.csv", "--output", "predicted.csv"],
    "predict parquet": ["predict", "model", "houses.parquet", "--output", "predicted.parquet"],
    "preview": ["preview", "houses.parquet"],
    "validate": ["validate", "sweep.yaml"],
    "list": ["runs", "list", "--out", "earlier"],
}

def prepare(program_path, folder):
    """A folder with everything that the work needs."""
    (folder / "houses.csv").write_text(TABLE)
    (folder / "run.yaml").write_text(CARDS.replace("RATE", "0.01"))
    (folder / "series.yaml").write_text(SERIES)
    kept = CARDS.replace("checkpoint_seconds: 0", f"checkpoint_seconds: 0, keep_last: 1, keep_best: {crash.BEST}")
    (folder / "best.yaml").write_text(kept.replace("RATE", "0.01"))
    searched = CARDS.replace("RATE", "{grid: [0.003, 0.01, 0.03]}")
    (folder / "sweep.yaml").write_text(searched + "sweep: {strategy: grid}\n")
    program = rounds.Program(program_path, folder)
    program.must("run", "run.yaml", "--quiet", "--out", "earlier")
    [run] = (folder / "earlier").glob("*_crash")
    shutil.copytree(run / "model", folder / "model")
    program.must("predict", "model", "houses.csv", "--include-features", "--output", "houses.parquet")
    return folder


def outcome(folder, finished):
    predicted = {path.name: path.read_bytes() for path in folder.glob("predicted.*")}
    return {"runs": crash.result_of(folder / "out"), "predicted": predicted, "said": finished.output}


def environment_for(options, folder, **further):
    return {"LD_PRELOAD": str(options.library.resolve()), "STOKER_INJECT_FOLDER": str(folder), **further}


def expectations(options, prepared):
    """Of each work what it comes to and how often it calls what."""
    expected = {}
    for name, words in WORK.items():
        with tempfile.TemporaryDirectory(prefix="stoker-soak-") as scratch:
            folder = pathlib.Path(scratch).resolve() / "work"
            shutil.copytree(prepared, folder)
            program = rounds.Program(options.program, folder)
            counting = environment_for(options, folder, STOKER_INJECT_COUNTS=str(folder / "counts"))
            finished = program.must(*words, environment=counting)
            counts = dict(line.split() for line in (folder / "counts").read_text().splitlines())
            expected[name] = {"calls": {key: int(value) for key, value in counts.items() if int(value) > 0},
                              "outcome": outcome(folder, finished)}
    return expected


def check_end(finished, folder, expected):
    # LibTorch's threads are libgomp's, which ends the whole process where it is refused one.
    if "libgomp: Thread creation failed" not in finished.errors:
        if finished.code not in (0, 1, 2):
            how = signal.Signals(-finished.code).name if finished.code < 0 else finished.code
            raise Fault(f"{finished}\n  ended with {how}")
        if finished.code != 0 and "stoker: " not in finished.errors:
            raise Fault(f"{finished}\n  without a word of why")
    for path in folder.glob("predicted.*"):  # a whole one, where only the last sync failed
        if path.read_bytes() != expected["predicted"][path.name]:
            raise Fault(f"{finished}\n  and left half a file of predictions")


def second_try(program, name, folder):
    """Goes on with what the first try left, or does it again."""
    sweeps = sorted((folder / "out").glob("*/sweep.yaml"))
    if name == "sweep" and sweeps:
        return program.must("sweep", "--resume", str(sweeps[0].parent), "--quiet")
    for run in crash.listed(program):
        if run.get("to_go_on"):
            return program.must("run", "--resume", run["folder"], "--quiet")
    for path in (folder / "out").glob("[!.]*"):
        shutil.rmtree(path)
    return program.must(*WORK[name])


SPLIT = "memory ran out in a step of"
CLOSE = 1e-5


def split_a_batch(finished, folder):
    """A batch in smaller parts adds up its gradient in another order."""
    records = [json.loads(path.read_text()) for path in (folder / "out").glob("*/run.json")]
    warnings = [warning for record in records for warning in record["warnings"]]
    return any(SPLIT in text for text in [finished.errors, *warnings])


def numbers_of_model(bytes_of_file):
    """The arrays of a safetensors file, all of which are float32 here."""
    [length] = struct.unpack_from("<Q", bytes_of_file)
    header = json.loads(bytes_of_file[8:8 + length])
    numbers = bytes_of_file[8 + length:]
    return {name: (list(struct.unpack(f"<{(each['data_offsets'][1] - each['data_offsets'][0]) // 4}f",
                                      numbers[slice(*each["data_offsets"])])) if each["dtype"] == "F32" else each)
            for name, each in header.items() if name != "__metadata__"}


def parsed(name, content):
    """What a file says, with numbers as numbers."""
    if not isinstance(content, bytes):
        return content
    if name.endswith(".safetensors"):
        return numbers_of_model(content)
    if name.endswith(".json"):
        return json.loads(content)
    return [line.split(",") for line in content.decode().splitlines()]


def are_close(one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            are_close(parsed(name, value), parsed(name, other[name])) for name, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(are_close(*pair) for pair in zip(one, other))
    try:
        return math.isclose(float(one), float(other), rel_tol=CLOSE, abs_tol=CLOSE)
    except (TypeError, ValueError):
        return one == other


def check_outcome(expected, found, is_close_enough=False):
    """Runs that failed stay in the list beside the one that did not; what they hold is not compared."""
    # A second try may find the training in the cache, and then has no checkpoints of its own.
    runs = {name: {what: value for what, value in kept.items()
                   if what != "the best checkpoints" or what in found["runs"].get(name, {})}
            for name, kept in expected["runs"].items()}
    difference = crash.first_difference(runs, found["runs"])
    if difference and not (is_close_enough and are_close(runs, found["runs"])):
        raise Fault(f"the second try came to another result: {difference}")
    if expected["predicted"] != found["predicted"] and not (
            is_close_enough and are_close(expected["predicted"], found["predicted"])):
        raise Fault("the second try predicted something else")


def play_round(options, prepared, expected, chance, folder):
    folder = folder.resolve() / "work"
    shutil.copytree(prepared, folder)
    name = chance.choice(sorted(WORK))
    functions = sorted(set(expected[name]["calls"]) & set(options.functions.split(","))) or ["memory"]
    function = chance.choice(functions)
    number = chance.randint(1, expected[name]["calls"][function])
    error = chance.choice(ERRORS[function])
    # A disk stays full; a machine without a byte of memory for anything is another matter.
    later = ":more" if function != "memory" and chance.random() < 0.3 else ""
    program = rounds.Program(options.program, folder)
    injected = f"{function}:{number}:{error}{later}"
    try:
        finished = program.run(*WORK[name], environment=environment_for(options, folder, STOKER_INJECT=injected))
        check_end(finished, folder, expected[name]["outcome"])
        if (folder / "out").exists():
            crash.check_whole(program, folder / "out", ["houses.csv"])
            crash.listed(program)
        was_split = split_a_batch(finished, folder)
        if finished.code != 0:
            finished = second_try(program, name, folder)
            was_split = was_split or split_a_batch(finished, folder)
        # LibTorch adds up in another order where it has fewer threads.
        if name != "series" or function != "thread":
            check_outcome(expected[name]["outcome"], outcome(folder, finished), was_split)
    except Fault as fault:
        raise Fault(f"{name} with STOKER_INJECT={injected} ({errno.errorcode[error]}):\n  {fault}") from None


def main():
    def further(parser):
        parser.add_argument("library", type=pathlib.Path, help="libstoker_inject.so")
        parser.add_argument("--functions", default=",".join(ERRORS), help="those that may fail, with commas between")

    options = rounds.options_of(__doc__, further)
    with tempfile.TemporaryDirectory(prefix="stoker-soak-") as scratch:
        prepared = prepare(options.program, pathlib.Path(scratch))
        expected = expectations(options, prepared)
        rounds.play(options, lambda chance, folder, number: play_round(options, prepared, expected, chance, folder))


if __name__ == "__main__":
    main()
