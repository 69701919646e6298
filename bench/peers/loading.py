"""What the peers of `stoker bench load` have in common: each reader is measured in a child of this process, which has
begun nothing yet, and printed as one JSON object on a line."""
import json
import os
import sys
import time

import numpy


def row_major(columns):
    """Columns, each in one piece, as rows of 32-bit floats. A few rows at a time, so that what is written stays in the
    cache: twice as fast as numpy.column_stack."""
    rows = numpy.empty((len(columns[0]), len(columns)), numpy.float32)
    for first in range(0, len(rows), 4096):
        for c, column in enumerate(columns):
            rows[first:first + 4096, c] = column[first:first + 4096]
    return rows


def from_arrow(table):
    """Batch by batch, so that no column is put into one piece first."""
    rows = numpy.empty((table.num_rows, table.num_columns), numpy.float32)
    first = 0
    for batch in table.to_batches(max_chunksize=4096):
        for c, column in enumerate(batch.columns):
            rows[first:first + len(batch), c] = column.to_numpy()
        first += len(batch)
    return rows


def from_pandas(frame):
    return numpy.ascontiguousarray(frame.to_numpy(numpy.float32))


def on_device(values, device):
    assert values.dtype == numpy.float32 and values.flags["C_CONTIGUOUS"]
    if device == "cpu":
        return values
    import torch
    tensor = torch.from_numpy(values).to(device)
    torch.cuda.synchronize()
    return tensor


def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))


# A first load that takes longer than this needs no other to warm up for it.
LONG = 4


def measured(read, seconds, device):
    """Seconds a load by the clock and by the processor, and by how much memory grew at most in the first load."""
    before = memory("VmRSS")
    start, processor_start = time.perf_counter(), time.process_time()
    on_device(read(), device)
    taken = time.perf_counter() - start
    processor = time.process_time() - processor_start
    peak = max(0, memory("VmHWM") - before)
    if taken > LONG:
        return taken, processor, peak
    loads, start, processor_start = 0, time.perf_counter(), time.process_time()
    while loads == 0 or time.perf_counter() - start < seconds:
        on_device(read(), device)
        loads += 1
    return (time.perf_counter() - start) / loads, (time.process_time() - processor_start) / loads, peak


def measure_apart(workload, rows, name, read, given, versions):
    """In a child, whose memory is its own. What fails there is told on standard error and left out."""
    sys.stdout.flush()
    child = os.fork()
    if child != 0:
        os.waitpid(child, 0)
        return
    status = 1
    try:
        taken, processor, peak = measured(read, given.seconds, given.device)
        print(json.dumps({
            "workload": f"load {workload}", "batch": rows, "engine": name, "device": given.device, "precision": "fp32",
            "us_per_step": 1e6 * taken, "processor_us_per_step": 1e6 * processor, "samples_per_s": rows / taken,
            "peak_bytes": peak, "versions": versions}), flush=True)
        status = 0
    except Exception as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)
