"""Writes steps.json: label smoothing, Adam and clipping as torch has them, and lion as its paper does, in 64 bits.

python3 steps.py   (needs torch; made with 2.13)
"""
import json
import pathlib

import torch

torch.set_default_dtype(torch.float64)


def smoothed_classes(smoothing):
    logits = torch.tensor([[0.3, -1.2, 2.0], [1.5, 0.2, -0.7], [-0.4, 0.9, 0.1]], requires_grad=True)
    targets = torch.tensor([2, 1, 0])
    rows = torch.nn.functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="none")
    rows.mean().backward()
    return {"logits": logits.flatten().tolist(), "targets": targets.tolist(), "smoothing": smoothing,
            "losses": rows.tolist(), "gradients": logits.grad.flatten().tolist()}


def smoothed_binary(smoothing):
    logits = torch.tensor([0.8, -1.7, 2.5], requires_grad=True)
    targets = torch.tensor([1.0, 0.0, 0.0])
    soft = targets * (1 - smoothing) + smoothing / 2
    rows = torch.nn.functional.binary_cross_entropy_with_logits(logits, soft, reduction="none")
    rows.mean().backward()
    return {"logits": logits.tolist(), "targets": targets.tolist(), "smoothing": smoothing,
            "losses": rows.tolist(), "gradients": logits.grad.tolist()}


def lion(rate, beta1, beta2, decay):
    # Chen et al. 2023, algorithm 2.
    weights = torch.tensor([0.5, -0.25, 1.0, 0.0])
    momentum = torch.zeros(4)
    gradients = [torch.tensor([0.1 * (i + 1), -0.2, 0.3 * (-1) ** i, 0.0]) for i in range(5)]
    result = {"weights": weights.tolist(), "rate": rate, "beta1": beta1, "beta2": beta2, "decay": decay,
              "gradients": [each.tolist() for each in gradients]}
    for gradient in gradients:
        direction = torch.sign(beta1 * momentum + (1 - beta1) * gradient)
        weights = weights - rate * (direction + decay * weights)
        momentum = beta2 * momentum + (1 - beta2) * gradient
    return result | {"after": weights.tolist(), "momentum": momentum.tolist()}


def adam(is_decoupled, rate, decay, max_norm):
    weights = torch.nn.Parameter(torch.tensor([0.5, -0.25, 1.0, 0.0]))
    kind = torch.optim.AdamW if is_decoupled else torch.optim.Adam
    optimizer = kind([weights], lr=rate, weight_decay=decay)
    gradients = [torch.tensor([0.1 * (i + 1), -0.2, 0.3 * (-1) ** i, 0.01]) for i in range(5)]
    result = {"weights": weights.tolist(), "rate": rate, "decay": decay, "is_decoupled": is_decoupled,
              "max_norm": max_norm, "gradients": [each.tolist() for each in gradients]}
    for gradient in gradients:
        weights.grad = gradient.clone()
        torch.nn.utils.clip_grad_norm_([weights], max_norm)
        optimizer.step()
    return result | {"after": weights.tolist()}


cases = {"adam": adam(False, 0.01, 0.1, 0.4), "adamw": adam(True, 0.01, 0.1, 0.4), "classes": smoothed_classes(0.1), "binary": smoothed_binary(0.2), "lion": lion(0.01, 0.9, 0.99, 0.1)}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(cases, indent=1) + "\n")
