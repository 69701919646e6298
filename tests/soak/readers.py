#!/usr/bin/env python3
"""Feeds every reader of files damaged files, in the confined child in which the service reads files of clients.

    tests/soak/readers.py build/confined_reads --count 20000 --reader hdf5

Whatever a file does to its reader, the process that asked lives and says what is wrong with the file: it ends with
exit code 2, and a reader that takes more memory than there is with 1. `--count` is the number of files for each reader.
A file depends on the seed, the reader and its number alone: `--seed 1 --reader hdf5 --only 209` repeats one.
"""
import argparse
import bz2
import collections
import concurrent.futures
import gzip
import io
import itertools
import json
import os
import pathlib
import random
import select
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

import mutations

SKIPPED = 77
# Where files are written at once: every reader writes its rows, and waits until they are on a disk.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
NEWER = ("v110", "v110")  # the newest form that all libraries in use can read
TEXT = {".csv", ".tsv", ".jsonl", ".arff", ".hdr", ".json"}


def numbers(seed=1, rows=40, columns=4):
    import numpy

    return numpy.random.default_rng(seed).normal(size=(rows, columns))


def packed_npy(array):
    import numpy

    made = io.BytesIO()
    numpy.save(made, array)
    return made.getvalue()


def packed_npz(**arrays):
    import numpy

    made = io.BytesIO()
    numpy.savez_compressed(made, **arrays)
    return made.getvalue()


def csv_text(separator=","):
    lines = ["a,when,name,price"] + [f'{i},2026-01-{i % 28 + 1:02},"n ""{i}"", x",{i * 1.5}' for i in range(40)]
    return "\n".join(lines).replace(",", separator).encode()


