#!/usr/bin/env python3
"""Every numeric setting of a document is either accepted, or rejected with exit code 2 and its name and range.

    tests/cli/numeric_settings.py build/stoker [CARD.SETTING ...]

The settings are those of `stoker cards --reference`, so that a new one is tested too. What `stoker validate` accepts
is run: it must end with 0 or 2, in time.
"""
import concurrent.futures
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

VALUES = [".nan", ".inf", "-1", "1e30", "1e999", "1" + 30 * "0"]
RUN_SECONDS = 300

# Other settings that one needs in order to count.
NEEDS = {
    "huber_delta": {"loss": "huber"}, "quantile": {"loss": "quantile"}, "momentum": {"optimizer": "sgd"},
    "min_learning_rate": {"schedule": "cosine"}, "step_epochs": {"schedule": "step"},
    "step_factor": {"schedule": "step"}, "epoch_factor": {"schedule": "exponential"},
    "plateau_patience": {"schedule": "plateau", "validation_ratio": 0.2},
    "early_stopping_patience": {"validation_ratio": 0.2}, "early_stopping_min_delta": {
        "validation_ratio": 0.2, "early_stopping_patience": 3},
    "embedding_width": {"number_embedding": "periodic"}, "embedding_frequencies": {"number_embedding": "periodic"},
    "embedding_frequency_scale": {"number_embedding": "periodic"},
    "embedding_bins": {"number_embedding": "piecewise_linear"}, "pooling_dropout": {"pooling": "attention"},
    "weights": {"combining": "weighted"}, "threshold": {"answer": "direction"},
    "importance_repeats": {"importance": True}, "importance_seed": {"importance": True},
}
SERIES = ["lstm", "gru", "transformer", "temporal_mlp", "cnn1d"]
STEP_CARDS = "training_"


def card(kind, inputs=None, **config):
    return {"type": kind, "inputs": inputs or {}, "config": config}


def network(**more):
    return card("model_define_gpu", epochs=2, batch_size=32, **more)


def training(source):
    return card("train", {"train_dataset": "split.train_dataset", "model_spec": f"{source}.model_spec"},
                target_column="y", device="cpu")


def table_document(model, classes=False):
    load = card("data_load", source="sample", sample_name="blobs" if classes else "friedman", sample_rows=120)
    train = training("model")
    train["config"]["target_column"] = "label" if classes else "y"
    return {"load": load, "split": card("data_split", {"dataset": "load.dataset"}), "model": model, "train": train,
            "evaluate": card("evaluate", {"trained_model": "train.trained_model",
                                          "test_dataset": "split.test_dataset"})}


def series_document(model):
    made = table_document(model)
    made["load"] = card("data_load", source="csv", path="wave.csv")
    made["windows"] = card("windows", {"dataset": "load.dataset"}, length=6, horizon=1, target_column="y",
                           time_column="hour")
    made["split"]["inputs"] = {"dataset": "windows.dataset"}
    return made


def set_document(model):
    made = table_document(model)
    made["load"] = card("data_load", source="sample", sample_name="uhf_mixed", sample_rows=200)
    made["train"]["config"].update(target_column="position", feature_columns=["receivers"], mask_column="present")
    return made


def cube_document():
    made = table_document(network(model_type="node_graph", nodes=[
        {"name": "data", "type": "CubeDataNode"}, {"name": "rx", "type": "RXGlobal"}],
        connections=[{"source": "data.cube", "target": "rx.data"}]))
    made["load"] = card("data_load", source="sample", sample_name="spectral_stress", sample_rows=6)
    made["train"]["config"] = {"device": "cpu"}
    return made


def step_document():
    made = table_document(network())
    del made["train"], made["evaluate"]
    made["training_prepare_batch"] = card("training_prepare_batch", {"train_dataset": "split.train_dataset"},
                                          target_column="y")
    made["training_build_model"] = card("training_build_model", {
        "model_spec": "model.model_spec", "batch_data": "training_prepare_batch.batch_data"})
    made["training_init_optimizer"] = card("training_init_optimizer", {"model": "training_build_model.model"})
    made["zero"] = card("training_zero_grad", {"optimizer": "training_init_optimizer.optimizer"})
    made["training_forward"] = card("training_forward", {
        "model": "training_init_optimizer.model", "batch_data": "training_prepare_batch.batch_data"})
    made["training_loss"] = card("training_loss", {
        "predictions": "training_forward.predictions", "batch_data": "training_prepare_batch.batch_data"})
    made["backward"] = card("training_backward", {"loss": "training_loss.loss", "model": "training_forward.model"})
    made["training_optimizer_step"] = card("training_optimizer_step", {
        "optimizer": "zero.optimizer", "model": "backward.model"})
    return made


def ensemble_document():
    made = table_document(network())
    made["other"], made["train_other"] = network(seed=7), training("other")
    made["ensemble"] = card("ensemble", {"models": ["train.trained_model", "train_other.trained_model"]})
    made["evaluate"]["inputs"]["trained_model"] = "ensemble.trained_model"
    return made


