"""Makes linear.json: what scikit-learn's linear models give on small tables of awkward kinds.

Run with a Python that has scikit-learn (made with 1.9.1): python linear.py
Coefficients are scikit-learn's with its default settings, except that
- LinearRegression of the badly scaled table has tol=0: by default scikit-learn 1.9.1 leaves out columns whose numbers
  are a millionth of the largest, however much they explain;
- Ridge is solved by singular values, the most accurate of its solvers;
- Lasso has a tolerance of 1e-14, and its objective is what counts: equal columns have many solutions;
- LassoCV has max_iter=10000.
"""
import json
import pathlib
import warnings

import numpy as np
from sklearn.linear_model import Lasso, LassoCV, LinearRegression, Ridge, RidgeCV

warnings.filterwarnings("ignore")
random = np.random.default_rng(20)


def normal(rows, columns):
    return np.round(random.normal(size=(rows, columns)), 4)


def target(x, coefficients, noise=0.5):
    return np.round(x @ coefficients + noise * random.normal(size=len(x)) + 3, 4)


def tables():
    def table(name, x, coefficients=None, **more):
        count = x.shape[1]
        return {"name": name, "x": x, "y": target(x, np.arange(1, count + 1) if coefficients is None else coefficients), **more}

    yield table("plain", normal(60, 5))
    yield table("plain without intercept", normal(60, 5), fit_intercept=False)
    yield table("wide", normal(12, 25))
    yield table("wide without intercept", normal(12, 25), fit_intercept=False)
    yield table("square", normal(10, 10))
    yield table("one row more than columns", normal(11, 10))
    # Left-out errors of two rows are the same for every alpha, so there is nothing to choose.
    yield table("two rows", normal(2, 3), ridge_cv=False)
    yield table("two rows, one column", normal(2, 1), ridge_cv=False)
    yield table("one row", normal(1, 2))
    x = normal(50, 6)
    x[:, 3] = x[:, 0] + x[:, 1]
    x[:, 5] = 2 * x[:, 2]
    yield table("collinear", x)
    x = normal(50, 5)
    x[:, 3] = x[:, 0]
    yield table("equal columns", x)
    x = normal(50, 5)
    x[:, 3] = x[:, 0] + 1e-9 * random.normal(size=50)
    yield table("nearly equal columns", x)
    x = normal(50, 5)
    x[:, 3] = x[:, 0] + 1e-4 * random.normal(size=50)
    yield table("similar columns", x)
    x = normal(50, 5)
    x[:, 1], x[:, 3] = 7, 0.1
    yield table("constant columns", x)
    x = np.hstack([normal(40, 2), np.eye(3)[random.integers(0, 3, 40)]])
    yield table("one-hot columns", x)
    x = normal(25, 30)
    x[:, 7], x[20] = x[:, 3], x[5]
    yield table("wide with equal rows and columns", x)
    scale = np.array([1e-6, 1e-3, 1, 1e3, 1e6])
    yield table("badly scaled", normal(60, 5) * scale, 1 / scale, tol=0, ridge_cv=False)
    yield table("large offsets", normal(60, 4) + 1e6)
    yield table("wide with large offsets", normal(12, 20) + 1e6)
    yield table("all zero", np.zeros((10, 2)))
    yield {"name": "constant target", "x": normal(30, 3), "y": np.full(30, 3.3), "ridge_cv": False}


def objective(x, y, model, alpha):
    residual = y - x @ model.coef_ - model.intercept_
    return residual @ residual / (2 * len(y)) + alpha * np.abs(model.coef_).sum()


def expected(t):
    x, y, intercept = t["x"], t["y"], t.get("fit_intercept", True)
    plain = LinearRegression(fit_intercept=intercept, tol=t.get("tol", 1e-6)).fit(x, y)
    ridge = Ridge(alpha=0.5, fit_intercept=intercept, solver="svd").fit(x, y)
    lasso = Lasso(alpha=0.1, fit_intercept=intercept, tol=1e-14, max_iter=1_000_000).fit(x, y)
    result = {
        "linear_regression": {"coefficients": plain.coef_.tolist(), "intercept": float(plain.intercept_)},
        "ridge": {"coefficients": ridge.coef_.tolist(), "intercept": float(ridge.intercept_)},
        "lasso": {"objective": float(objective(x, y, lasso, 0.1))},
    }
    if len(y) > 1 and t.get("ridge_cv", True):
        cv = RidgeCV(fit_intercept=intercept, store_cv_results=True).fit(x, y)
        result["ridge_cv"] = {
            "alpha": float(cv.alpha_),
            "coefficients": cv.coef_.tolist(),
            "errors": cv.cv_results_.mean(axis=0).tolist(),
        }
    if len(y) >= 5:
        cv = LassoCV(fit_intercept=intercept, max_iter=10_000).fit(x, y)
        result["lasso_cv"] = {
            "alpha": float(cv.alpha_),
            "first_alpha": float(cv.alphas_[0]),
            "last_alpha": float(cv.alphas_[-1]),
            "errors": cv.mse_path_.mean(axis=-1)[::11].tolist(),
        }
    return result


cases = []
for t in tables():
    cases.append({
        "name": t["name"],
        "fit_intercept": t.get("fit_intercept", True),
        "x": t["x"].tolist(),
        "y": t["y"].tolist(),
        **expected(t),
    })
lines = ",\n".join(json.dumps(case) for case in cases)
pathlib.Path(__file__).with_name("linear.json").write_text(f"[\n{lines}\n]\n")
