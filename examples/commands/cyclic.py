"""Adds the sine and the cosine of columns that begin anew. Run by the command of the same name."""
import json
import math
import sys

import pyarrow.compute as compute
import pyarrow.feather as feather

job = json.load(open(sys.argv[-1]))
table = feather.read_table(job["inputs"]["dataset"])
period = job["settings"]["period"]
for name in job["settings"]["columns"]:
    if name not in table.column_names:
        sys.exit(f"there is no column '{name}'; the columns are {', '.join(table.column_names)}")
    angle = compute.multiply(table[name].cast("double"), 2 * math.pi / period)
    table = table.append_column(f"{name}_sin", compute.sin(angle))
    table = table.append_column(f"{name}_cos", compute.cos(angle))
    print(f"{name}: {table.num_rows} values, a period of {period:g}")
feather.write_feather(table, job["outputs"]["dataset"], compression="uncompressed")
