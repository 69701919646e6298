"""Writes schedules.json: the learning rates that torch.optim.lr_scheduler gives, step by step.

python3 schedules.py   (needs torch; made with 2.13)
"""
import json
import pathlib

import torch
from torch.optim import lr_scheduler

STEPS_PER_EPOCH, EPOCHS, RATE = 4, 12, 0.02


def optimizer():
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=RATE)


def rates(make, steps):
    sgd = optimizer()
    schedule = make(sgd)
    result = []
    for _ in range(steps):
        result.append(sgd.param_groups[0]["lr"])
        sgd.step()
        schedule.step()
    return result


def plateau(losses, patience, factor, least):
    # torch cuts after more than `patience` bad epochs, Stoker after `plateau_patience` of them.
    sgd = optimizer()
    schedule = lr_scheduler.ReduceLROnPlateau(sgd, factor=factor, patience=patience - 1, threshold=0, min_lr=least)
    result = []
    for loss in losses:
        result.append(sgd.param_groups[0]["lr"])
        sgd.step()
        schedule.step(loss)
    return result


def exponential(factor):
    # torch's schedule is stepped once an epoch.
    by_epoch = rates(lambda o: lr_scheduler.ExponentialLR(o, gamma=factor), EPOCHS)
    return [rate for rate in by_epoch for _ in range(STEPS_PER_EPOCH)]


def one_cycle(steps):
    # It allows exactly as many steps as it was made for, and reads one rate more than it takes steps.
    sgd = optimizer()
    schedule = lr_scheduler.OneCycleLR(sgd, max_lr=RATE, total_steps=steps, cycle_momentum=False)
    result = [sgd.param_groups[0]["lr"]]
    for _ in range(steps - 1):
        sgd.step()
        schedule.step()
        result.append(sgd.param_groups[0]["lr"])
    return result


total, warmup = STEPS_PER_EPOCH * EPOCHS, 3 * STEPS_PER_EPOCH
losses = [5, 4, 4.5, 4.2, 4.1, 3.9, 4, 4, 4, 4, 4, 4]
cases = {
    "steps_per_epoch": STEPS_PER_EPOCH, "epochs": EPOCHS, "learning_rate": RATE,
    "constant": rates(lambda o: lr_scheduler.ConstantLR(o, factor=1), total),
    "cosine": rates(lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=total, eta_min=0.001), total),
    "step": rates(lambda o: lr_scheduler.StepLR(o, step_size=5 * STEPS_PER_EPOCH, gamma=0.3), total),
    "warmup_cosine": rates(lambda o: lr_scheduler.SequentialLR(o, [
        lr_scheduler.LinearLR(o, start_factor=1 / warmup, total_iters=warmup - 1),
        lr_scheduler.CosineAnnealingLR(o, T_max=total - warmup, eta_min=0.001)], milestones=[warmup]), total),
    "exponential": exponential(0.8),
    "one_cycle": one_cycle(total),
    "plateau_losses": losses,
    "plateau": plateau(losses, patience=3, factor=0.1, least=0.0005),
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(cases, indent=1) + "\n")
