#!/usr/bin/env python3
"""Sends files that were made to do harm to a real service, and asks it for work without an end.

  hostile_files.py STOKER HOSTILE_LIBRARY
"""
import importlib.util
import io
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

from contract import Service

SKIPPED = 77
GRAPH = """
version: 1
name: cubes
cards:
  load: { type: data_load, config: { source: datasets, dataset_ids: [training] } }
  model:
    type: model_define_gpu
    config:
      model_type: node_graph
      nodes: [{ name: data, type: CubeDataNode }, { name: rx, type: RXGlobal }]
      connections: [{ source: data.cube, target: rx.data }]
  train:
    type: train
    inputs: { train_dataset: load.dataset, model_spec: model.model_spec }
    config: { target_column: mask }
"""
TABLE = """
version: 1
name: table
cards:
  load: {{ type: data_load, config: {{ source: hdf5, path: {path} }} }}
  split: {{ type: data_split, inputs: {{ dataset: load.dataset }} }}
  model: {{ type: model_define_gpu, config: {{ model_type: neural_network, hidden_layers: [4], epochs: 1 }} }}
  train:
    type: train
    inputs: {{ train_dataset: split.train_dataset, model_spec: model.model_spec }}
    config: {{ target_column: y }}
"""
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
SECRET = "a-line-that-nobody-may-see"
STOKER, HOSTILE_LIBRARY = sys.argv[1], sys.argv[2]


def said(service, method, path, body=None, kind="application/octet-stream", token=None):
    """The status and the body of an answer, whatever they are."""
    request = urllib.request.Request(service.url + path, data=body, method=method, headers={
        "Authorization": f"Bearer {token or service.token}", "Content-Type": kind})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def upload(service, name, content, more=""):
    return said(service, "POST", f"/api/datasets/upload?name={name}{more}", content)


def wait_until(happened, what):
    """For as long as the test may take: whoever runs it has a limit, and a slow machine is no fault."""
    while not happened():
        time.sleep(0.05)


def database(statements):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.sqlite"
        connection = sqlite3.connect(file)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        return file.read_bytes()


def hdf5(fill):
    import h5py

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "values.h5"
        with h5py.File(file, "w") as made:
            fill(made)
        return file.read_bytes()


def endless_hdf5():
    """The first object in the heap of texts has the size 0, so libhdf5 1.10 looks for its end for ever."""
    content = bytearray(hdf5(lambda f: f.update({"name": ["a", "b", "c"], "y": [1.0, 2.0, 3.0]})))
    first = content.index(b"GCOL") + 16
    content[first:first + 16] = bytes(16)
    return bytes(content)


class HostileFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.place.name)
        cls.service = Service(STOKER, cls.folder)
        cls.secret = cls.service.data / "secret.txt"
        cls.secret.write_text((SECRET + "\n") * 20)

    @classmethod
    def tearDownClass(cls):
        cls.service.end()
        cls.place.cleanup()

    def expect_rejected(self, answer, name):
        status, text = answer
        self.assertEqual(status, 422, text)
        self.assertIn(name, text)
        self.assertNotIn(SECRET, text)
        self.assertNotIn(str(list(SECRET.encode()[:8]))[1:-1], text)

    def hostile_hdf5(self):
        import h5py

        size = self.secret.stat().st_size // 4
        other = self.folder / "other.h5"
        with h5py.File(other, "w") as made:
            made["values"] = list(range(8))
        layout = h5py.VirtualLayout(shape=(8,), dtype="i8")
        layout[:] = h5py.VirtualSource(str(other), "values", shape=(8,))
        cube_layout = h5py.VirtualLayout(shape=(2, 2, 2), dtype="f4")
        cube_layout[:] = h5py.VirtualSource(str(other), "cube", shape=(2, 2, 2))
        return {
            "external storage": hdf5(lambda f: f.create_dataset(
                "values", shape=(size, 4), dtype="u1", external=[(str(self.secret), 0, size * 4)])),
            "external link": hdf5(lambda f: f.__setitem__("values", h5py.ExternalLink(str(other), "/values"))),
            "virtual dataset": hdf5(lambda f: f.create_virtual_dataset("values", layout)),
            "external cube": hdf5(lambda f: f.create_dataset(
                "cube", shape=(2, 5, 4), dtype="u1", external=[(str(self.secret), 0, 40)])),
            "virtual cube": hdf5(lambda f: f.create_virtual_dataset("cube", cube_layout)),
            "linked cube": hdf5(lambda f: f.__setitem__("cube", h5py.ExternalLink(str(other), "/cube"))),
        }

    def test_hdf5_shows_no_other_file(self):
        for what, content in self.hostile_hdf5().items():
            with self.subTest(what):
                self.expect_rejected(upload(self.service, "evil.h5", content), "evil.h5")
                self.expect_rejected(upload(self.service, "evil.h5", content, "&cubes=true"), "evil.h5")
                packed = io.BytesIO()
                with zipfile.ZipFile(packed, "w") as archive:
                    archive.writestr("evil.h5", content)
                    archive.writestr("evil2.h5", content)
                self.expect_rejected(upload(self.service, "evil.zip", packed.getvalue(), "&cubes=true"), "evil")

    def deploy_a_model_of_cubes(self):
        import numpy

        cubes = io.BytesIO()
        numpy.save(cubes, numpy.random.default_rng(1).normal(size=(2, 6, 5, 4)).astype("float32"))
        status, text = upload(self.service, "training.npy", cubes.getvalue(), "&id=training")
        self.assertEqual(status, 201, text)
        _, text = said(self.service, "POST", "/api/training/jobs", json.dumps({"document": GRAPH}).encode(),
                       "application/json")
        job = "/api/training/jobs/" + json.loads(text)["id"]
        wait_until(lambda: json.loads(self.service.ask(job))["state"] in ("completed", "failed"), "the job has ended")
        model = json.loads(self.service.ask("/api/models"))["models"][0]["id"]
        status, text = said(self.service, "PUT", "/api/models/deployments/fields",
                            json.dumps({"model": model}).encode(), "application/json")
        self.assertEqual(status, 200, text)

    def test_hdf5_that_a_viewer_has_scored_shows_no_other_file(self):
        self.deploy_a_model_of_cubes()
        _, text = said(self.service, "POST", "/api/tokens", json.dumps({"name": "v", "role": "viewer"}).encode(),
                       "application/json")
        viewer = json.loads(text)["token"]
        for what, content in self.hostile_hdf5().items():
            with self.subTest(what):
                status, text = said(self.service, "POST", "/api/models/fields/predict/cubes", content, token=viewer)
                self.assertEqual(status, 422, text)
                self.assertNotIn(SECRET, text)

        self.upload_damaged_copies_of_the_model()

    def upload_damaged_copies_of_the_model(self):
        model = json.loads(self.service.ask("/api/models"))["models"][0]["id"]
        request = urllib.request.Request(f"{self.service.url}/api/models/{model}/file",
                                         headers={"Authorization": f"Bearer {self.service.token}"})
        with urllib.request.urlopen(request) as answer:
            archive = answer.read()

        def send(content):
            return said(self.service, "POST", "/api/models/upload?name=again", content, "application/x-tar")

        status, text = send(archive)
        self.assertEqual(status, 201, text)
        for change in (lambda b: b.replace(b'"version"', b'"versioN"', 1), lambda b: b[:len(b) // 2],
                       lambda b: b.replace(b'"F32"', b'"F99"', 1)):
            status, text = send(change(archive))
            self.assertEqual(status, 422, text)
            self.assertNotIn(".partial", text)
            self.assertNotIn("scratch", text)

    def test_a_list_of_cubes_names_no_file_elsewhere(self):
        npy = io.BytesIO()
        import numpy

        numpy.save(npy, numpy.zeros((2, 2, 2), "float32"))
        outside = self.folder / "outside.npy"
        outside.write_bytes(npy.getvalue())
        status, text = upload(self.service, "list.csv", f"{outside}\n".encode(), "&cubes=true")
        self.assertEqual(status, 422, text)

    def test_a_view_without_an_end_is_rejected(self):
        content = database([f"CREATE VIEW v AS {ENDLESS.replace('count(*)', 'i')}"])
        self.expect_rejected(upload(self.service, "endless.sqlite", content), "endless.sqlite")

    def test_an_endless_file_of_a_job_fails_the_job_with_its_name(self):
        with tempfile.TemporaryDirectory() as place:
            service = Service(STOKER, Path(place), variables={"STOKER_HDF5_CPU_SECONDS": "1"})
            try:
                self.expect_rejected(upload(service, "uploaded.h5", endless_hdf5()), "uploaded.h5")
                (service.data / "datasets").mkdir(exist_ok=True)
                (service.data / "datasets" / "endless.h5").write_bytes(endless_hdf5())
                job = {"document": TABLE.format(path="datasets/endless.h5")}
                status, text = said(service, "POST", "/api/training/jobs", json.dumps(job).encode(), "application/json")
                self.assertEqual(status, 201, text)
                job = "/api/training/jobs/" + json.loads(text)["id"]
                wait_until(lambda: json.loads(service.ask(job))["state"] in ("completed", "failed"), "the job has ended")
                ended = service.ask(job)
                self.assertEqual(json.loads(ended)["state"], "failed", ended)
                self.assertIn("endless.h5' is damaged", ended)
            finally:
                service.end()

    def test_an_endless_file_on_the_command_line_is_an_error_with_its_name(self):
        (self.folder / "endless.h5").write_bytes(endless_hdf5())
        (self.folder / "endless.yaml").write_text(TABLE.format(path="endless.h5"))
        for words in (["train", "endless.h5", "--target", "y"], ["run", "endless.yaml"], ["preview", "endless.h5"]):
            with self.subTest(words[0]):
                ended = subprocess.run([STOKER, *words], cwd=self.folder, capture_output=True, text=True,
                                       env={**os.environ, "STOKER_HDF5_CPU_SECONDS": "1"})
                self.assertEqual(ended.returncode, 2, ended.stderr)
                self.assertIn("endless.h5' is damaged", ended.stderr)

    def expect_all_kinds_read(self, service):
        import numpy

        npy = io.BytesIO()
        numpy.save(npy, numpy.ones((2, 6, 5, 4), "float32"))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name in ("a.npy", "b.npy"):
                archive.writestr(name, npy.getvalue())
        for name, content in {
                "rows.csv": b"a,b\n1,2\n3,4\n", "rows.json": b'[{"a": 1, "b": 2}, {"a": 3, "b": 4}]', "rows.sqlite": database(["CREATE TABLE t (a)", "INSERT INTO t VALUES (1)"]),
                "rows.h5": hdf5(lambda f: f.__setitem__("values", [1.0, 2.0])), "cubes.npy": npy.getvalue(),
                "cubes.zip": packed.getvalue()}.items():
            status, text = upload(service, name, content)
            self.assertEqual(status, 201, f"{name}: {text}")

    def test_files_of_clients_are_read_without_landlock(self):
        with tempfile.TemporaryDirectory() as place:
            service = Service(STOKER, Path(place), variables={"STOKER_LANDLOCK": "off"})
            try:
                self.assertEqual(json.loads(service.ask("/api/system"))["readers"]["landlock"], 0)
                self.expect_all_kinds_read(service)
            finally:
                service.end()

    def test_a_library_that_was_taken_over_reaches_nothing(self):
        self.expect_a_library_that_was_taken_over_reaches_nothing({})

    def test_a_library_that_was_taken_over_reaches_nothing_without_landlock(self):
        self.expect_a_library_that_was_taken_over_reaches_nothing({"STOKER_LANDLOCK": "off"})

    def expect_a_library_that_was_taken_over_reaches_nothing(self, variables):
        libraries = self.folder / "libraries"
        libraries.mkdir(exist_ok=True)
        shutil.copy(HOSTILE_LIBRARY, libraries / "libhdf5_serial.so.103")
        before = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = str(libraries) + (":" + before if before else "")
        try:
            with tempfile.TemporaryDirectory() as place:
                service = Service(STOKER, Path(place), variables=variables)
                try:
                    if json.loads(service.ask("/api/system"))["readers"]["reach_other_files"]:
                        self.skipTest("this machine has neither Landlock nor mount namespaces")
                    content = hdf5(lambda f: f.__setitem__("values", [1.0, 2.0]))
                    status, text = upload(service, "wells.h5", content)
                    self.assertEqual(status, 422, text)
                    self.assertIn("wells.h5", text)
                    self.assertIn("SIGSEGV", text, "SIGFPE says that something was reached")
                    self.assertEqual(upload(service, "rows.csv", b"a,b\n1,2\n3,4\n")[0], 201)
                finally:
                    service.end()
        finally:
            if before is None:
                del os.environ["LD_LIBRARY_PATH"]
            else:
                os.environ["LD_LIBRARY_PATH"] = before

    def test_a_crash_on_the_command_line_is_an_error_with_the_name_of_the_file(self):
        libraries = self.folder / "crashing"
        libraries.mkdir()
        shutil.copy(HOSTILE_LIBRARY, libraries / "libhdf5_serial.so.103")
        (self.folder / "wells.h5").write_bytes(hdf5(lambda f: f.__setitem__("values", [1.0, 2.0])))
        ended = subprocess.run([STOKER, "preview", "wells.h5"], cwd=self.folder, capture_output=True, text=True,
                               env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("wells.h5", ended.stderr)

    def endless_work(self, service, token):
        """A connection on which a query without an end was asked for."""
        body = json.dumps({"source": {"source": "sqlite", "path": "datasets/rows.sqlite", "query": ENDLESS}}).encode()
        address = urllib.parse.urlsplit(service.url)
        connection = socket.create_connection((address.hostname, address.port))
        connection.sendall(
            (f"POST /api/datasets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
             f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
        return connection

    def running_children(self, service):
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == service.process.pid:
                found.append(int(stat.parent.name))
        return found

    def test_work_ends_with_its_client_and_leaves_turns_to_others(self):
        with tempfile.TemporaryDirectory() as place:
            service = Service(STOKER, Path(place))
            try:
                (service.data / "datasets").mkdir(exist_ok=True)
                (service.data / "datasets" / "rows.sqlite").write_bytes(database(["CREATE TABLE t (a)"]))
                wait_until(lambda: not self.running_children(service), "the service has set up")
                _, text = said(service, "POST", "/api/tokens", json.dumps({"name": "b", "role": "user"}).encode(),
                               "application/json")
                other = json.loads(text)["token"]
                clients = [self.endless_work(service, service.token) for _ in range(2)]
                wait_until(lambda: len(self.running_children(service)) == 2, "both run")
                self.assertEqual(upload(service, "rows.csv", b"a,b\n1,2\n3,4\n")[0], 429, "the token has two turns")
                rows = said(service, "POST", "/api/datasets/upload?name=rows.csv", b"a,b\n1,2\n3,4\n", token=other)
                self.assertEqual(rows[0], 201, rows[1])
                for each in clients:
                    each.close()
                wait_until(lambda: not self.running_children(service), "the work has ended with its clients")
                log = (service.data / "audit.jsonl").read_text()
                self.assertEqual(log.count("499"), 2, log)
                self.assertEqual(upload(service, "rows.csv", b"a,b\n1,2\n3,4\n")[0], 201)
            finally:
                service.end()


if __name__ == "__main__":
    absent = [name for name in ("h5py", "numpy") if importlib.util.find_spec(name) is None]
    if absent:
        print(f"not installed: {', '.join(absent)}; tools/setup does that")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
