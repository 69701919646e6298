#!/usr/bin/env python3
"""Feeds the program damaged documents, tables, models, checkpoints and run folders, made from the golden files.

    tests/soak/fuzz.py build/stoker --seconds 600 --seed 1

Whatever it is given, the program ends with exit code 0, 1 or 2 and, where that is not 0, with a message; never by a
signal, and within bounds of time and memory.
"""
import pathlib
import shutil
import signal

import mutations
import rounds
from rounds import Fault

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
MOST_MEMORY = 4 << 30
NOT_TEXT = {".parquet", ".arrow", ".npy", ".gz", ".safetensors"}


def mutate_file(chance, path, others=()):
    """Two files of one kind are sometimes mixed."""
    content = path.read_bytes()
    other = chance.choice([each.read_bytes() for each in others] or [content])
    change = mutations.of_bytes if path.suffix in NOT_TEXT else mutations.of_text
    for _ in range(chance.choice([1, 1, 1, 2, 4, 16])):
        content = change(chance, content, other)
    path.write_bytes(content)


def damaged_document(chance, golden, folder):
    documents = sorted((golden / "documents").iterdir()) + sorted(golden.glob("runs/*/*.yaml"))
    chosen = chance.choice(documents)
    path = folder / ("damaged" + chosen.suffix)
    shutil.copy(chosen, path)
    mutate_file(chance, path, documents)
    return [["validate", path.name], ["validate", "--json", path.name]]


def damaged_table(chance, golden, folder):
    tables = sorted((golden / "data").iterdir())
    chosen = chance.choice(tables)
    path = folder / ("damaged" + "".join(chosen.suffixes))
    shutil.copy(chosen, path)
    mutate_file(chance, path, [each for each in tables if each.suffixes == chosen.suffixes])
    model = chance.choice(sorted(golden.glob("runs/*/model")))
    return [["preview", path.name], ["predict", str(model), path.name, "--output", "predicted.csv"]]


def damaged_model(chance, golden, folder):
    models = sorted(golden.glob("runs/*/model"))
    chosen = chance.choice(models)
    shutil.copytree(chosen, folder / "model")
    name = chance.choice(["model.json", "model.safetensors"])
    mutate_file(chance, folder / "model" / name, [model / name for model in models])
    return [["predict", "model", str(golden / "data" / "new-houses.csv")]]


def damaged_run(chance, golden, folder):
    run = chance.choice(sorted(path.parent for path in golden.glob("runs/*/run.json")))
    shutil.copytree(run, folder / "runs" / run.name)
    files = [path for path in sorted((folder / "runs").rglob("*")) if path.is_file()]
    chosen = chance.choice(files + [folder / "runs" / run.name / "run.json"] * len(files))
    mutate_file(chance, chosen)
    name = f"runs/{run.name}"
    return [["runs", "list"], ["runs", "show", name], ["runs", "compare", name, str(run), "--json"],
            ["predict", name, str(golden / "data" / "new-houses.csv")]]


def damaged_checkpoint(chance, golden, folder):
    stopped = sorted(path.parent.parent for path in golden.glob("runs/*_stopped-fused/checkpoints/train"))
    run = chance.choice(stopped)
    shutil.copytree(run, folder / "runs" / run.name)
    files = [path for path in sorted((folder / "runs").rglob("*")) if path.is_file() and "checkpoints" in path.parts]
    mutate_file(chance, chance.choice(files))
    return [["run", "--resume", f"runs/{run.name}", "--quiet"],
            ["runs", "list"]]


KINDS = [damaged_document, damaged_table, damaged_table, damaged_model, damaged_run]


def check(finished):
    if finished.code not in (0, 1, 2):
        how = signal.Signals(-finished.code).name if finished.code < 0 else f"exit code {finished.code}"
        raise Fault(f"{finished}\n  ended with {how}")
    if finished.code != 0 and "stoker: " not in finished.errors and "--json" not in finished.words:
        raise Fault(f"{finished}\n  without a word of why")


def play_round(options, golden, chance, folder):
    kind = damaged_checkpoint if chance.random() < 0.02 else chance.choice(KINDS)
    program = rounds.Program(options.program, folder, 0 if options.any_memory else MOST_MEMORY)
    for words in kind(chance, golden, folder):
        check(program.run(*words))


def main():
    def further(parser):
        parser.add_argument("--any-memory", action="store_true", help="no bound, for programs with sanitizers")

    options = rounds.options_of(__doc__, further)
    golden = max(path.parent for path in GOLDEN.glob("*/expected"))
    rounds.play(options, lambda chance, folder, number: play_round(options, golden, chance, folder))


if __name__ == "__main__":
    main()
