#!/usr/bin/env python3
"""Asks a real service, in many ways, for errors that would mention the value of an allowed variable.

  hidden_variables.py STOKER
"""
import json
import socket
import struct
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from contract import Service, has_libpq

STOKER = sys.argv[1]
MARK = b"oksekret"  # in every value, in lower case; no spelling of a value changes letters


class HostileServer:
    """Speaks HTTP, and enough of PostgreSQL to end a connection with words that repeat what it was sent."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.heard = b""
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            connection, _ = self.socket.accept()
            with connection:
                first = connection.recv(65536)
                self.heard += first
                if first.startswith(b"GET "):
                    connection.sendall(self.page(first.split(b" ")[1]))
                else:
                    self.end_as_postgres(connection, first)

    @staticmethod
    def page(target):
        path, _, query = target.partition(b"?")
        said = urllib.parse.unquote_to_bytes(query or path.rsplit(b"/", 1)[-1])
        if path.startswith(b"/to/"):
            return b"HTTP/1.1 302 Found\r\nLocation: " + path[len(b"/to/"):] + b"\r\nContent-Length: 0\r\n\r\n"
        if path.startswith(b"/loop"):
            return b"HTTP/1.1 302 Found\r\nLocation: " + target + b"\r\nContent-Length: 0\r\n\r\n"
        if path.startswith(b"/reason"):
            return b"HTTP/1.1 404 No " + said + b"\r\nContent-Length: 0\r\n\r\n"
        if path.startswith(b"/cut"):
            return b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\na,b\n1"
        if path.startswith(b"/text"):
            body = b"no table at all: \0\1\2 " + said
        elif path.startswith(b"/uneven"):
            body = b"a,b\n1,2\n" + said + b",2,3,4\n1,2\n"
        elif path.startswith(b"/header"):
            body = said + b"," + said + b"\n1,2\n"
        else:
            body = b"a,b\n1,2\n3,4\n"
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def end_as_postgres(self, connection, first):
        encryption_request = struct.pack("!II", 8, 80877103)
        if first == encryption_request:
            connection.sendall(b"N")
            first = connection.recv(65536)
            self.heard += first
        said = first[8:].replace(b"\0", b" ").strip()
        fields = b"SFATAL\0VFATAL\0C28000\0Mno entry for \"" + said.replace(b" ", b"\" \"") + b"\"\0\0"
        connection.sendall(b"E" + struct.pack("!I", len(fields) + 4) + fields)


def variables_for(port):
    return {
        "T_PLAIN": "OKSEKRET-7",
        "T_MIXED": "OkSekret7Mixed",
        "T_ODD": "OKSEKRET'\"&<>%2B[7]",
        "T_LONG": "OKSEKRET-" + "".join(f"{i * 7919 % 9973:04d}x" for i in range(60)),
        "T_PATH": "deep/OKSEKRET-file.csv",
        "T_SPACE": "OKSEKRET with blanks",
        "T_PAGE": f"http://127.0.0.1:{port}/reason/OKSEKRET-page?token=OKSEKRET-token",
        "T_DATABASE": f"postgresql://oksekret_user:OKSEKRET%2Dpw@127.0.0.1:{port}/oksekret_db?connect_timeout=5",
        "T_HOST": "oksekret-host.invalid",
    }


def web_addresses(port):
    """Each would be in an error as it stands: in its host, port, path, query, file or redirect."""
    own = f"http://127.0.0.1:{port}"
    return [
        "http://${T_PLAIN}/a.csv", "http://${T_PLAIN}.invalid/a.csv", "http://x-${T_MIXED}.invalid/a.csv",
        "http://${T_LONG}/a.csv", "http://${T_HOST}/a.csv", "https://${T_HOST}/a.csv",
        "http://${T_ODD}/a.csv", "http://${T_PATH}", "http://127.0.0.1:${T_PLAIN}/a.csv",
        "http://127.0.0.1:1/${T_PLAIN}", "http://[${T_PLAIN}]/a.csv", "http://${T_PLAIN}@127.0.0.1/a.csv",
        f"{own}/text/${{T_PLAIN}}", f"{own}/text/${{T_LONG}}", f"{own}/text/${{T_PATH}}",
        f"{own}/text/${{T_ODD}}", f"{own}/text/${{T_PLAIN}}.parquet", f"{own}/text/${{T_PLAIN}}.npy",
        f"{own}/text/${{T_PLAIN}}.h5", f"{own}/text/${{T_PLAIN}}.zip", f"{own}/text/${{T_PLAIN}}.csv.gz",
        f"{own}/text/${{T_PLAIN}}.json", f"{own}/text/${{T_PLAIN}}.xlsx", f"{own}/text/a.${{T_PLAIN}}",
        f"{own}/reason/${{T_PLAIN}}", f"{own}/reason?a=${{T_PLAIN}}", f"{own}/reason?a=${{T_LONG}}",
        f"{own}/reason?${{T_ODD}}", f"{own}/cut/${{T_PLAIN}}", f"{own}/uneven.csv?${{T_PLAIN}}",
        f"{own}/header.csv?${{T_PLAIN}}", f"{own}/to/http://${{T_PLAIN}}.invalid/",
        f"{own}/to/http://${{T_MIXED}}/", f"{own}/to/https://127.0.0.1:1/${{T_PLAIN}}",
        f"{own}/to/ftp://${{T_PLAIN}}/", f"{own}/to/http://${{T_PLAIN}}@127.0.0.1/",
        f"{own}/to/http://127.0.0.1:${{T_PLAIN}}/", f"{own}/loop?${{T_PLAIN}}", f"{own}/${{T_SPACE}}",
        "http://${T_PAGE}", "${T_PAGE}", "${T_PLAIN}", "${T_DATABASE}",
    ]


def database_addresses(port):
    own = f"127.0.0.1:{port}"
    return [
        "${T_PLAIN}", "${T_DATABASE}", "${T_SPACE}", "postgresql://${T_PLAIN}@127.0.0.1:1/x",
        f"postgresql://${{T_PLAIN}}@{own}/x", f"postgresql://u:${{T_PLAIN}}@{own}/x",
        f"postgresql://u@{own}/${{T_PLAIN}}", f"postgresql://u@{own}/${{T_MIXED}}",
        f"postgresql://u@{own}/${{T_LONG}}", "postgresql://u@${T_PLAIN}/x", "postgresql://u@${T_HOST}/x",
        "postgresql://u@127.0.0.1:${T_PLAIN}/x", f"postgresql://u@{own}/x?sslmode=${{T_PLAIN}}",
        f"postgresql://u@{own}/x?target_session_attrs=${{T_PLAIN}}",
        f"postgresql://u@{own}/x?require_auth=${{T_PLAIN}}", f"postgresql://u@{own}/x?${{T_PLAIN}}=1",
        f"postgresql://u@{own}/x?connect_timeout=${{T_PLAIN}}",
        f"postgresql://u@{own}/x?application_name=${{T_PLAIN}}", f"postgresql://u@{own}/x?options=${{T_PLAIN}}",
        f"postgresql://u@{own}/x?client_encoding=${{T_PLAIN}}", "postgresql://${T_ODD}/x",
        "postgresql://u@%${T_PLAIN}/x", f"postgresql://${{T_DATABASE}}@{own}/x",
        f"postgresql://u@{own}/${{T_PAGE}}",
    ]


def document(source):
    return {"version": 1, "name": "small", "cards": {
        "load": {"type": "data_load", "config": source},
        "split": {"type": "data_split", "inputs": {"dataset": "load.dataset"}},
        "model": {"type": "model_define_gpu", "config": {"epochs": 1}},
        "train": {"type": "train_gpu", "config": {"target_column": "price", "device": "cpu"}, "inputs": {
            "train_dataset": "split.train_dataset", "model_spec": "model.model_spec"}}}}


class HiddenVariables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = HostileServer()
        cls.place = tempfile.TemporaryDirectory()
        variables = variables_for(cls.server.port)
        options = ["--allow-urls", "--allow-databases", "--allow-private-urls", "--workers", "2"]
        for name in variables:
            # A variable that is a whole address would be bound to its host.
            options += ["--allow-variable", name]
        cls.service = Service(STOKER, Path(cls.place.name), options, variables)
        cls.answers = []

    @classmethod
    def tearDownClass(cls):
        cls.service.end()
        cls.place.cleanup()

    def ask(self, method, path, body=None):
        """The status and the bytes of an answer, which is looked at for values as well."""
        request = urllib.request.Request(self.service.url + path, method=method, headers={
            "Authorization": f"Bearer {self.service.token}", "Content-Type": "application/json"})
        if body is not None:
            request.data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request) as answer:
                status, said = answer.status, bytes(answer.headers) + answer.read()
                content = said[len(bytes(answer.headers)):]
        except urllib.error.HTTPError as error:
            status, content = error.code, error.read()
            said = bytes(error.headers) + content
        self.expect_hidden(said, f"{method} {path} {body}")
        return status, content

    def expect_hidden(self, said, where):
        at = said.lower().find(MARK)
        if at >= 0:
            self.fail(f"{where}: {said[max(0, at - 200):at + 200]!r}")

    def sources(self):
        port = self.server.port
        yield from ({"source": "url", "url": each, "url_timeout": 20} for each in web_addresses(port))
        yield from ({"source": "postgres", "uri": each, "table": "wells"} for each in database_addresses(port))

    def test_datasets_show_none(self):
        self.assertGreaterEqual(len(list(self.sources())), 40)
        for number, source in enumerate(self.sources()):
            with self.subTest(source=source):
                status, said = self.ask("POST", "/api/datasets", {"id": f"asked-{number}", "source": source})
                self.assertIn(status, (201, 400, 422, 503), said)
                if status == 201:
                    self.ask("GET", f"/api/datasets/asked-{number}")
                    self.ask("GET", f"/api/datasets/asked-{number}/preview")
        self.ask("GET", "/api/datasets")
        self.expect_hidden_on_disk()

    def test_jobs_show_none(self):
        jobs = []
        for source in self.sources():
            with self.subTest(source=source):
                status, said = self.ask("POST", "/api/training/jobs", {"document": document(source)})
                # Without libpq, the host in an address of a database cannot be compared with that of a variable.
                missing = not has_libpq() and b"needs the library libpq" in said
                self.assertIn(status, (503,) if missing else (201, 400, 422), said)
                if status == 201:
                    jobs.append(json.loads(said)["id"])
        self.assertGreater(len(jobs), 20)
        for job in jobs:
            state = ""
            while state not in ("completed", "failed"):
                _, said = self.ask("GET", f"/api/training/jobs/{job}")
                state = json.loads(said)["state"]
            self.assertEqual(state, "failed")
            for what in ("logs", "log", "events", "metrics"):
                self.ask("GET", f"/api/training/jobs/{job}/{what}")
        for path in ("/api/training/jobs", "/api/runs", "/api/system", "/metrics"):
            self.ask("GET", path)
        self.expect_hidden_on_disk()

    def expect_hidden_on_disk(self):
        """In no byte and no name of a file: the store, the folders of jobs and runs, and the service's log."""
        for file in self.service.data.rglob("*"):
            self.expect_hidden(str(file.relative_to(self.service.data)).encode(), "the name of a file")
            if file.is_file():
                self.expect_hidden(file.read_bytes(), file)
        self.expect_hidden(Path(self.service.log.name).read_bytes(), "the log of the service")


