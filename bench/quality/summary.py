"""Tables of what the other programs of this folder have measured: summary.py LINES.jsonl ..."""
import collections
import json
import sys

import numpy as np

PEERS = ("logistic", "mlp", "boosting")


def main():
    regression = collections.defaultdict(lambda: collections.defaultdict(dict))
    classes = collections.defaultdict(lambda: collections.defaultdict(dict))
    for path in sys.argv[1:]:
        for line in map(json.loads, open(path)):
            if "rmse" in line:
                regression[line["table"]]["stoker" if "parameters" in line else "lightgbm"][line["split"]] = line
            else:
                classes[line["table"]]["stoker" if "parameters" in line else "peers"][line["split"]] = line
    for name, by in regression.items():
        splits = sorted(by["stoker"])
        if not splits:
            continue
        error = {who: np.array([by[who][s]["rmse"] for s in splits]) for who in by if set(splits) <= set(by[who])}
        text = f"{name:10} stoker {error['stoker'].mean():.4g} (splits {error['stoker'].min():.4g} to " \
               f"{error['stoker'].max():.4g})"
        if "lightgbm" in error:
            ratio = error["stoker"].mean() / error["lightgbm"].mean()
            text += f", lightgbm {error['lightgbm'].mean():.4g}, {100 * (ratio - 1):+.1f} %"
        if all("coverage" in by["stoker"][s] for s in splits):
            text += f", coverage {100 * np.mean([by['stoker'][s]['coverage'] for s in splits]):.1f} %"
        print(text + f", {np.mean([by['stoker'][s]['seconds'] for s in splits]):.1f} s, {len(splits)} splits")
    for name, by in classes.items():
        splits = sorted(set(by["stoker"]) & set(by["peers"]))
        if not splits:
            continue
        peers = {peer: np.array([by["peers"][s][peer] for s in splits]) for peer in PEERS}
        best = min(peers, key=lambda peer: peers[peer].mean())
        own = np.array([by["stoker"][s]["log_loss"] for s in splits])
        differences = own - peers[best]
        print(f"{name:22} stoker {own.mean():.4f}, " + ", ".join(f"{p} {v.mean():.4f}" for p, v in peers.items()) +
              f"; minus {best}: {differences.mean():+.4f}, standard error "
              f"{differences.std(ddof=1) / np.sqrt(len(splits)):.4f}, {len(splits)} splits, "
              f"{np.mean([by['stoker'][s]['seconds'] for s in splits]):.1f} s")


if __name__ == "__main__":
    main()
