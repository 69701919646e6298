"""The tables of the golden documents: a few dozen rows, from whole-number arithmetic alone."""

import gzip
import struct

KINDS = ("flat", "house", "loft")


def house(row):
    """A house with numbers, text, a truth, text that looks like a number, and now and then nothing at all."""
    rooms = 1 + row * 7 % 6
    area = 20 + row * 37 % 101 + rooms * 8 + row % 4 * 0.25
    kind = KINDS[row * 5 // 3 % 3]
    heated = row * 11 % 7 > 2
    price = 15 * rooms + 1.5 * area + {"flat": 0, "house": 40, "loft": 25}[kind] + (12 if heated else 0) + row * 29 % 13
    return {
        "rooms": "" if row % 17 == 5 else rooms,
        "area": "" if row % 13 == 7 else area,
        "kind": kind,
        "heated": "true" if heated else "false",
        "district": "" if row % 19 == 3 else f"{row * 3 % 5:03}",
        "street": f"street {row // 4}",
        "care": 1 + row % 3 * 0.5,
        "sold": "yes" if price + row * 17 % 40 > 190 else "no",
        "price": price,
    }


def separated(rows, delimiter):
    lines = [delimiter.join(rows[0])]
    lines += [delimiter.join(str(value) for value in row.values()) for row in rows]
    return "\n".join(lines) + "\n"


def matrix(rows):
    """Three columns and 2 c0 - c1 + c2 / 2 behind them, as a .npy of float64."""
    values = []
    for row in range(rows):
        a, b, c = row * 7 % 11 / 2, row * 5 % 13 / 4, row * 3 % 17 / 8
        values += [a, b, c, 2 * a - b + c / 2 + row * 19 % 7 / 16]
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 4), }" % rows
    header = header.ljust(128 - 10 - 1) + "\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    return start + struct.pack(f"<{len(values)}d", *values)


def write_tables(folder):
    """Those that need no Stoker; make adds the same houses as .parquet and .arrow, which Stoker writes."""
    folder.mkdir(parents=True)
    houses = [house(row) for row in range(72)]
    (folder / "houses.csv").write_text(separated(houses, ","))
    (folder / "houses.tsv").write_text(separated(houses, "\t"))
    (folder / "houses.csv.gz").write_bytes(gzip.compress(separated(houses, ",").encode(), mtime=0))
    new = [house(row) for row in range(100, 112)]
    for each in new:
        for target in ("price", "sold"):
            del each[target]
    new[3]["kind"] = "castle"  # no training row has it
    (folder / "new-houses.csv").write_text(separated(new, ","))
    (folder / "numbers.npy").write_bytes(matrix(48))
