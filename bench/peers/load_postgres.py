"""What others take from a table of PostgreSQL to rows of 32-bit floats, for `stoker bench load --format postgres`:
pandas.read_sql, ConnectorX by one connection and by two, and a query for each batch, one SELECT of its rows by their
keys. One JSON object per line. Needs pandas, pyarrow, sqlalchemy, psycopg2-binary and connectorx."""
import argparse
import json
import os
import random
import re
import time

import connectorx
import numpy
import pandas
import psycopg2
import pyarrow
import sqlalchemy

from loading import from_arrow, from_pandas, measure_apart

BATCH = 256


def expanded(address):
    """${NAME} is an environment variable, as in the settings of a source."""
    address = re.sub(r"\$\{(\w+)\}", lambda found: os.environ[found[1]], address)
    return "postgresql://" + address.split("://", 1)[1]


def read_with_pandas(address, query):
    engine = sqlalchemy.create_engine(address.replace("postgresql://", "postgresql+psycopg2://"))
    try:
        return from_pandas(pandas.read_sql(query, engine))
    finally:
        engine.dispose()


def read_by_batches(address, query, rows, seconds):
    """Batches of an epoch in random order, for as long as a window; what all of them would take."""
    connection = psycopg2.connect(address)
    cursor = connection.cursor()
    keys = list(range(1, rows + 1))
    random.Random(42).shuffle(keys)
    batches = [keys[first:first + BATCH] for first in range(0, min(rows, 4000 * BATCH), BATCH)]
    done, start, processor_start = 0, time.perf_counter(), time.process_time()
    while done == 0 or time.perf_counter() - start < seconds:
        batch = batches[done % len(batches)]
        cursor.execute(query + " WHERE id = ANY(%s)", (batch,))
        assert numpy.array(cursor.fetchall(), numpy.float32).shape[0] == len(batch)
        done += 1
    taken, processor = time.perf_counter() - start, time.process_time() - processor_start
    connection.close()
    return taken / done * rows / BATCH, processor / done * rows / BATCH


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--uri", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--columns", type=int, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=0.5)
    given = parser.parse_known_args()[0]
    address = expanded(given.uri)
    query = f"SELECT {', '.join(f'c{c}' for c in range(given.columns))} FROM {given.table}"
    connection = psycopg2.connect(address)
    cursor = connection.cursor()
    cursor.execute(f"SELECT count(*), pg_relation_size(%s) / 8192 FROM {given.table}", (given.table,))
    rows, pages = cursor.fetchone()
    connection.close()
    halves = [f"{query} WHERE ctid < '({pages // 2},0)'", f"{query} WHERE ctid >= '({pages // 2},0)'"]
    versions = {"pandas": pandas.__version__, "pyarrow": pyarrow.__version__, "connectorx": connectorx.__version__,
                "sqlalchemy": sqlalchemy.__version__, "psycopg2": psycopg2.__version__.split()[0]}

    def with_connectorx(queries):
        return from_arrow(connectorx.read_sql(address, queries, return_type="arrow"))

    for name, read in {"ConnectorX, 2 connections": lambda: with_connectorx(halves),
                       "ConnectorX, 1 connection": lambda: with_connectorx(query),
                       "pandas.read_sql": lambda: read_with_pandas(address, query)}.items():
        measure_apart("postgres", rows, name, read, given, versions)
    taken, processor = read_by_batches(address, query, rows, max(1, given.seconds))
    print(json.dumps({
        "workload": "load postgres", "batch": rows, "engine": f"a query per batch of {BATCH}", "device": "cpu",
        "precision": "fp32", "us_per_step": 1e6 * taken, "processor_us_per_step": 1e6 * processor,
        "samples_per_s": rows / taken, "versions": versions}), flush=True)


if __name__ == "__main__":
    main()
