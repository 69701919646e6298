"""The golden documents: every model type, task and source, and the ways to prepare a table."""

import json

HOUSE_COLUMNS = ["rooms", "area", "kind", "heated", "district"]


def file(name, **settings):
    return {"source": "file", "path": "../data/" + name, **settings}


def sample(name, rows):
    return {"source": "sample", "sample_name": name, "sample_rows": rows}


def linear(model_type, **hyperparameters):
    return {"type": "model_define", "config": {"model_type": model_type, "hyperparameters": hyperparameters}}


def network(hidden_layers, epochs, **settings):
    layers = {"hidden_layers": hidden_layers} if hidden_layers else {}
    return {"type": "model_define_gpu", "config": {**layers, "epochs": epochs, **settings}}


def train(target, split="split.train_dataset", model="model.model_spec", **settings):
    return {"type": "train", "inputs": {"train_dataset": split, "model_spec": model},
            "config": {"target_column": target, "device": "cpu", **settings}}


def evaluate(trained="train.trained_model"):
    return {"type": "evaluate", "inputs": {"trained_model": trained, "test_dataset": "split.test_dataset"}}


def cards(load, model, training, split=None):
    return {
        "load": {"type": "data_load", "config": load},
        "split": {"type": "data_split", "inputs": {"dataset": "load.dataset"}, "config": split or {}},
        "model": model,
        "train": training,
        "evaluate": evaluate(),
    }


def finished():
    """Documents whose runs come to their end, by name."""
    houses = {"feature_columns": HOUSE_COLUMNS}
    text = {"text_columns": ["district"]}
    documents = {
        "linear-csv": cards(file("houses.csv", **text), linear("linear_regression"), train("price", **houses)),
        "ridge-tsv": cards(file("houses.tsv"), linear("ridge", alpha=0.5),
                           train("price", scaling="minmax", categorical_encoding="ordinal", **houses)),
        "lasso-parquet": cards(file("houses.parquet"), linear("lasso", alpha=0.3),
                               train("price", scaling="standard", **houses)),
        "ridge-cv-arrow": cards(file("houses.arrow"), linear("ridge_cv"), train("price", **houses),
                                {"group_column": "street"}),
        "lasso-cv-npy": cards(file("numbers.npy"), linear("lasso_cv", folds=3), train("c3", task="regression")),
        "ridge-url": cards({"source": "url", "url": "@URL@/houses.csv.gz"}, linear("ridge"), train("price", **houses)),
        "network-csv": cards(
            file("houses.csv", **text),
            network([12, 6], 40, activation="silu", dropout=0.1, learning_rate=0.01, batch_size=8, schedule="cosine",
                    warmup_epochs=2, validation_ratio=0.2, early_stopping_patience=15),
            train("price", weight_column="care", **houses), {"group_column": "street"}),
        "network-unscaled": cards(sample("boston_housing", 120),
                                  network([6], 5, activation="tanh", dropout=0, optimizer="sgd", learning_rate=1e-4),
                                  train("MEDV", scaling="none")),
        "deep-sample": cards(sample("boston_housing", 150), network([], 4, model_type="deep_neural_network"),
                             train("MEDV")),
        "binary-tsv": cards(file("houses.tsv"), network([8], 20, dropout=0, batch_size=8, learning_rate=0.01),
                            train("sold", scaling="minmax", categorical_encoding="ordinal", **houses),
                            {"stratify_column": "sold"}),
        "multiclass-parquet": cards(file("houses.parquet"), network([8], 20, dropout=0, learning_rate=0.02),
                                    train("kind", feature_columns=["rooms", "area", "heated", "price"])),
        "network-eager": cards(file("houses.arrow"),
                               network([6], 6, activation="gelu", loss="huber", optimizer="adamw", weight_decay=0.01),
                               train("price", engine="eager", **houses)),
        "classes-eager": cards(sample("blobs", 200), network([6], 3, batch_size=50), train("label", engine="eager"),
                               {"stratify_column": "label"}),
    }
    documents.update({
        "logistic-csv": cards(file("houses.csv", **text), linear("logistic_regression", C=0.5),
                              train("sold", feature_columns=["rooms", "area", "kind", "price"])),
        "logistic-classes": cards(file("houses.parquet"), linear("logistic_regression"),
                                  train("kind", feature_columns=["rooms", "area", "heated", "price"])),
        "residual-csv": cards(file("houses.csv", **text),
                              {"type": "model_define_gpu", "config": {
                                  "model_type": "residual_mlp", "width": 8, "block_width": 12, "blocks": 2,
                                  "epochs": 10, "batch_size": 8}},
                              train("price", **houses)),
        "network-by-metric": cards(
            file("houses.tsv"),
            network([8], 30, dropout=0, batch_size=8, learning_rate=0.01, validation_ratio=0.25,
                    early_stopping_patience=8, early_stopping_metric="macro_f1"),
            train("sold", categorical_encoding="ordinal", **houses), {"stratify_column": "sold"}),
    })
    documents["two-trainings"] = {
        **cards(file("houses.csv"), linear("ridge"), train("price", **houses)),
        "other": network([4], 4, batch_size=16),
        "train_other": train("price", model="other.model_spec", missing_values="impute", **houses),
        "evaluate_other": evaluate("train_other.trained_model"),
        "predict": {"type": "inference", "inputs": {"trained_model": "train_other.trained_model",
                                                    "dataset": "split.test_dataset"},
                    "config": {"include_features": False, "target_column": "predicted_price"}},
    }
    return documents


