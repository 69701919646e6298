#!/usr/bin/env python3
"""Asks a real service whatever its own description allows, and what it does not, by schemathesis: no answer with a
status, a type or a form that is not described, and none of 500 and above. Its figures are read as Prometheus would.

  contract.py STOKER [--examples N] [--seed N] [--seconds N]
"""
import argparse
import ctypes
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

# What is asked of every answer. A body that the schema allows may still be refused, with 422 and a sentence.
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "ignored_auth",
]


def has_libpq():
    """Whether the service can read PostgreSQL: it opens this library when it needs it."""
    for name in ("libpq.so.5", "libpq.so"):
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            pass
    return False


class Service:
    """A service of its own on a free port, which ends with this."""

    def __init__(self, stoker, folder, options=(), variables=None):
        self.log = open(folder / "errors.txt", "w+")
        self.data = folder / "data"
        self.process = subprocess.Popen(
            [stoker, "serve", "--port", "0", "--data", str(self.data), "--requests-per-second", "0", *options],
            env={**os.environ, **(variables or {})}, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = re.search(r"http://\S+?:\d+", self.process.stdout.readline()).group()
        self.token = re.search(r"stk_\w+", self.process.stdout.readline()).group()

    def ask(self, path, body=None):
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.token}"})
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=3600) as answer:
            return answer.read().decode()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(3600)
        # Processes of jobs outlive the service, but not this check.
        for lock in self.data.glob("jobs/*/lock"):
            text = lock.read_text().strip()
            if text.isdigit() and int(text) > 1:
                try:
                    os.killpg(int(text), signal.SIGKILL)
                except OSError:
                    pass  # It is gone already.


def finished_job(service):
    """A job to ask about: the example of the description itself, with one epoch."""
    api = json.loads(service.ask("/api/openapi.json"))
    example = api["paths"]["/api/training/jobs"]["post"]["requestBody"]["content"]["application/json"]["example"]
    example["config"]["epochs"] = 1
    job = json.loads(service.ask("/api/training/jobs", example))
    until = time.monotonic() + 3600
    while job["state"] not in ("completed", "failed"):
        if time.monotonic() > until:
            sys.exit(f"the job is still {job['state']}")
        time.sleep(0.2)
        job = json.loads(service.ask(f"/api/training/jobs/{job['id']}"))
    if job["state"] != "completed":
        sys.exit(f"the job of the description's example failed: {job.get('reason')}")
    return job["id"]


def asked_by_schemathesis(service, job, options, folder):
    # Half of the ids are that of a job that is there, or no answer about one would ever be looked at; the same for
    # projects.
    (folder / "hooks.py").write_text(f"""
import random
import schemathesis

chosen = random.Random({options.seed})

@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if path_parameters and "id" in path_parameters and chosen.random() < 0.5:
        path_parameters["id"] = "{job}"
    return path_parameters

@schemathesis.hook
def map_query(context, query):
    if query and "project" in query and chosen.random() < 0.8:
        query["project"] = "default"
    return query
""")
    command = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{service.url}/api/openapi.json",
        "--header", f"Authorization: Bearer {service.token}",
        "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
        "--max-examples", str(options.examples), "--seed", str(options.seed),
        "--request-timeout", "3600", "--continue-on-failure", "--no-color", "--suppress-health-check", "all"]
    if options.seconds:
        command += ["--max-time", str(options.seconds)]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(folder),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=environment).returncode


def read_figures(service):
    from prometheus_client.parser import text_string_to_metric_families

    families = {family.name: family for family in text_string_to_metric_families(service.ask("/metrics"))}
    for name, kind in {"stoker_jobs": "gauge", "stoker_slots": "gauge", "stoker_slots_in_use": "gauge",
                       "stoker_http_requests": "counter", "stoker_http_request_seconds": "histogram",
                       "stoker_http_connections": "gauge", "stoker_event_listeners": "gauge",
                       "process_resident_memory_bytes": "gauge", "stoker_build_info": "gauge"}.items():
        if name not in families or families[name].type != kind:
            sys.exit(f"/metrics has no {kind} {name}")
    counted = sum(sample.value for sample in families["stoker_http_requests"].samples)
    timed = sum(sample.value for sample in families["stoker_http_request_seconds"].samples
                if sample.name.endswith("_count"))
    if counted != timed or counted < 10:
        sys.exit(f"/metrics counts {counted} requests and has the times of {timed}")
    failed = [sample for sample in families["stoker_http_requests"].samples
              if sample.labels["status"].startswith("5")]
    if failed:
        sys.exit(f"/metrics counts failures: {failed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stoker")
    parser.add_argument("--examples", type=int, default=15, help="of each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0, help="0: until all examples were tried")
    options = parser.parse_args()
    missing = [name for name in ("schemathesis", "prometheus_client") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}; tools/setup does that")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        service = Service(options.stoker, folder)
        try:
            code = asked_by_schemathesis(service, finished_job(service), options, folder)
            if service.process.poll() is not None:
                sys.exit(f"the service ended with {service.process.returncode}")
            read_figures(service)
        finally:
            service.end()
            service.log.seek(0)
            log = service.log.read()
        if service.token in log:
            sys.exit("the log of the service tells a token")
        for event in ("event=start", "event=job", "event=stop"):
            if event not in log:
                sys.exit(f"the log of the service has no {event}:\n{log[-2000:]}")
        sys.exit(code)


if __name__ == "__main__":
    main()
