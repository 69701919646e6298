"""What pandas and pyarrow take from a file to a tensor of 32-bit floats, for `stoker bench load`. One JSON object per
line. Needs pandas and pyarrow; torch for a tensor on a GPU."""
import argparse
import json
import pathlib
import resource
import statistics
import time

import numpy
import pandas
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet


def from_arrow(table):
    return numpy.column_stack([column.to_numpy().astype(numpy.float32) for column in table.columns])


READERS = {
    "csv": {"pandas.read_csv": lambda file: pandas.read_csv(file).to_numpy(numpy.float32),
            "pandas.read_csv, engine pyarrow": lambda file: pandas.read_csv(file, engine="pyarrow").to_numpy(numpy.float32),
            "pyarrow.csv.read_csv": lambda file: from_arrow(pyarrow.csv.read_csv(file))},
    "parquet": {"pandas.read_parquet": lambda file: pandas.read_parquet(file).to_numpy(numpy.float32),
                "pyarrow.parquet.read_table": lambda file: from_arrow(pyarrow.parquet.read_table(file))},
    "arrow": {"pyarrow.feather.read_table, mapped": lambda file: from_arrow(pyarrow.feather.read_table(file, memory_map=True))},
}


def on_device(values, device):
    if device == "cpu":
        return values
    import torch
    tensor = torch.from_numpy(values).to(device)
    torch.cuda.synchronize()
    return tensor


def median_and_spread(windows):
    median = statistics.median(windows)
    return median, (max(windows) - min(windows)) / median


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=0.5)
    given = parser.parse_known_args()[0]
    form = pathlib.Path(given.file).suffix[1:]
    for name, read in READERS.get(form, {}).items():
        rows = len(on_device(read(given.file), given.device))
        windows, processor = [], []
        for _ in range(5):
            calls, start, processor_start = 0, time.perf_counter(), time.process_time()
            while calls == 0 or time.perf_counter() - start < given.seconds:
                on_device(read(given.file), given.device)
                calls += 1
            windows.append((time.perf_counter() - start) / calls)
            processor.append((time.process_time() - processor_start) / calls)
        median, spread = median_and_spread(windows)
        processor_median, processor_spread = median_and_spread(processor)
        print(json.dumps({
            "workload": f"load {form}", "batch": rows, "engine": name, "device": given.device, "precision": "fp32",
            "us_per_step": 1e6 * median, "spread": spread, "processor_us_per_step": 1e6 * processor_median,
            "processor_spread": processor_spread, "samples_per_s": rows / median,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "versions": {"pandas": pandas.__version__, "pyarrow": pyarrow.__version__}}), flush=True)


if __name__ == "__main__":
    main()
