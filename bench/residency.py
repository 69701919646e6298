"""An epoch of the triangulation with a query for each batch, as many systems do it, and with the rows in the device's memory:
  residency.py PROGRAM [--device cuda] [--samples 4000 10000 25000 50000 100000] [--seconds 3] [--epochs 50]
Before: a plain PyTorch loop whose every batch of 256 rows is a query of an SQLite file (or of PostgreSQL, with
--uri, which then holds a table stoker_residency that is made and dropped). After: Stoker, the same model and batch. A
table in Markdown. Needs torch; psycopg2 for PostgreSQL."""
import argparse
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
import sets

BATCH, VALUES = 256, 10 * 6 + 10 + 2


def made_rows(samples):
    random = np.random.default_rng(1)
    return random.standard_normal((samples, VALUES)).astype(np.float32)


class Sqlite:
    def __init__(self, folder, rows):
        self.connection = sqlite3.connect(pathlib.Path(folder) / "rows.sqlite")
        names = ", ".join(f"v{i} REAL" for i in range(VALUES))
        self.connection.execute(f"CREATE TABLE stoker_residency (id INTEGER PRIMARY KEY, {names})")
        marks = ", ".join("?" * (VALUES + 1))
        self.connection.executemany(f"INSERT INTO stoker_residency VALUES ({marks})",
                                    ([i, *map(float, row)] for i, row in enumerate(rows)))
        self.connection.commit()

    def batch(self, ids):
        marks = ", ".join("?" * len(ids))
        return self.connection.execute(f"SELECT * FROM stoker_residency WHERE id IN ({marks})", ids).fetchall()

    def close(self):
        self.connection.close()


class Postgres:
    def __init__(self, uri, rows):
        import psycopg2
        import psycopg2.extras
        self.connection = psycopg2.connect(uri)
        with self.connection, self.connection.cursor() as cursor:
            names = ", ".join(f"v{i} float4" for i in range(VALUES))
            cursor.execute("DROP TABLE IF EXISTS stoker_residency")
            cursor.execute(f"CREATE TABLE stoker_residency (id integer PRIMARY KEY, {names})")
            psycopg2.extras.execute_values(cursor, "INSERT INTO stoker_residency VALUES %s",
                                           ([i, *map(float, row)] for i, row in enumerate(rows)))

    def batch(self, ids):
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute("SELECT * FROM stoker_residency WHERE id = ANY(%s)", (ids,))
            return cursor.fetchall()

    def close(self):
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute("DROP TABLE stoker_residency")
        self.connection.close()


def epoch_with_queries(database, samples, options):
    """Seconds of an epoch, by as many of its steps as fit into --seconds, after a few that do not count."""
    network = sets.Triangulation().to(options.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    random = np.random.default_rng(2)

    def step():
        ids = random.choice(samples, min(BATCH, samples), replace=False).tolist()
        values = torch.tensor(database.batch(ids), dtype=torch.float32)[:, 1:].to(options.device)
        receivers, present, places = values[:, :60].view(-1, 10, 6), (values[:, 60:70] > -0.5).float(), values[:, 70:]
        optimizer.zero_grad()
        loss = sets.loss_of(network(receivers, present), places)
        loss.backward()
        optimizer.step()
        loss.item()

    for _ in range(3):
        step()
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < options.seconds:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * -(-samples // BATCH)


def epoch_by_stoker(samples, options):
    """Seconds of an epoch, and the bytes of the device's memory that the training took."""
    cards = {
        "load": {"type": "data_load", "config": {"source": "sample", "sample_name": "uhf_mixed", "sample_rows": samples}},
        "model": {"type": "model_define_gpu",
                  "config": {"model_type": "triangulation", "batch_size": BATCH, "epochs": options.epochs}},
        "train": {"type": "train_gpu", "inputs": {"train_dataset": "load.dataset", "model_spec": "model.model_spec"},
                  "config": {"target_column": "position", "mask_column": "present", "device": options.device}}}
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        (place / "rows.json").write_text(json.dumps({"version": 1, "name": "residency", "cards": cards}))
        subprocess.run([options.program, "run", place / "rows.json", "--out", place / "runs", "--no-cache", "--quiet"],
                       check=True, capture_output=True)
        (record,) = (place / "runs").glob("*/run.json")
        training = json.loads(record.read_text())["trainings"][0]
    return training["seconds"] / training["epochs"], training.get("device_memory", {}).get("peak", 0), training["engine"]


def human(seconds):
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.2f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--samples", type=int, nargs="+", default=[4_000, 10_000, 25_000, 50_000, 100_000])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--uri")
    options = parser.parse_args()
    print("| samples | rows in memory | memory of the device | epoch, a query a batch | epoch, rows resident | times |")
    print("|---|---|---|---|---|---|")
    for samples in options.samples:
        with tempfile.TemporaryDirectory() as folder:
            rows = made_rows(samples)
            database = Postgres(options.uri, rows) if options.uri else Sqlite(folder, rows)
            try:
                before = epoch_with_queries(database, samples, options)
            finally:
                database.close()
        after, peak, engine = epoch_by_stoker(samples, options)
        memory = f"{peak / 1e6:.1f} MB" if peak else "–"
        print(f"| {samples:,} | {samples * VALUES * 4 / 1e6:.1f} MB | {memory} | {human(before)} | {human(after)} ({engine}) | "
              f"{before / after:.0f} |", flush=True)


if __name__ == "__main__":
    main()
