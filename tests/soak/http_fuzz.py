#!/usr/bin/env python3
"""Sends a running service damaged requests: heads, bodies, documents, cut off, in pieces, many at once.

    tests/soak/http_fuzz.py build/stoker --seconds 600 --seed 1
    tests/soak/http_fuzz.py build/stoker --requests 100000

Whatever it is sent, the service answers nothing with 500, is well afterwards, ends when it is told to, and
nothing that it writes holds a token.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import mutations
import rounds
from rounds import Fault

REQUESTS_OF_A_ROUND = 50
PATIENCE = 3600  # seconds for an answer, on a machine that is busy


class Service:
    def __init__(self, program):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-soak-http-"))
        self.errors = open(self.folder / "errors", "w+")
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", "--data", "data", "--requests-per-second", "0", "--header-seconds", "2",
             "--body-seconds", "2", "--idle-seconds", "2"], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.port = int(re.search(r":(\d+),", self.process.stdout.readline()).group(1))
        self.token = re.search(r"stk_\w+", self.process.stdout.readline()).group(0)

    def said(self):
        self.errors.flush()
        return (self.folder / "errors").read_text(errors="replace")

    def check(self):
        """That it is alive and answers."""
        if self.process.poll() is not None:
            raise Fault(f"the service ended with {self.process.returncode}\n  {self.said()[-3000:]}")
        answer = self.exchange([b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"])
        if b'"ok"' not in answer:
            raise Fault(f"the service is not well: {answer[:300]}\n  {self.said()[-3000:]}")

    def exchange(self, pieces, leaves=False):
        """What comes back until the service closes, or nothing more comes for a while."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            if leaves:  # by a reset, which is how a killed client goes
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            try:
                for piece in pieces:
                    connection.sendall(piece)
                if leaves:
                    return b""
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    answer += part
                    if b"text/event-stream" in answer:
                        break
            except (ConnectionError, BrokenPipeError):
                pass
        return answer

    def end(self):
        self.check()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=PATIENCE)  # sanitizers look for leaks first
        said = self.said()
        if code != 0:
            raise Fault(f"the service ended with {code}\n  {said[-3000:]}")
        written = said + (self.folder / "data" / "audit.jsonl").read_text(errors="replace")
        if self.token in written:
            raise Fault(f"a token stands in what the service wrote; its files are in {self.folder}")
        shutil.rmtree(self.folder, ignore_errors=True)


def document():
    """A job that is refused at the last moment, so that none is trained."""
    cards = {"load": {"type": "data_load", "config": {"source": "sample", "sample_name": "boston_housing"}},
             "split": {"type": "data_split", "inputs": {"dataset": "load.dataset"}},
             "model": {"type": "model_define_gpu", "config": {"hidden_layers": [4], "epochs": 1}},
             "train": {"type": "train_gpu", "inputs": {"train_dataset": "split.train_dataset",
                                                      "model_spec": "model.model_spec"},
                       "config": {"target_column": "MEDV", "device": "cpu"}}}
    return {"job_name": "damaged", "card": "nowhere", "time_limit": 1,
            "document": {"version": 1, "name": "damaged", "cards": cards}}


def bodies(token):
    training = {"job_name": "damaged", "config": {"dataset_ids": ["29b7b2f4-eb9b-4e22-a77f-c03f0c4ca870"], "epochs": 1}}
    return [("POST", "/api/training/jobs", document()), ("POST", "/api/training/jobs", training),
            ("POST", "/api/session", {"token": token[:-1]}), ("POST", "/api/tokens", {"name": "a", "role": "viewer"}),
            ("POST", "/api/training/jobs/1/cancel", {}), ("DELETE", "/api/tokens/1", {})]


PATHS = ["/healthz", "/readyz", "/metrics", "/api/openapi.json", "/api/training/jobs?limit=3&before=9&state=running",
         "/api/training/jobs/1", "/api/training/jobs/1/events", "/api/training/jobs/1/log?lines=5", "/api/session",
         "/api/tokens", "/api/training/jobs/%2e%2e/log"]


def request_of(chance, service):
    common = f"Host: localhost\r\nAuthorization: Bearer {service.token}\r\n"
    if chance.random() < 0.4:
        return f"GET {chance.choice(PATHS)} HTTP/1.1\r\n{common}Last-Event-ID: 1-2-3\r\n\r\n".encode()
    method, path, content = chance.choice(bodies(service.token))
    body = json.dumps(content).encode()
    whole = chance.random() < 0.6  # a damaged body with a sound head
    if whole:
        for _ in range(chance.choice([1, 1, 2, 4])):
            body = mutations.of_text(chance, body, b'{"config": {}}')
    if chance.random() < 0.3:
        at = mutations.position(chance, body)
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:at], body[at:]) if part)
        length, body = "Transfer-Encoding: chunked", chunks + b"0\r\n\r\n"
    else:
        length = f"Content-Length: {len(body)}"
    head = f"{method} {path} HTTP/1.1\r\n{common}Content-Type: application/json\r\n{length}\r\n\r\n"
    return head.encode() + body


def damaged(chance, service):
    content = request_of(chance, service)
    for _ in range(chance.choice([0, 1, 1, 2, 4, 8])):
        content = mutations.of_text(chance, content, request_of(chance, service))
    return content


def play_round(service, chance):
    for _ in range(REQUESTS_OF_A_ROUND):
        content = b"".join(damaged(chance, service) for _ in range(chance.choice([1, 1, 1, 3])))
        at = mutations.position(chance, content)
        answer = service.exchange([content[:at], content[at:]], leaves=chance.random() < 0.1)
        if answer and not re.match(rb"HTTP/1\.1 [1-5]\d\d ", answer):
            raise Fault(f"this is no answer: {answer[:200]}\n  to {content[:2000]}")
        if re.search(rb"HTTP/1\.1 500 ", answer):
            raise Fault(f"{answer[:500]}\n  to {content[:2000]}\n  {service.said()[-1000:]}")
    service.check()


def main():
    def further(parser):
        parser.add_argument("--requests", type=int, help="so many, however long they take")

    options = rounds.options_of(__doc__, further)
    if options.requests:
        options.count, options.seconds = -(-options.requests // REQUESTS_OF_A_ROUND), float("inf")
    service = Service(options.program)
    began = time.monotonic()
    try:
        rounds.play(options, lambda chance, folder, number: play_round(service, chance))
    except SystemExit as end:
        try:
            service.end()
        except Fault as fault:
            print(fault)
            sys.exit(1)
        print(f"the service took them for {time.monotonic() - began:.0f} s and ended well")
        sys.exit(end.code)
    finally:
        if service.process.poll() is None:
            os.kill(service.process.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