def solved_document(family):
    kind = family or "ridge"
    model = card("model_define", model_type=kind, hyperparameters={})
    return table_document(model, classes=kind == "logistic_regression")


def network_document(family):
    model = network(model_type=family or "neural_network")
    if family in SERIES:
        return series_document(model)
    return set_document(model) if family == "triangulation" else table_document(model)


def document_for(section, family):
    """The cards of a small document, and the path of the map that has the settings."""
    if section in ("The document", "A card"):
        return table_document(network()), [] if section == "The document" else ["cards", "train"]
    if section == "A sweep":
        return table_document(network(learning_rate={"choice": [0.001, 0.01]}, validation_ratio=0.2)), ["sweep"]
    if section == "model_define":
        return solved_document(family), ["cards", "model", "config"] + (["hyperparameters"] if family else [])
    if section == "model_define_gpu":
        made = cube_document() if family == "node_graph" else network_document(family)
        return made, ["cards", "model", "config"]
    if section.startswith(STEP_CARDS):
        return step_document(), ["cards", section, "config"]
    made = {"windows": lambda: series_document(network()), "ensemble": ensemble_document}.get(
        section, lambda: table_document(network()))()
    names = {"data_load": "load", "data_split": "split", "train_gpu": "train"}
    name = names.get(section, section)
    if section == "windows":
        made["windows"]["config"]["layout"] = "columns"
    if section == "data_filter":
        made[name] = card(section, {"dataset": "load.dataset"})
        made["split"]["inputs"]["dataset"] = "data_filter.dataset"
    if section == "train_gpu":
        made["train"]["type"] = section
    return made, ["cards", name, "config"]


def settings(reference):
    """Section, family ("" for none), name and type of each numeric setting."""
    section = family = ""
    for line in reference.splitlines():
        if line.startswith("## "):
            section, family = line[3:].strip(), ""
        elif found := re.match(r"(?:Hyperparameters|Settings) of `(\w+)`:", line):
            family = found[1]
        elif found := re.match(r"\| `([\w.]+)` \| ((?:list of )?(?:whole )?numbers?)(?: or `\w+`)? \|", line):
            yield section, family, found[1], found[2]


def documents_of(section, family, name, kind):
    """One document for each value, as text."""
    cards, path = document_for(section, family)
    whole = {"version": 2, "name": "numbers", "cards": cards}
    place = whole
    for part in path:
        place = place.setdefault(part, {})
    place.update(copy.deepcopy(NEEDS.get(name, {})))
    *groups, last = name.split(".")
    for group in groups:
        place = place.setdefault(group, {})
    place[last] = ["@VALUE@"] if kind.startswith("list") else "@VALUE@"
    for value in VALUES:
        yield value, json.dumps(whole).replace('"@VALUE@"', value)


def stoker(words, folder):
    return subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True, timeout=RUN_SECONDS,
                          env={**os.environ, "COLUMNS": "200"}, stdin=subprocess.DEVNULL)


def problem_with(setting, value, text, folder):
    section, family, name, _ = setting
    what = ".".join(filter(None, [section, family, name])) + ": " + value
    file = Path(folder) / (re.sub(r"\W", "_", what) + ".yaml")
    file.write_text(text)
    try:
        done = stoker(["validate", file.name], folder)
        ran = ""
        if done.returncode == 0:
            command = "sweep" if section == "A sweep" else "run"
            done, ran = stoker([command, file.name, "--no-cache"], folder), " (accepted by validate)"
            if done.returncode in (0, 2):
                return None, True
        elif name.split(".")[-1] not in done.stderr:
            return f"{what}: the error does not name the setting: {done.stderr.strip()[:200]!r}", False
    except subprocess.TimeoutExpired as late:
        return f"{what}: {late.cmd[1]} has not ended after {RUN_SECONDS} s", True
    finally:
        file.unlink()
    if done.returncode == 2:
        return None, False
    return f"{what}: exit code {done.returncode}{ran}, {done.stderr.strip()[-300:]!r}", bool(ran)


def main():
    wanted = sys.argv[2:]
    found = [each for each in settings(stoker(["cards", "--reference"], "/").stdout)
             if not wanted or f"{each[0]}.{each[2]}" in wanted]
    problems = [] if wanted or len(found) > 180 else [f"the reference has only {len(found)} numeric settings"]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        Path(folder, "wave.csv").write_text("hour,y\n" + "".join(f"{i},{i % 24 * (24 - i % 24)}\n" for i in range(90)))
        asked = [pool.submit(problem_with, setting, value, text, folder)
                 for setting in found for value, text in documents_of(*setting)]
        answers = [each.result() for each in asked]
    problems += [problem for problem, _ in answers if problem]
    print(f"{len(found)} numeric settings, {len(answers)} documents, {sum(ran for _, ran in answers)} of them run")
    for each in problems:
        print(each)
    return 1 if problems else 0


PROGRAM = os.path.abspath(sys.argv[1])
if __name__ == "__main__":
    sys.exit(main())
