"""Expected losses and weights of small networks, from PyTorch: writes engine_mlp.json beside this file.

The rows' order and the dropout masks are those of base/random.h, written out again here, so that both sides
train on the same batches. Run with a Python that has torch.
"""
import json
import math
import pathlib

import torch

torch.set_num_threads(1)
WORD = 0xFFFFFFFF
SHUFFLE, DROPOUT = 1, 2


def mix(x):
    x ^= x >> 16
    x = x * 0x7FEB352D & WORD
    x ^= x >> 15
    x = x * 0x846CA68B & WORD
    return x ^ x >> 16


def random_key(seed, purpose, step):
    low = mix((seed + 0x9E3779B9 * purpose) & WORD)
    high = mix((seed >> 32) ^ low)
    first = mix((step & WORD) ^ high)
    return first, mix(((step >> 32) + first + 0x85EBCA6B) & WORD)


def random_bits(key, index):
    x = (index * 0x9E3779B9 + key[0]) & WORD
    x ^= x >> 16
    x = x * 0x7FEB352D & WORD
    x ^= (x >> 15) ^ key[1]
    x = x * 0x846CA68B & WORD
    return x ^ x >> 16


def permutation(key, size):
    half = 1
    while 1 << 2 * half < size:
        half += 1
    mask = (1 << half) - 1

    def encrypt(x):
        left, right = x >> half, x & mask
        for turn in range(6):
            left, right = right, (left ^ random_bits(((key[0] + turn) & WORD, key[1]), right)) & mask
        return left << half | right

    order = []
    for position in range(size):
        position = encrypt(position)
        while position >= size:
            position = encrypt(position)
        order.append(position)
    return order


def dropout_mask(seed, step, layer, rows, width, probability):
    key = random_key(seed, DROPOUT, step | layer << 48)
    threshold = int(probability * 65536 + 0.5)
    values = []
    for element in range(rows * width):
        bits = random_bits(key, element // 2)
        half = bits >> 16 if element % 2 else bits & 0xFFFF
        values.append(0.0 if half < threshold else 1 / (1 - probability))
    return torch.tensor(values).reshape(rows, width)


ROWS, VALIDATION_ROWS, COLUMNS, BATCH, EPOCHS, SEED = 23, 9, 3, 5, 4, 77
HIDDEN = [7, 5]
STEPS = math.ceil(ROWS / BATCH)
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
               "gelu": torch.nn.functional.gelu, "silu": torch.nn.functional.silu}

DEFAULTS = {"activation": "relu", "loss": "mse", "optimizer": "adam", "momentum": 0, "weight_decay": 0,
            "max_grad_norm": 0, "dropout": 0, "rate": 0.01, "huber_delta": 1, "weighted": False}
