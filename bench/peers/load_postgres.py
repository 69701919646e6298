#!/usr/bin/env python3
"""Rows of PostgreSQL to a table in memory: Stoker beside ConnectorX and pandas.read_sql, in one run.

    DATABASE_URL=postgresql://me@localhost/x bench/peers/load_postgres.py [--rows 1000000] [--rounds 3] [--stoker build/stoker]

Needs pandas, sqlalchemy, psycopg2-binary and connectorx, and a database in which a table stoker_bench_load may be made:
14 columns of float4, made where it is missing or has another number of rows. Stoker's time is that of the whole process
(`stoker preview`), start and end included; the others' is that of the call alone.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import connectorx
import pandas
import sqlalchemy

TABLE = "stoker_bench_load"
COLUMNS = 14


def made_table(engine, rows):
    with engine.begin() as connection:
        there = connection.execute(sqlalchemy.text(f"SELECT to_regclass('{TABLE}')")).scalar()
        if there and connection.execute(sqlalchemy.text(f"SELECT count(*) FROM {TABLE}")).scalar() == rows:
            return
        values = ", ".join(f"random()::float4 AS c{i}" for i in range(COLUMNS))
        connection.execute(sqlalchemy.text(f"DROP TABLE IF EXISTS {TABLE}"))
        connection.execute(sqlalchemy.text(f"CREATE TABLE {TABLE} AS SELECT {values} FROM generate_series(1, {rows})"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sqlalchemy.text(f"VACUUM ANALYZE {TABLE}"))


# A process counts the memory of the one that it was forked from, and this one is large: a small one stands between.
LAUNCHER = """
import json, resource, subprocess, sys, time
begin = time.perf_counter()
finished = subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True)
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps([seconds, json.loads(finished.stdout)["rows"], peak]))
"""


def stoker(program, connections):
    words = [program, "preview", "DATABASE_URL", "--table", TABLE, "--rows", "0", "--partitions", str(connections), "--json"]
    return json.loads(subprocess.run([sys.executable, "-c", LAUNCHER, *words], check=True, capture_output=True).stdout)


def timed(work):
    begin = time.perf_counter()
    rows = work()
    return time.perf_counter() - begin, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stoker", default="build/stoker")
    given = parser.parse_args()
    address = os.environ["DATABASE_URL"]
    plain = "postgresql://" + address.split("://", 1)[1]
    engine = sqlalchemy.create_engine(plain.replace("postgresql://", "postgresql+psycopg2://"))
    made_table(engine, given.rows)
    with engine.connect() as connection:
        pages = connection.execute(sqlalchemy.text(f"SELECT pg_relation_size('{TABLE}') / 8192")).scalar()
    whole = f"SELECT * FROM {TABLE}"
    halves = [f"{whole} WHERE ctid < '({pages // 2},0)'", f"{whole} WHERE ctid >= '({pages // 2},0)'"]
    times, peak = {}, 0
    for _ in range(given.rounds):
        for name, work in {
            "stoker, 2 connections": lambda: stoker(given.stoker, 2),
            "stoker, 1 connection": lambda: stoker(given.stoker, 1),
            "ConnectorX, 2 connections": lambda: timed(lambda: connectorx.read_sql(plain, halves, return_type="arrow").num_rows),
            "ConnectorX, 1 connection": lambda: timed(lambda: connectorx.read_sql(plain, whole, return_type="arrow").num_rows),
            "pandas.read_sql": lambda: timed(lambda: len(pandas.read_sql(whole, engine))),
        }.items():
            seconds, rows, *memory = work()
            assert rows == given.rows, (name, rows)
            times.setdefault(name, []).append(seconds)
            peak = max([peak, *memory])
    best = statistics.median(times["stoker, 2 connections"])
    print(f"{given.rows} x {COLUMNS} float4, median of {given.rounds}")
    for name, each in times.items():
        middle = statistics.median(each)
        print(f"{name:28}{middle:8.2f} s   {middle / best:6.2f} x")
    tensor = given.rows * COLUMNS * 4
    print(f"peak memory of stoker {peak / 1e6:.0f} MB, {peak / tensor:.2f} x the {tensor / 1e6:.0f} MB of the tensor")


if __name__ == "__main__":
    main()