def failed():
    """A document whose training comes to nothing."""
    steep = network([6], 30, dropout=0, optimizer="sgd", learning_rate=1e6)
    return {"diverged": cards(sample("boston_housing", 120), steep, train("MEDV", scaling="none"))}


def stopped():
    """Documents that take a while, to be interrupted and killed on the way. Their tables are samples: a run
    folder knows files by absolute paths, and what a sweep may be gone on with depends on them."""
    few_tests = {"train_ratio": 0.95, "test_ratio": 0.05}
    long = network([16, 8], 60, activation="tanh", dropout=0.1, learning_rate=0.002, batch_size=4, validation_ratio=0.1)
    long_eager = network([8], 40, activation="tanh", dropout=0.1, learning_rate=0.002, batch_size=32)
    often = {"checkpoint_seconds": 0}
    return {
        "stopped-fused": cards(sample("friedman", 3000), long, train("y", **often), few_tests),
        "stopped-eager": cards(sample("friedman", 1200), long_eager, train("y", engine="eager", **often), few_tests),
    }


def sweeps():
    """Documents of sweeps with their section `sweep`."""
    small = {"dropout": 0, "batch_size": 16, "validation_ratio": 0.2}
    few_tests = {"train_ratio": 0.9, "test_ratio": 0.1}
    alphas = {"grid": [0.1, 1, 10]}
    rates = {"log_uniform": [0.001, 0.05]}
    long = network([8], 27, **{**small, "batch_size": 2}, learning_rate=rates, activation={"choice": ["tanh", "relu"]})
    return {
        "grid-folds": (cards(file("houses.csv"), linear("ridge", alpha=alphas),
                             train("price", feature_columns=HOUSE_COLUMNS)),
                       {"strategy": "grid", "folds": 3, "metric": "rmse"}),
        "random-classes": (cards(sample("blobs", 300),
                                 network({"choice": [[4], [8, 4]]}, 6, **small, learning_rate=rates), train("label"),
                                 few_tests),
                           {"strategy": "random", "models": 4, "metric": "accuracy"}),
        "halving-network": (cards(sample("friedman", 300), network([6], 9, **small, learning_rate=rates), train("y"),
                                  few_tests),
                            {"strategy": "halving", "models": 9, "factor": 3, "min_epochs": 1}),
        "stopped-halving": (cards(sample("friedman", 1500), long, train("y", checkpoint_seconds=0), few_tests),
                            {"strategy": "halving", "models": 12, "factor": 2, "min_epochs": 3}),
        "stopped-grid": (cards(sample("friedman", 1500), {**long, "config": {**long["config"], "learning_rate": {
            "grid": [0.002, 0.004, 0.008, 0.016]}}}, train("y", checkpoint_seconds=0), few_tests),
                         {"strategy": "grid"}),
    }


def yaml(name, card_map, sweep=None):
    """JSON's braces are YAML too; a card to a line can be read."""
    lines = ["version: 1", f"name: {name}", "cards:"]
    lines += [f"  {key}: {json.dumps(value)}" for key, value in card_map.items()]
    if sweep:
        lines.append(f"sweep: {json.dumps(sweep)}")
    return "\n".join(lines) + "\n"


def seed_form():
    """A document of the first form, with nodes and edges."""
    nodes = [("load", "data_load", {"source": "csv", "path": "../data/houses.csv"}),
             ("split", "data_split", {"train_ratio": 0.8, "test_ratio": 0.2, "random_seed": 42}),
             ("model", "model_define", {"model_type": "ridge", "hyperparameters": {"alpha": 1.0}}),
             ("train", "train", {"target_column": "price", "feature_columns": HOUSE_COLUMNS}),
             ("evaluate", "evaluate", {})]
    edges = ["load.dataset split.dataset", "split.train_dataset train.train_dataset",
             "model.model_spec train.model_spec", "train.trained_model evaluate.trained_model",
             "split.test_dataset evaluate.test_dataset"]
    ends = [[end.split(".") for end in edge.split()] for edge in edges]
    return json.dumps({
        "pipeline_id": "seed-form",
        "nodes": [{"id": key, "type": kind, "config": config, "position": {"x": 260 * i, "y": 0}}
                  for i, (key, kind, config) in enumerate(nodes)],
        "edges": [{"source": a, "source_output": b, "target": c, "target_input": d} for (a, b), (c, d) in ends],
    }, indent=1) + "\n"
