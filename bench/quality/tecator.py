#!/usr/bin/env python3
"""Fat in meat from near-infrared spectra: 215 samples that a Tecator Infratec measured at 100 wavelengths.

    bench/quality/tecator.py build/stoker

The spectra come with the wheel sktime, which is fetched by pip into a folder that is deleted again, unless
--wheel names one. For each seed a fifth of the samples is held back. Models of Stoker are trained by
`stoker run` and asked by `stoker predict`; PLS of scikit-learn, with as many components as five folds of its
training samples want, is what chemists would take, on the spectra as they are and normed one by one. Printed
is the root mean squared error in percent of fat.
"""
import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

FOLDER = "sktime/datasets/data/Tecator/"
MODELS = {
    "ridge_cv": "type: model_define, config: { model_type: ridge_cv, hyperparameters: { "
                "alphas: [1.0e-7, 1.0e-6, 1.0e-5, 1.0e-4, 0.001, 0.01, 0.1] } }",
    "neural_network": "type: model_define_gpu, config: { model_type: neural_network, hidden_layers: [64, 32], "
                      "activation: tanh, dropout: 0, learning_rate: 0.003, schedule: cosine, epochs: 2000, "
                      "batch_size: 32 }",
}
DOCUMENT = """version: 1
name: tecator
cards:
  load: {{ type: data_load, config: {{ source: csv, path: train.csv }} }}
  model: {{ {} }}
  train:
    type: train
    inputs: {{ train_dataset: load.dataset, model_spec: model.model_spec }}
    config: {{ target_column: fat, device: cpu }}
"""


def fetched(folder):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "sktime"],
                   check=True)
    return next(pathlib.Path(folder).glob("sktime-*.whl"))


def spectra_in(wheel):
    """Absorbances [samples, wavelengths] and the share of fat of each sample."""
    rows = []
    with zipfile.ZipFile(wheel) as archive:
        for part in ("TRAIN", "TEST"):
            for line in archive.read(f"{FOLDER}Tecator_{part}.ts").decode().splitlines():
                if line and line[0] not in "#@":
                    values, fat = line.rsplit(":", 1)
                    rows.append([float(each) for each in values.split(",")] + [float(fat)])
    table = numpy.array(rows)
    return table[:, :-1], table[:, -1]


def write(path, spectra, fat):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"nm{850 + 2 * i}" for i in range(spectra.shape[1])] + ["fat"])
        writer.writerows(numpy.column_stack([spectra, fat]).tolist())


def predicted_by(program, model, training, test, folder):
    write(folder / "train.csv", *training)
    write(folder / "test.csv", *test)
    (folder / "tecator.yaml").write_text(DOCUMENT.format(model))
    for command in (["run", "tecator.yaml", "--no-cache", "--quiet"],
                    ["predict", "latest", "test.csv", "--output", "fat.csv"]):
        subprocess.run([program] + command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with open(folder / "fat.csv", newline="") as file:
        return numpy.array([float(row["prediction"]) for row in csv.DictReader(file)])


def normed(spectra):
    """Each spectrum with mean 0 and deviation 1 (SNV), which takes out how light is scattered."""
    return (spectra - spectra.mean(axis=1, keepdims=True)) / spectra.std(axis=1, keepdims=True)


def predicted_by_pls(training, test, seed, is_normed):
    change = FunctionTransformer(normed) if is_normed else FunctionTransformer()
    model = make_pipeline(change, StandardScaler(), PLSRegression(scale=False))
    search = GridSearchCV(model, {"plsregression__n_components": range(1, 31)}, scoring="neg_root_mean_squared_error",
                          cv=KFold(5, shuffle=True, random_state=seed))
    return search.fit(*training).predict(test[0]).ravel()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS))
    options = parser.parse_args()
    program = pathlib.Path(options.program).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        spectra, fat = spectra_in(options.wheel or fetched(folder))
        errors = {name: [] for name in ["pls", "pls, snv"] + options.model}
        for seed in range(options.seeds):
            order = numpy.random.default_rng(seed).permutation(len(fat))
            held_back, others = order[: len(fat) // 5], order[len(fat) // 5:]
            training, test = (spectra[others], fat[others]), (spectra[held_back], fat[held_back])
            for name in errors:
                if name.startswith("pls"):
                    predicted = predicted_by_pls(training, test, seed, name.endswith("snv"))
                else:
                    inside = folder / f"{name}-{seed}"
                    inside.mkdir()
                    predicted = predicted_by(program, MODELS[name], training, test, inside)
                errors[name].append(float(numpy.sqrt(numpy.mean((predicted - test[1]) ** 2))))
    print(f"{len(fat)} samples, {spectra.shape[1]} wavelengths, fat {fat.min():.1f} to {fat.max():.1f} %")
    for name, each in errors.items():
        deviation = numpy.std(each, ddof=1) if len(each) > 1 else 0
        print(f"{name:15} {numpy.mean(each):.2f} +- {deviation / len(each) ** 0.5:.2f}   "
              + " ".join(f"{error:.2f}" for error in each))


if __name__ == "__main__":
    main()