class BoundVariables(unittest.TestCase):
    def test_value_goes_to_its_host_alone(self):
        server, other = HostileServer(), HostileServer()
        own, strange = f"127.0.0.1:{server.port}", f"127.0.0.1:{other.port}"
        options = ["--allow-urls", "--allow-databases", "--allow-private-urls", "--allow-variable", f"T_PLAIN={own}",
                   "--allow-variable", "T_DATABASE"]
        with tempfile.TemporaryDirectory() as place:
            service = Service(STOKER, Path(place), options, variables_for(server.port))
            at_start = server.heard  # the service checks the role of a database that the operator names
            try:
                def asked(source):
                    request = urllib.request.Request(service.url + "/api/datasets", method="POST", headers={
                        "Authorization": f"Bearer {service.token}", "Content-Type": "application/json"},
                        data=json.dumps({"id": "asked", "source": source}).encode())
                    try:
                        with urllib.request.urlopen(request) as answer:
                            return answer.read().decode()
                    except urllib.error.HTTPError as error:
                        return error.read().decode()

                for address in [
                        f"http://{strange}/${{T_PLAIN}}", f"http://{own}.{strange}/${{T_PLAIN}}", "http://${T_PLAIN}/",
                        f"http://{strange}/?{own}=${{T_PLAIN}}", f"http://{strange}#@{own}/${{T_PLAIN}}",
                        f"http://{own}@{strange}/${{T_PLAIN}}", f"http://localhost:{server.port}/${{T_PLAIN}}",
                        f"http://127.0.0.1/${{T_PLAIN}}", f"http://{strange}/${{T_DATABASE}}"]:
                    text = asked({"source": "url", "url": address})
                    self.assertRegex(text, "only to the host|secret|password", address)
                # Without libpq, addresses of databases are rejected before anybody looks into them.
                refusal = "only to the host|secret|password" + ("" if has_libpq() else "|needs the library libpq")
                for address in [
                        f"postgresql://${{T_PLAIN}}@{strange}/x", f"postgresql://u@{own},{strange}/${{T_PLAIN}}",
                        f"postgresql://u@{own}/${{T_PLAIN}}?host=127.0.0.2",
                        f"postgresql://u@{own}/${{T_PLAIN}}?hostaddr=127.0.0.1",
                        f"postgresql://u@{own}/${{T_PLAIN}}?port={other.port}", "postgresql:///${T_PLAIN}",
                        f"postgresql://u@{strange}/x?options=${{T_DATABASE}}"]:
                    text = asked({"source": "postgres", "uri": address, "table": "wells"})
                    self.assertRegex(text, refusal, address)
                self.assertEqual(server.heard + other.heard, at_start)
                asked({"source": "url", "url": f"http://{own}/reason/${{T_PLAIN}}"})
                self.assertIn(b"OKSEKRET-7", server.heard)
                if has_libpq():
                    asked({"source": "postgres", "uri": "${T_DATABASE}", "table": "wells"})
                    self.assertIn(b"oksekret_user", server.heard)
                self.assertEqual(other.heard, b"")
            finally:
                service.end()

    def test_odd_binding_is_rejected_at_the_start(self):
        import subprocess
        for text in ("T_PLAIN=", "T_PLAIN=http://x/", "=host", "T-PLAIN", "T_PLAIN=a b", "T_PLAIN=host:99999"):
            with tempfile.TemporaryDirectory() as place:
                ended = subprocess.run([STOKER, "serve", "--port", "0", "--data", place + "/data", "--allow-variable", text],
                                       capture_output=True, text=True, timeout=3600)
                self.assertEqual(ended.returncode, 2, text)
                self.assertRegex(ended.stderr, "neither NAME nor NAME=HOST")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
