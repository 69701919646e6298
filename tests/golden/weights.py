"""Small trainings whose weights are kept bit for bit, all in one document: every activation, loss and
optimizer, dropout, clipping, row weights, and batches of 7, 32 and 200 rows.

Each takes some hundred steps: enough for a wrong operation to show, too few for a weight's moments to decay to
subnormal numbers, which processors may be told to take for zero."""

import documents

FEATURES = ["a", "b", "c", "d", "e"]


def table():
    lines = ["a,b,c,d,e,care,amount,answer,colour"]
    for row in range(240):
        a, b, c, d, e = row * 7 % 31 / 4, row * 11 % 29 / 8, row * 13 % 23 - 9, row * 17 % 37 / 2, row * 5 % 19 / 16
        amount = 2 * a - 3 * b + c * d / 8 + 4 * e + row * 3 % 11 / 8
        answer = "yes" if a * b + c - d / 4 + row * 19 % 7 > 6 else "no"
        colour = ("red", "green", "blue", "grey")[int(a + 2 * b + e) % 4]
        lines.append(f"{a},{b},{c},{d},{e},{1 + row % 4 / 2},{amount},{answer},{colour}")
    return "\n".join(lines) + "\n"


def trainings():
    """The network's settings, the target, and further settings of the training, by name."""
    weighted = {"weight_column": "care"}
    return {
        "relu-adam-32": ({"dropout": 0.2}, "amount", {}),
        "relu-plain-7": ({"dropout": 0, "batch_size": 7}, "amount", {}),
        "tanh-adamw-7": ({"activation": "tanh", "dropout": 0.1, "optimizer": "adamw", "weight_decay": 0.02,
                          "batch_size": 7}, "amount", {}),
        "sigmoid-sgd-200": ({"activation": "sigmoid", "dropout": 0, "optimizer": "sgd", "learning_rate": 0.05,
                             "batch_size": 200, "epochs": 100}, "amount", {}),
        "gelu-clipped-32": ({"activation": "gelu", "dropout": 0, "max_grad_norm": 0.25}, "amount", {}),
        "silu-weighted-32": ({"activation": "silu", "dropout": 0}, "amount", weighted),
        "huber-decay-7": ({"loss": "huber", "huber_delta": 0.5, "weight_decay": 0.01, "dropout": 0, "batch_size": 7},
                          "amount", {}),
        "cosine-200": ({"schedule": "cosine", "warmup_epochs": 5, "dropout": 0.1, "batch_size": 200, "epochs": 100},
                       "amount", {}),
        "odd-widths-32": ({"hidden_layers": [33, 17, 5], "dropout": 0.3, "activation": "tanh"}, "amount", {}),
        "binary-32": ({"dropout": 0.1}, "answer", {}),
        "binary-weighted-7": ({"activation": "silu", "dropout": 0, "batch_size": 7, "max_grad_norm": 1}, "answer",
                              weighted),
        "classes-7": ({"dropout": 0.2, "activation": "gelu", "batch_size": 7}, "colour", {}),
        "classes-sgd-200": ({"optimizer": "sgd", "momentum": 0.8, "learning_rate": 0.1, "dropout": 0,
                             "batch_size": 200, "epochs": 100, "max_grad_norm": 0.5}, "colour", weighted),
        "validated-32": ({"dropout": 0.1, "validation_ratio": 0.25}, "amount", {}),
    }


def cards():
    result = {"load": {"type": "data_load", "config": documents.file("amounts.csv")}}
    for name, (settings, target, further) in trainings().items():
        card = name.replace("-", "_")
        whole = {"hidden_layers": [16, 8], "epochs": 12, "learning_rate": 0.01, **settings}
        result["model_" + card] = {"type": "model_define_gpu", "config": whole}
        result["train_" + card] = documents.train(target, split="load.dataset", model=f"model_{card}.model_spec",
                                                  feature_columns=FEATURES, **further)
    return result


def keep(run_folder, target_folder):
    """The weights of each training, under its name."""
    first, *others = trainings()
    target_folder.mkdir(parents=True)
    folders = {name: run_folder / f"model-train_{name.replace('-', '_')}" for name in others}
    for name, folder in {first: run_folder / "model", **folders}.items():
        (target_folder / f"{name}.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