CASES = [
    {"name": "relu"},
    {"name": "tanh", "activation": "tanh"},
    {"name": "sigmoid", "activation": "sigmoid"},
    {"name": "gelu", "activation": "gelu"},
    {"name": "silu", "activation": "silu"},
    {"name": "binary_cross_entropy", "loss": "binary_cross_entropy"},
    {"name": "cross_entropy", "loss": "cross_entropy"},
    {"name": "adam_with_weight_decay", "weight_decay": 0.1},
    {"name": "adamw", "optimizer": "adamw", "weight_decay": 0.5},
    {"name": "sgd", "optimizer": "sgd", "rate": 0.1},
    {"name": "sgd_with_momentum_and_weight_decay", "optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.05},
    {"name": "sgd_clipped", "optimizer": "sgd", "rate": 0.2, "max_grad_norm": 0.3},
    {"name": "adam_clipped", "max_grad_norm": 0.05},
    {"name": "dropout", "dropout": 0.25, "activation": "gelu"},
    {"name": "huber", "loss": "huber", "huber_delta": 0.4},
    {"name": "weighted_mse", "weighted": True},
    {"name": "weighted_huber", "loss": "huber", "huber_delta": 0.6, "weighted": True, "optimizer": "sgd", "rate": 0.1},
    {"name": "weighted_binary_cross_entropy", "loss": "binary_cross_entropy", "weighted": True},
    {"name": "weighted_cross_entropy", "loss": "cross_entropy", "weighted": True, "max_grad_norm": 0.4},
    {"name": "everything", "activation": "tanh", "loss": "cross_entropy", "optimizer": "adamw",
     "weight_decay": 0.1, "max_grad_norm": 0.4, "dropout": 0.5},
]


def rounded(tensor):
    return [round(value, 4) for value in tensor.flatten().tolist()]


def make_data(generator):
    features = torch.tensor(rounded(torch.randn(ROWS + VALIDATION_ROWS, COLUMNS, generator=generator)))
    features = features.reshape(-1, COLUMNS)
    noise = torch.randn(len(features), generator=generator)
    value = features[:, 0] * features[:, 1] - features[:, 2] + 0.3 * noise
    return features, {
        "mse": torch.tensor(rounded(value)).reshape(-1, 1),
        "huber": torch.tensor(rounded(value)).reshape(-1, 1),
        "binary_cross_entropy": (value > 0).float().reshape(-1, 1),
        "cross_entropy": (value > -0.5).long() + (value > 0.7).long(),
    }


def make_weights(outputs, generator):
    widths = [COLUMNS, *HIDDEN, outputs]
    weights = {}
    for i, (inputs, width) in enumerate(zip(widths, widths[1:])):
        weights[f"layers.{i}.weight"] = torch.tensor(
            rounded(torch.randn(width, inputs, generator=generator) / math.sqrt(inputs))).reshape(width, inputs)
        weights[f"layers.{i}.bias"] = torch.tensor(rounded(0.1 * torch.randn(width, generator=generator)))
    return weights


def outputs_of(weights, features, case, step=None):
    values = features
    for layer in range(len(HIDDEN) + 1):
        values = torch.nn.functional.linear(values, weights[f"layers.{layer}.weight"],
                                            weights[f"layers.{layer}.bias"])
        if layer == len(HIDDEN):
            return values
        values = ACTIVATIONS[case["activation"]](values)
        if step is not None and case["dropout"] > 0:
            values = values * dropout_mask(SEED, step, layer, *values.shape, case["dropout"])


def loss_of(outputs, targets, case, rows):
    functions = torch.nn.functional
    losses = {
        "mse": lambda: functions.mse_loss(outputs, targets, reduction="none"),
        "huber": lambda: functions.huber_loss(outputs, targets, reduction="none", delta=case["huber_delta"]),
        "binary_cross_entropy": lambda: functions.binary_cross_entropy_with_logits(outputs, targets, reduction="none"),
        "cross_entropy": lambda: functions.cross_entropy(outputs, targets, reduction="none"),
    }[case["loss"]]().reshape(-1)
    return (losses * row_weights[rows]).mean() if case["weighted"] else losses.mean()


def make_optimizer(weights, case):
    settings = {"lr": 1, "weight_decay": case["weight_decay"]}
    if case["optimizer"] == "sgd":
        return torch.optim.SGD(weights.values(), momentum=case["momentum"], **settings)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[case["optimizer"]](weights.values(), **settings)


def train(case, features, targets):
    weights = make_weights(3 if case["loss"] == "cross_entropy" else 1, torch.Generator().manual_seed(2))
    case["initial"] = {name: tensor.flatten().tolist() for name, tensor in weights.items()}
    weights = {name: tensor.clone().requires_grad_() for name, tensor in weights.items()}
    optimizer = make_optimizer(weights, case)
    case["learning_rates"] = [round(case["rate"] * (1 + 0.5 * math.cos(step)), 6) for step in range(EPOCHS * STEPS)]
    case["train_losses"], case["validation_losses"] = [], []
    for epoch in range(EPOCHS):
        order = permutation(random_key(SEED, SHUFFLE, epoch), ROWS)
        total = 0
        for batch in range(STEPS):
            rows = order[batch * BATCH:(batch + 1) * BATCH]
            step = epoch * STEPS + batch
            optimizer.param_groups[0]["lr"] = case["learning_rates"][step]
            optimizer.zero_grad()
            loss = loss_of(outputs_of(weights, features[rows], case, step), targets[rows], case, rows)
            loss.backward()
            if case["max_grad_norm"] > 0:
                torch.nn.utils.clip_grad_norm_(weights.values(), case["max_grad_norm"])
            optimizer.step()
            total += loss.item() * len(rows)
        case["train_losses"].append(total / ROWS)
        with torch.no_grad():
            case["validation_losses"].append(
                loss_of(outputs_of(weights, features[ROWS:], case), targets[ROWS:], case,
                        slice(ROWS, None)).item())
    case["final"] = {name: tensor.flatten().tolist() for name, tensor in weights.items()}
    return case


def short(value):
    """float32 keeps about 7 digits; 8 in the file lose nothing."""
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, list):
        return [short(item) for item in value]
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return value


features, targets = make_data(torch.Generator().manual_seed(1))
row_weights = torch.tensor(rounded(2 * torch.rand(len(features), generator=torch.Generator().manual_seed(3))))
document = {
    "made_by": f"tests/reference/engine_mlp.py with torch {torch.__version__.split('+')[0]}",
    "rows": ROWS, "validation_rows": VALIDATION_ROWS, "columns": COLUMNS, "batch": BATCH, "epochs": EPOCHS,
    "seed": SEED, "hidden": HIDDEN,
    "features": features.flatten().tolist(),
    "row_weights": row_weights.tolist(),
    "targets": {name: values.flatten().tolist() for name, values in targets.items()},
    "cases": [train({**DEFAULTS, **case}, features, targets[case.get("loss", "mse")]) for case in CASES],
}
path = pathlib.Path(__file__).with_name("engine_mlp.json")
text = json.dumps(short(document)).replace('{"name"', '\n{"name"')
path.write_text(text + "\n")
