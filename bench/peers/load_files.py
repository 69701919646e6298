"""What pandas, pyarrow and h5py take from a file to rows of 32-bit floats, for `stoker bench load`. One JSON object per
line. Needs pandas and pyarrow; h5py for an HDF5 file, torch for a tensor on a GPU."""
import argparse
import pathlib

import pandas
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from loading import from_arrow, from_pandas, measure_apart


def read_hdf5(file):
    import h5py
    with h5py.File(file) as opened:
        return opened["c"][:]


READERS = {
    "csv": {"pandas.read_csv": lambda file: from_pandas(pandas.read_csv(file)),
            "pandas.read_csv, engine pyarrow": lambda file: from_pandas(pandas.read_csv(file, engine="pyarrow")),
            "pyarrow.csv.read_csv": lambda file: from_arrow(pyarrow.csv.read_csv(file))},
    "parquet": {"pandas.read_parquet": lambda file: from_pandas(pandas.read_parquet(file)),
                "pyarrow.parquet.read_table": lambda file: from_arrow(pyarrow.parquet.read_table(file))},
    "arrow": {"pandas.read_feather": lambda file: from_pandas(pandas.read_feather(file)),
              "pyarrow.feather.read_table": lambda file: from_arrow(pyarrow.feather.read_table(file, memory_map=False)),
              "pyarrow.feather.read_table, mapped":
                  lambda file: from_arrow(pyarrow.feather.read_table(file, memory_map=True))},
    "hdf5": {"h5py": read_hdf5},
}


def rows_in(file, form):
    if form == "parquet":
        return pyarrow.parquet.read_metadata(file).num_rows
    if form == "hdf5":
        import h5py
        with h5py.File(file) as opened:
            return len(opened["c"])
    if form == "arrow":
        with pyarrow.ipc.open_file(file) as opened:
            return sum(opened.get_batch(i).num_rows for i in range(opened.num_record_batches))
    with open(file, "rb") as opened:
        return sum(block.count(b"\n") for block in iter(lambda: opened.read(1 << 20), b"")) - 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=0.5)
    given = parser.parse_known_args()[0]
    form = pathlib.Path(given.file).suffix[1:]
    versions = {"pandas": pandas.__version__, "pyarrow": pyarrow.__version__}
    if form == "hdf5":
        import h5py
        versions = {"h5py": h5py.__version__}
    rows = rows_in(given.file, form)
    for name, read in READERS[form].items():
        measure_apart(form, rows, name, lambda: read(given.file), given, versions)


if __name__ == "__main__":
    main()
