#!/usr/bin/env python3
"""Runs the examples of docs/service-models.md about cubes as they stand, against a real service: with a cube in ENVI
form that the Python package spectral wrote, the same cube as npy, and as HDF5 by h5py. What comes back is read by NumPy.

  cubes_of_guide.py STOKER
"""
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from contract import Service

PAGE = Path(__file__).resolve().parents[2] / "docs" / "service-models.md"
SKIPPED = 77
GRAPH = """version: 1
name: fields
cards:
  load: { type: data_load, config: { source: datasets, dataset_ids: [training] } }
  model:
    type: model_define_gpu
    config:
      model_type: node_graph
      nodes: [{ name: data, type: CubeDataNode }, { name: rx, type: RXGlobal }, { name: logit, type: ScoreToLogit }]
      connections: [{ source: data.cube, target: rx.data }, { source: rx.scores, target: logit.scores }]
  train:
    type: train
    inputs: { train_dataset: load.dataset, model_spec: model.model_spec }
    config: { target_column: mask }
"""


def send(service, path, body, kind="application/octet-stream", method="POST"):
    request = urllib.request.Request(service.url + path, data=body, method=method, headers={
        "Authorization": f"Bearer {service.token}", "Content-Type": kind})
    with urllib.request.urlopen(request, timeout=3600) as answer:
        return json.loads(answer.read())


def deploy_detector(service, cubes):
    send(service, "/api/datasets/upload?name=training.npy&id=training", cubes)
    job = send(service, "/api/training/jobs", json.dumps({"document": GRAPH}).encode(), "application/json")
    until = time.monotonic() + 3600
    while job["state"] not in ("completed", "failed"):
        assert time.monotonic() < until, f"the job is still {job['state']}"
        time.sleep(0.1)
        job = json.loads(service.ask(f"/api/training/jobs/{job['id']}"))
    assert job["state"] == "completed", job
    model = json.loads(service.ask("/api/models"))["models"][0]["id"]
    send(service, "/api/models/deployments/fields", json.dumps({"model": model}).encode(), "application/json", "PUT")


def examples():
    """Those that send cubes, with the archive first."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    chosen = [block for block in blocks if "field.zip" in block or "predict/cubes" in block]
    assert len(chosen) == 2 and sum(block.count("curl ") for block in chosen) == 5, chosen
    return "set -eu\n" + "\n".join(chosen).replace("curl ", "curl --fail-with-body --max-time 120 -sS ")


def main():
    missing = [name for name in ("numpy", "spectral", "h5py") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}; tools/setup does that")
        sys.exit(SKIPPED)
    import h5py
    import numpy
    from spectral.io import envi

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        random = numpy.random.default_rng(1)
        training = random.normal(size=(3, 8, 6, 5)).astype("float32")
        cube = random.normal(size=(7, 9, 5)).astype("float32")
        cube[2, 3] += 9
        numpy.save(folder / "training.npy", training)
        numpy.save(folder / "field.npy", cube)
        envi.save_image(str(folder / "field.hdr"), cube, dtype="float32", interleave="bil", ext=".img")
        with h5py.File(folder / "field.h5", "w") as file:
            file["field"] = cube
        service = Service(sys.argv[1], folder)
        try:
            deploy_detector(service, (folder / "training.npy").read_bytes())
            done = subprocess.run(["bash", "-c", examples()], cwd=folder, capture_output=True, text=True,
                                  env={"PATH": "/usr/local/bin:/usr/bin:/bin", "TOKEN": service.token,
                                       "STOKER": service.url})
            assert done.returncode == 0, done.stdout + done.stderr
            stored = send(service, "/api/models/fields/predict/cubes?name=field.h5", (folder / "field.h5").read_bytes())
            kept = send(service, "/api/datasets/upload?name=field.h5&id=stored&cubes=true&cube_key=field",
                        (folder / "field.h5").read_bytes())
        finally:
            service.end()
        assert kept["cubes"] == {"count": 1, "height": 7, "width": 9, "channels": 5}, kept
        # RX by its definition: the squared distance from the mean in units of the covariance.
        pixels = training.reshape(-1, 5).astype("float64")
        offset = cube.astype("float64") - pixels.mean(0)
        rx = numpy.einsum("hwi,ij,hwj->hw", offset, numpy.linalg.inv(numpy.cov(pixels.T)), offset)
        scores = numpy.load(folder / "scores.npy")
        assert scores.shape == (1, 7, 9) and scores.dtype == numpy.float32, scores.shape
        assert numpy.unravel_index(scores[0].argmax(), (7, 9)) == (2, 3)
        order = numpy.corrcoef(scores[0].ravel(), rx.ravel())[0, 1]
        assert order > 1 - 1e-4, f"a logit is a line over the RX score, but the correlation is {order}"
        found = numpy.load(folder / "scores.zip")
        assert numpy.array_equal(found["field_scores"], scores[0]), "ENVI has other scores than npy"
        assert numpy.array_equal(found["field_marks"], scores[0] > 0)
        summary = json.loads(found["summary.json"])["cubes"][0]
        assert summary["marked_pixels"] == int((scores > 0).sum()) and summary["pixels"] == 63, summary
        assert abs(stored["cubes"][0]["highest_score"] - float(scores.max())) < 1e-6, stored


if __name__ == "__main__":
    main()
