"""Prepared columns as scikit-learn makes them: writes preparation.csv and preparation.json beside itself.

Needs numpy, pandas and scikit-learn.
"""
import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

here = Path(__file__).parent
rng = np.random.default_rng(7)
rows = 40
table = pd.DataFrame({
    "size": np.round(rng.normal(120, 30, rows), 3),
    "age": rng.integers(0, 90, rows).astype(float),
    "flat": 5.0,
    "color": rng.choice(["red", "green", "blue", "ümlaut, quoted"], rows),
    "price": np.round(rng.normal(1000, 250, rows), 2),
})
table.loc[[3, 17, 20], "age"] = np.nan
table.loc[[5, 6], "color"] = None
table.to_csv(here / "preparation.csv", index=False)

numeric = ["size", "age", "flat"]
imputed = SimpleImputer(strategy="median").fit_transform(table[numeric])
color = SimpleImputer(strategy="most_frequent").fit_transform(table[["color"]].astype(object).where(table[["color"]].notna(), np.nan))
one_hot = OneHotEncoder(sparse_output=False).fit_transform(color)
ordinal = OrdinalEncoder().fit_transform(color)
target = StandardScaler().fit(table[["price"]])
expected = {
    "standard_one_hot": np.hstack([StandardScaler().fit_transform(imputed), one_hot]).tolist(),
    "minmax_ordinal": np.hstack([MinMaxScaler().fit_transform(imputed), MinMaxScaler().fit_transform(ordinal)]).tolist(),
    "standard_target": target.transform(table[["price"]]).ravel().tolist(),
    "categories": sorted(set(color.ravel().tolist())),
}
(here / "preparation.json").write_text(json.dumps(expected) + "\n")
