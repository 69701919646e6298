"""examples/spectral_stress.yaml as a plain NumPy and torch script: the same cubes, split, graph and settings.

The cubes and the split are those of a run of Stoker, from its cache, so that both look at the same pixels:

    stoker run examples/spectral_stress.yaml --out spectral
    python bench/peers/spectral_stress.py --cache spectral/.cache --threads 2 --seeds 5

The time of the script begins with the cubes in memory: reading or making them is not part of it.
"""

import argparse
import glob
import json
import time

import numpy as np
import pyarrow as pa
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--cache", required=True, help="folder with the cache of the run")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--seeds", type=int, default=1)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--rate", type=float, default=0.01)
args = parser.parse_args()
torch.set_num_threads(args.threads)


def tables():
    """Names of the cubes in every table of the cache, by the number of rows."""
    found = {}
    for path in glob.glob(f"{args.cache}/**/*.arrow", recursive=True):
        with pa.memory_map(path) as source:
            table = pa.ipc.open_file(source).read_all()
        if "cube" in table.column_names:
            found[table.num_rows] = table.column("cube").to_pylist()
    return found


def average_precision(scores, marks):
    order = np.argsort(-scores, kind="stable")
    scores, marks = scores[order], marks[order]
    hits = np.cumsum(marks)
    last = np.append(np.nonzero(np.diff(scores))[0], len(scores) - 1)  # of equal scores
    precision = hits[last] / (last + 1)
    return float(np.sum(np.diff(np.append(0, hits[last])) / hits[-1] * precision))


def covariance(chunks):
    rows, mean, products = 0, 0.0, 0.0
    for chunk in chunks:
        own = chunk.mean(0, dtype=np.float64)
        centred = chunk - own.astype(np.float32)
        delta = own - mean
        count = len(chunk)
        products = products + (centred.T @ centred).astype(np.float64) + np.outer(delta, delta) * (
            rows * count / (rows + count)
        )
        mean = mean + delta * count / (rows + count)
        rows += count
    return mean, products / (rows - 1)


def axes(cov, count):
    values, vectors = np.linalg.eigh(cov)
    chosen = vectors[:, np.argsort(-values)[:count]].T
    return chosen * np.sign(chosen[np.arange(count), np.abs(chosen).argmax(1)])[:, None]


def statistics(cubes):
    """As the seed has it, a pass over the pixels for each node; one scan after the other."""
    flat = [cube.reshape(-1, cube.shape[-1]) for cube in cubes]
    low = np.min([each.min(0) for each in flat], 0)
    width = np.maximum(np.max([each.max(0) for each in flat], 0) - low, 1e-6)

    def scaled():
        return ((each - low) / width for each in flat)

    mean1, cov1 = covariance(scaled())
    first = axes(cov1, 20)

    def projected():
        return ((each - mean1.astype(np.float32)) @ first.T.astype(np.float32) for each in scaled())

    mean2, cov2 = covariance(projected())
    second = axes(cov2, 10)

    def again():
        return ((each - mean2.astype(np.float32)) @ second.T.astype(np.float32) for each in projected())

    mu, cov = covariance(again())
    inverse = np.linalg.inv(cov + 1e-6 * np.eye(10))
    scores = np.concatenate([np.einsum("ij,jk,ik->i", e - mu, inverse, e - mu, optimize=True) for e in again()])
    bias = scores.mean() + 2 * scores.std(ddof=1)
    return low, width, mean1, first, mean2, second, mu, inverse, bias


def train(cubes, masks, chosen, held_back, seed):
    begin = time.perf_counter()
    training = [cubes[i] for i in chosen]
    found = statistics(training)
    as_tensor = [torch.tensor(np.asarray(each), dtype=torch.float32) for each in found]
    low, width, mean1, first, mean2, second, mu, inverse, bias = as_tensor
    scale = torch.tensor(1.0)
    trained = [first, second, scale, bias]
    for each in trained:
        each.requires_grad_(True)
    optimizer = torch.optim.Adam(trained, lr=args.rate)
    after_statistics = time.perf_counter()

    def logits(batch):
        x = (batch - low) / width
        x = (x - mean1) @ first.T
        x = (x - mean2) @ second.T - mu
        return scale * (((x @ inverse) * x).sum(-1) - bias)

    generator = np.random.default_rng(seed)
    for _ in range(args.epochs):
        total = 0.0
        order = generator.permutation(chosen)
        for start in range(0, len(order), args.batch):
            rows = order[start : start + args.batch]
            batch = torch.from_numpy(cubes[rows])
            target = torch.from_numpy(masks[rows] != 0).float()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits(batch), target)
            loss = loss + ((first @ first.T - torch.eye(20)) ** 2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
    after_gradients = time.perf_counter()
    with torch.no_grad():
        scores = np.concatenate([logits(torch.from_numpy(cubes[i])).numpy().ravel() for i in held_back])
    marks = np.concatenate([masks[i].ravel() != 0 for i in held_back])
    precision = average_precision(scores, marks)
    end = time.perf_counter()
    return {
        "seed": seed,
        "average_precision": precision,
        "loss": total / len(chosen),
        "statistics": after_statistics - begin,
        "gradients": after_gradients - after_statistics,
        "evaluation": end - after_gradients,
        "seconds": end - begin,
    }


by_rows = tables()
everything = by_rows[max(by_rows)]
places = {name: i for i, name in enumerate(everything)}
sizes = sorted(rows for rows in by_rows if rows != max(by_rows))
held_back = np.array([places[name] for name in by_rows[sizes[0]]])
chosen = np.array([places[name] for name in by_rows[sizes[-1]]])
cubes = np.load(glob.glob(f"{args.cache}/**/*.cubes.npy", recursive=True)[0])
masks = np.load(glob.glob(f"{args.cache}/**/*.masks.npy", recursive=True)[0])
for seed in range(args.seeds):
    print(json.dumps(train(cubes, masks, chosen, held_back, seed)), flush=True)
