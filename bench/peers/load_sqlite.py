"""What pandas.read_sql and ConnectorX take from a table of an SQLite file to rows of 32-bit floats, for
`stoker bench load`. One JSON object per line. Needs pandas, pyarrow and connectorx; torch for a tensor on a GPU."""
import argparse
import sqlite3

import connectorx
import pandas
import pyarrow

from loading import from_arrow, from_pandas, measure_apart

QUERY = "SELECT * FROM stoker_bench_load"


def read_with_pandas(file):
    connection = sqlite3.connect(file)
    try:
        return from_pandas(pandas.read_sql(QUERY, connection))
    finally:
        connection.close()


def read_with_connectorx(file):
    return from_arrow(connectorx.read_sql(f"sqlite://{file}", QUERY, return_type="arrow"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=0.5)
    given = parser.parse_known_args()[0]
    connection = sqlite3.connect(given.file)
    rows = connection.execute("SELECT count(*) FROM stoker_bench_load").fetchone()[0]
    connection.close()
    versions = {"pandas": pandas.__version__, "pyarrow": pyarrow.__version__, "connectorx": connectorx.__version__}
    for name, read in {"pandas.read_sql": read_with_pandas, "ConnectorX": read_with_connectorx}.items():
        measure_apart("sqlite", rows, name, lambda: read(given.file), given, versions)


if __name__ == "__main__":
    main()