def zipped(**files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def csv_files():
    text = csv_text()
    return {"a.csv": text, "a.tsv": csv_text("\t"), "b.csv": text.replace(b"name", "n\u00e4me".encode()),
            "c.csv": b"when;price\n" + b"".join(b"%d.%d.2026;1.234,5\n" % (i % 28 + 1, i % 12 + 1) for i in range(40))}


def packed_files():
    text = csv_text()
    return {"a.csv.gz": gzip.compress(text), "a.csv.bz2": bz2.compress(text), "a.zip": zipped(**{"a.csv": text})}


def jsonl_files():
    rows = [json.dumps({"a": i, "b": i / 2, "c": f"text {i}", "d": None if i % 3 else True}) for i in range(40)]
    return {"a.jsonl": "\n".join(rows).encode(), "b.json": ("[" + ",\n".join(rows) + "]").encode()}


def arff_files():
    head = "@relation r\n@attribute a numeric\n@attribute 'b c' {x,'y z'}\n@attribute d string\n@data\n"
    return {"a.arff": (head + "".join(f"{i},{'x' if i % 2 else chr(39) + 'y z' + chr(39)},s{i}\n"
                                      for i in range(40))).encode()}


def arrow_table():
    import pyarrow

    return pyarrow.table({"a": list(range(40)), "b": [f"text {i % 3}" for i in range(40)],
                          "c": [None if i % 5 == 0 else i / 2 for i in range(40)],
                          "d": [[i, i + 1] for i in range(40)]})


def parquet_files():
    import pyarrow.parquet

    files = {}
    for number, options in enumerate(({"compression": "snappy"}, {"compression": "gzip", "data_page_version": "2.0"},
                                      {"compression": "zstd", "use_dictionary": False, "row_group_size": 7})):
        made = io.BytesIO()
        pyarrow.parquet.write_table(arrow_table(), made, **options)
        files[f"{number}.parquet"] = made.getvalue()
    return files


def arrow_files():
    import pyarrow

    files = {}
    for compression in (None, "lz4"):
        made = io.BytesIO()
        options = pyarrow.ipc.IpcWriteOptions(compression=compression)
        with pyarrow.ipc.new_file(made, arrow_table().schema, options=options) as writer:
            writer.write_table(arrow_table(), max_chunksize=13)
        files[f"{compression}.arrow"] = made.getvalue()
    return files


def npy_files():
    values = numbers()
    return {"a.npy": packed_npy(values), "b.npy": packed_npy(values.astype("float32").T), "c.npy": packed_npy(
        values.astype("int16"))}


def idx_files():
    pixels = bytes(random.Random(1).randrange(256) for _ in range(10 * 4 * 4))
    return {"a-images-idx3-ubyte": struct.pack(">IIII", 0x803, 10, 4, 4) + pixels}


def sqlite_files():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "a.sqlite"
        made = sqlite3.connect(file)
        made.execute("CREATE TABLE houses (id INTEGER PRIMARY KEY, name TEXT, price REAL, tag TEXT)")
        made.executemany("INSERT INTO houses VALUES (?, ?, ?, ?)",
                         [(i, f"n{i}" * (i % 9), i * 1.5, None if i % 4 else 't') for i in range(60)])
        made.execute("CREATE INDEX by_name ON houses(name)")
        made.commit()
        made.close()
        return {"a.sqlite": file.read_bytes()}


def hdf5_file(fill, **options):
    import h5py

    made = io.BytesIO()
    with h5py.File(made, "w", **options) as file:
        fill(file)
    return made.getvalue()


def hdf5_files():
    def plain(file):
        file["x"] = numbers()
        file["y"] = list(range(40))

    def chunked(file):
        file.create_dataset("x", data=numbers(), chunks=(8, 2), compression="gzip", shuffle=True, fletcher32=True)
        file.create_dataset("names", data=[f"n{i}" for i in range(40)])
        file["x"].attrs["unit"] = "m"

    return {"a.h5": hdf5_file(plain), "b.h5": hdf5_file(chunked), "c.h5": hdf5_file(chunked, libver=NEWER)}


def cube_values(seed=1):
    return numbers(seed, 6 * 5, 8).reshape(6, 5, 8).astype("float32")


def hdf5_cube_files():
    def fill(file):
        file.create_dataset("cube", data=cube_values(), chunks=(3, 5, 4), compression="gzip")
        file["mask"] = (cube_values()[:, :, 0] > 1).astype("uint8")
        file["wavelengths"] = [400.0 + 10 * i for i in range(8)]

    return {"a.h5": hdf5_file(fill), "b.h5": hdf5_file(fill, libver=NEWER)}


def npy_cube_files():
    return {"a.npy": packed_npy(cube_values()), "b.npz": packed_npz(cube=cube_values(), wavelengths=numbers(1, 1, 8)[0])}


def envi_files():
    """The header is what is damaged; its numbers stand beside it."""
    header = ("ENVI\nsamples = 5\nlines = 6\nbands = 8\nheader offset = 0\nfile type = ENVI Standard\ndata type = 4\n"
              "interleave = {}\nbyte order = 0\nwavelength units = nm\nwavelength = {{ {} }}\n")
    waves = ", ".join(str(400 + 10 * i) for i in range(8))
    return {f"{kind}.hdr": header.format(kind, waves).encode() for kind in ("bil", "bip", "bsq")}


def coco_files():
    """A mask beside a sound cube."""
    shapes = [[1.0, 1.0, 4.0, 1.0, 4.0, 5.0, 1.0, 5.0]]
    coded = {"size": [6, 5], "counts": [3, 4, 10, 13]}
    return {"marks.json": json.dumps({
        "images": [{"id": 0, "file_name": "cube.npy", "height": 6, "width": 5}],
        "categories": [{"id": 1, "name": "stain"}, {"id": 2, "name": "crack"}],
        "annotations": [{"id": 1, "image_id": 0, "category_id": 1, "segmentation": shapes, "iscrowd": 0},
                        {"id": 2, "image_id": 0, "category_id": 2, "segmentation": coded, "iscrowd": 1}]}).encode()}


def as_rows(file):
    return {"source": "file", "path": str(file)}


def as_cubes(file):
    return {"source": "cubes", "path": str(file)}


def as_marks(file):
    return {"source": "cubes", "path": str(file.parent / "cube.npy"), "mask_path": str(file)}


def as_hdf5(file):
    return {"source": "hdf5", "path": str(file)}


READERS = {
    "csv": (csv_files, as_rows), "packed": (packed_files, as_rows), "jsonl": (jsonl_files, as_rows),
    "arff": (arff_files, as_rows), "parquet": (parquet_files, as_rows), "arrow": (arrow_files, as_rows),
    "npy": (npy_files, as_rows), "idx": (idx_files, as_rows),
    "sqlite": (sqlite_files, lambda file: {"source": "sqlite", "path": str(file), "table": "houses"}),
    "hdf5": (hdf5_files, as_hdf5), "hdf5-cubes": (hdf5_cube_files, as_cubes), "npy-cubes": (npy_cube_files, as_cubes),
    "envi": (envi_files, as_cubes), "coco": (coco_files, as_marks),
}


def damaged(chance, name, seeds):
    content = seeds[name]
    change = mutations.of_text if pathlib.Path(name).suffix in TEXT else mutations.of_bytes
    for _ in range(chance.choice([1, 1, 1, 2, 4, 16])):
        content = change(chance, content, seeds[chance.choice(sorted(seeds))])
    return content


class Asker:
    """A process that reads what it is asked to; it must outlive every file."""

    def __init__(self, options, folder):
        environment = {"STOKER_HDF5_CPU_SECONDS": "2", **os.environ, "STOKER_CONFINE_READERS": str(folder),
                       "STOKER_MEMORY_LIMIT": str(2 << 30)}
        self.process = subprocess.Popen([options.program, str(options.files_of_a_child)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def ask(self, settings, patience):
        try:
            self.process.stdin.write(json.dumps(settings) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], patience)[0]:
                self.process.kill()
                self.process.wait()
                return {"took_too_long": True}
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"ended": self.process.wait()}

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def kind_of(answer):
    if "rows" in answer:
        return "read"
    if "ended" in answer or "took_too_long" in answer:
        return "FAULT"
    if "libhdf5 did not finish" in answer["message"]:
        return "endless"
    crashed = "its reader crashed" in answer["message"]
    return {2: "crashed" if crashed else "refused", 1: "out of memory"}.get(answer["code"], "FAULT")


def beside(folder, name):
    """What the damaged file needs to be read at all."""
    if name.endswith(".hdr"):
        (folder / name).with_suffix(".img").write_bytes(cube_values().tobytes())
    if name.endswith(".json"):
        (folder / "cube.npy").write_bytes(packed_npy(cube_values()))
    if "idx" in name:
        (folder / name.replace("images-idx3", "labels-idx1")).write_bytes(struct.pack(">II", 0x801, 10) + bytes(range(10)))


def files_of(options, reader, numbers_of_files):
    make, settings_of = READERS[reader]
    seeds = make()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-readers-", dir=IN_MEMORY))
    asker = Asker(options, folder)
    counts, faults = collections.Counter(), []
    for name, content in seeds.items():  # none of this says anything unless they are read as they are
        beside(folder, name)
        (folder / name).write_bytes(content)
        answer = asker.ask(settings_of(folder / name), None)
        if kind_of(answer) != "read":
            faults.append(f"{reader}: the sound file {name} is not read: {answer}")
    for number in numbers_of_files if not faults else ():
        chance = random.Random(f"{options.seed} {reader} {number}")
        name = chance.choice(sorted(seeds))
        (folder / name).write_bytes(damaged(chance, name, seeds))
        answer = asker.ask(settings_of(folder / name), options.patience)
        kind = kind_of(answer)
        counts[kind] += 1
        if kind == "FAULT" or (options.show and kind == options.show):
            kept = pathlib.Path(tempfile.mkdtemp(prefix="stoker-damaged-")) / f"{number}-{name}"
            shutil.copy(folder / name, kept)
            print(f"{reader} {number}: {answer}\n  the file: {kept}", flush=True)
        if kind == "FAULT":
            faults.append(f"{reader} {number}")
        if "ended" in answer or "took_too_long" in answer:
            asker = Asker(options, folder)
        (folder / name).write_bytes(seeds[name])
    asker.end()
    shutil.rmtree(folder, ignore_errors=True)
    return reader, counts, faults


def options_given():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the confined_reads to test with")
    parser.add_argument("--count", type=int, default=20000, help="damaged files for each reader")
    parser.add_argument("--reader", action="append", choices=READERS, help="this one alone; may be given again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="files read at the same time")
    parser.add_argument("--files-of-a-child", type=int, default=1,
                        help="files that one child reads; the service has a child for each (1)")
    parser.add_argument("--patience", type=float, default=600, help="seconds without an answer that are a fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this file alone, as a report names it")
    parser.add_argument("--show", help="keep and show the files that ended so, such as crashed")
    return parser.parse_args()


def main():
    options = options_given()
    try:
        import h5py  # noqa: F401
        import numpy  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        print(f"{error}; tools/setup installs it")
        return SKIPPED
    readers = options.reader or list(READERS)
    every = [options.only] if options.only is not None else range(options.count)
    parts = [(reader, every[part::options.jobs]) for reader in readers for part in range(min(options.jobs, len(every)))]
    counts, faults = collections.defaultdict(collections.Counter), []
    began = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for reader, counted, found in pool.map(files_of, itertools.repeat(options), *zip(*parts)):
            counts[reader].update(counted)
            faults += found
    for reader in readers:
        print(f"{reader:12} " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts[reader].items())))
    for fault in faults:
        print(fault)
    print(f"{sum(each.total() for each in counts.values())} files, {len(faults)} faults, seed {options.seed}, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
