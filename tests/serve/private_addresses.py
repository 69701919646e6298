#!/usr/bin/env python3
"""Asks a real service for data at addresses of its own machine, where a real server counts who comes.

  private_addresses.py STOKER
"""
import json
import socket
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from contract import Service, has_libpq

STOKER = sys.argv[1]

# Other spellings of 127.0.0.1, ::1, the metadata address and private networks.
HOSTS = [
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7F.1", "0x7f.0.0.1",
    "0177.0.0.1", "017700000001", "0", "0.0.0.0", "localhost", "LOCALHOST", "localhost.", "[::1]",
    "[0:0:0:0:0:0:0:1]", "[::]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]",
    "[fd00:ec2::254]", "[fe80::1]", "169.254.169.254", "2852039166", "10.0.0.1", "172.16.0.1", "192.168.0.1",
    "100.64.0.1", "224.0.0.1", "255.255.255.255",
]


class Listener:
    """Takes connections at a port of every address of this machine, counts them and sends a table."""

    def __init__(self):
        self.hits = 0
        self.sockets = [socket.create_server(("0.0.0.0", 0))]
        self.port = self.sockets[0].getsockname()[1]
        if socket.has_ipv6:
            try:
                self.sockets.append(socket.create_server(("::", self.port), family=socket.AF_INET6))
            except OSError:
                pass  # This machine has no IPv6.
        for each in self.sockets:
            threading.Thread(target=self.take, args=(each,), daemon=True).start()

    def take(self, listening):
        while True:
            connection, _ = listening.accept()
            self.hits += 1
            with connection:
                asked = connection.recv(4096)
                body = b"a,b\n1\n" if b"/uneven" in asked else b"a,b\n1,2\n3,4\n"
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def record(service, source, name="asked"):
    """The status and the text of the answer to a dataset that is put on record."""
    request = urllib.request.Request(service.url + "/api/datasets", method="POST", headers={
        "Authorization": f"Bearer {service.token}", "Content-Type": "application/json"},
        data=json.dumps({"id": name, "source": source}).encode())
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class PrivateAddresses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.listener = Listener()
        cls.place = tempfile.TemporaryDirectory()
        port = cls.listener.port
        proxy = f"http://127.0.0.1:{port}"
        cls.service = Service(STOKER, Path(cls.place.name), [
            "--allow-urls", "--allow-databases", "--allow-variable", "OPERATORS_DATABASE"], {
            "http_proxy": proxy, "HTTP_PROXY": proxy, "https_proxy": proxy, "all_proxy": proxy,
            "OPERATORS_DATABASE": f"postgresql://reader@127.0.0.1:{port}/plant?sslmode=disable&connect_timeout=2"})

    @classmethod
    def tearDownClass(cls):
        cls.service.end()
        cls.place.cleanup()

    def expect_not_reached(self, source):
        before = self.listener.hits
        status, text = record(self.service, source)
        self.assertEqual(status, 422, f"{source}: {text}")
        self.assertEqual(self.listener.hits, before, source)
        return text

    def test_urls_reach_none(self):
        self.assertGreaterEqual(len(HOSTS), 30)
        for host in HOSTS:
            with self.subTest(host):
                text = self.expect_not_reached(
                    {"source": "url", "url": f"http://{host}:{self.listener.port}/a.csv"})
                self.assertIn("is unknown or has no public address", text)

    def test_unknown_and_private_hosts_give_the_same_error(self):
        port = self.listener.port
        for source in ({"source": "url", "url": f"http://HOST:{port}/a.csv"},
                       {"source": "postgres", "uri": f"postgresql://reader@HOST:{port}/plant", "table": "wells"}):
            if source["source"] == "postgres" and not has_libpq():
                continue
            with self.subTest(source["source"]):
                said = [self.expect_not_reached({**source, name: source[name].replace("HOST", host)}).replace(host, "HOST")
                        for name in source.keys() & {"url", "uri"} for host in ("unknown.invalid", "localhost")]
                self.assertEqual(said[0], said[1])

    def test_databases_that_a_client_names_reach_none(self):
        port = self.listener.port
        addresses = [f"postgresql://reader@{host}:{port}/plant" for host in HOSTS]
        addresses += [
            f"postgresql://reader@/plant?host=127.0.0.1&port={port}",
            f"postgresql://reader@/plant?hostaddr=127.0.0.1&port={port}",
            f"postgresql://reader@example.org:{port}/plant?hostaddr=127.0.0.1",
            f"postgresql://reader@127.0.0.1:{port},localhost:{port}/plant",
            "postgresql:///plant", "postgresql://%2Frun%2Fpostgresql/plant",
            "postgresql:///plant?service=other", "postgresql:///plant?passfile=/etc/passwd",
        ]
        for address in addresses:
            with self.subTest(address):
                self.expect_not_reached({"source": "postgres", "uri": address, "table": "wells"})

    @unittest.skipUnless(has_libpq(), "libpq is not installed")
    def test_database_that_the_operator_names_is_reached(self):
        before = self.listener.hits
        status, _ = record(self.service, {"source": "postgres", "uri": "${OPERATORS_DATABASE}", "table": "wells"})
        self.assertNotEqual(status, 201)  # The server there speaks HTTP.
        self.assertGreater(self.listener.hits, before)

    def test_job_reaches_none(self):
        before = self.listener.hits
        document = {"version": 1, "name": "small", "cards": {
            "load": {"type": "data_load", "config": {
                "source": "url", "url": f"http://2130706433:{self.listener.port}/a.csv"}},
            "split": {"type": "data_split", "inputs": {"dataset": "load.dataset"}},
            "model": {"type": "model_define_gpu", "config": {"epochs": 1}},
            "train": {"type": "train_gpu", "config": {"target_column": "b", "device": "cpu"}, "inputs": {
                "train_dataset": "split.train_dataset", "model_spec": "model.model_spec"}}}}
        request = urllib.request.Request(
            self.service.url + "/api/training/jobs", method="POST", data=json.dumps({"document": document}).encode(),
            headers={"Authorization": f"Bearer {self.service.token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                job = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            self.fail(error.read().decode())
        while job["state"] not in ("completed", "failed"):
            job = json.loads(self.service.ask(f"/api/training/jobs/{job['id']}"))
        self.assertEqual(job["state"], "failed")
        self.assertIn("has no public address", job["reason"])
        self.assertEqual(self.listener.hits, before)


class AllowedPrivateAddresses(unittest.TestCase):
    def setUp(self):
        self.listener = Listener()
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        options = ["--allow-urls", "--allow-databases", "--allow-private-urls"]
        self.service = Service(STOKER, Path(place.name), options)
        self.addCleanup(self.service.end)

    def test_urls_are_reached(self):
        url = f"http://2130706433:{self.listener.port}/a.csv"
        status, text = record(self.service, {"source": "url", "url": url})
        self.assertEqual(status, 201, text)
        self.assertGreater(self.listener.hits, 0)

    def test_faulty_files_are_named_by_their_address(self):
        for path in ["uneven.csv", "uneven/"]:
            with self.subTest(path):
                url = f"http://127.0.0.1:{self.listener.port}/{path}"
                status, text = record(self.service, {"source": "url", "url": url, "format": "csv"})
                self.assertEqual(status, 422, text)
                self.assertIn(url, text)
                self.assertNotIn("scratch", text)

    @unittest.skipUnless(has_libpq(), "libpq is not installed")
    def test_files_and_sockets_of_the_machine_are_rejected_in_addresses(self):
        host = f"127.0.0.1:{self.listener.port}"
        for keyword in ["sslkey", "sslcert", "sslrootcert", "sslcrl", "passfile", "service"]:
            with self.subTest(keyword):
                uri = f"postgresql://reader@{host}/plant?{keyword}=/etc/passwd"
                status, text = record(self.service, {"source": "postgres", "uri": uri, "table": "wells"})
                self.assertEqual(status, 422, text)
                self.assertIn(f"the keyword {keyword} is not accepted", text)
        for uri in ["postgresql:///plant", "postgresql://%2Frun%2Fpostgresql/plant",
                    f"postgresql://{host},%2Frun%2Fpostgresql/plant", "postgresql:///plant?host=%2Frun"]:
            with self.subTest(uri):
                status, text = record(self.service, {"source": "postgres", "uri": uri, "table": "wells"})
                self.assertEqual(status, 422, text)
                self.assertIn("a socket of this machine", text)
        self.assertEqual(self.listener.hits, 0)

    @unittest.skipUnless(has_libpq(), "libpq is not installed")
    def test_databases_are_reached(self):
        uri = f"postgresql://reader@127.0.0.1:{self.listener.port}/plant?sslmode=disable"
        record(self.service, {"source": "postgres", "table": "wells", "uri": uri})
        self.assertGreater(self.listener.hits, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
