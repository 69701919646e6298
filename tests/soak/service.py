#!/usr/bin/env python3
"""What a service must bear: many jobs on record, many listeners, and its own end in the middle of the work.

    tests/soak/service.py build/stoker [--jobs 100] [--kills 5] [--listeners 200] [--listen-seconds 600]
        [--records 10000] [--clients 50] [--ask-seconds 60] [--predict-seconds 10] [--only killed|listened|asked|predicted|idle]

Each part prints a line with what was measured and fails where something is wrong: a job with two processes, an epoch
told twice or not at all, a listener with a gap. Times are printed; they fail only with --hold-times.
"""
import argparse
import asyncio
import atexit
import copy
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

JOBS = "/api/training/jobs"


def document(epochs, seed, rows=2000):
    cards = {
        "load": {"type": "data_load",
                 "config": {"source": "sample", "sample_name": "friedman", "sample_rows": rows}},
        "split": {"type": "data_split", "inputs": {"dataset": "load.dataset"}},
        "model": {"type": "model_define_gpu",
                  "config": {"hidden_layers": [8], "epochs": epochs, "seed": seed, "batch_size": 32}},
        "train": {"type": "train_gpu",
                  "inputs": {"train_dataset": "split.train_dataset", "model_spec": "model.model_spec"},
                  "config": {"target_column": "y", "device": "cpu", "checkpoint_seconds": 0.2}},
    }
    return {"job_name": f"soak {seed}", "document": {"version": 1, "name": f"soak-{seed}", "cards": cards}}


class Service:
    started = []  # ended with this program, however that ends

    def __init__(self, program, data, *options):
        self.program, self.data, self.options, self.token = program, data, options, None
        self.process = None

    def start(self):
        self.process = subprocess.Popen([self.program, "serve", "--port", "0", "--data", str(self.data),
                                         "--requests-per-second", "0", *self.options],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        Service.started.append(self.process)
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", self.process.stdout.readline()).group(1))
        if self.token is None:
            self.token = self.process.stdout.readline().split()[-1]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()

    def memory(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def connect(self, method, path, body=None, headers=""):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
        await self.send(writer, method, path, body, headers)
        return reader, writer

    async def send(self, writer, method, path, body=None, headers=""):
        content = b"" if body is None else json.dumps(body).encode()
        writer.write((f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n{headers}"
                      f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n").encode() + content)
        await writer.drain()

    @staticmethod
    async def answer(reader):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(re.search(r"content-length: (\d+)", head, re.I).group(1))
        return int(head.split()[1]), json.loads(await reader.readexactly(length))

    async def ask(self, method, path, body=None):
        reader, writer = await self.connect(method, path, body)
        status, found = await self.answer(reader)
        writer.close()
        if status >= 400:
            raise SystemExit(f"{method} {path}: {status} {found}")
        return found


async def events_of(service, job, place="", until=None):
    """(name, id, data) of each event until the stream ends."""
    header = f"Last-Event-ID: {place}\r\n" if place else ""
    reader, writer = await service.connect("GET", f"{JOBS}/{job}/events", headers=header)
    await reader.readuntil(b"\r\n\r\n")
    text = b""
    try:
        while until is None or time.monotonic() < until:
            size = int(await reader.readline(), 16)
            text += (await reader.readexactly(size + 2))[:-2]
            if size == 0:
                return
            *whole, text = text.split(b"\n\n")
            for piece in whole:
                fields = dict(line.split(": ", 1) for line in piece.decode().split("\n") if ": " in line)
                if fields.get("event"):
                    yield fields["event"], fields.get("id"), json.loads(fields["data"])
    finally:
        writer.close()


def processes_by_job(data):
    """Of each job the processes that run it, as /proc tells. One that another of them has begun to start, and that
    is not the program to be started yet, has the words of its parent and does not count."""
    found = {}
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if str(data / "runs") in words and "--as" in words:
                found.setdefault(words[words.index("--as") + 1], []).append(int(entry.name))
    return {run: [each for each in processes if parents[each] not in processes] for run, processes in found.items()}


async def watch_for_doubles(data, doubles):
    while True:
        for run, processes in processes_by_job(data).items():
            if len(processes) > 1 and len(processes_by_job(data).get(run, [])) > 1:
                doubles.append((run, processes))
        await asyncio.sleep(0.05)


async def killed(options, data):
    """Jobs in a queue all complete while the service is killed again and again."""
    service = Service(options.program, data, "--workers", "2")
    service.start()
    began = time.monotonic()
    jobs = [(await service.ask("POST", JOBS, document(options.epochs, seed)))["id"] for seed in range(options.jobs)]
    doubles = []
    watch = asyncio.create_task(watch_for_doubles(data, doubles))
    kills = 0
    while True:
        counts = {state: (await service.ask("GET", f"{JOBS}?state={state}&limit=1"))["total"]
                  for state in ("completed", "failed", "cancelled")}
        if sum(counts.values()) == len(jobs):
            break
        if kills < options.kills and counts["completed"] >= len(jobs) * (kills + 1) / (options.kills + 2):
            service.end(signal.SIGKILL)
            kills += 1
            await asyncio.sleep(0.3)
            service.start()
        await asyncio.sleep(0.2)
    watch.cancel()
    faults = [f"two processes on {run}: {processes}" for run, processes in doubles]
    if counts["completed"] != len(jobs) or kills != options.kills:
        faults.append(f"{counts} after {kills} kills")
    for job in jobs:
        epochs = [data_of["epoch"] async for name, _, data_of in events_of(service, job) if name == "epoch_finished"]
        if epochs != list(range(1, options.epochs + 1)):
            faults.append(f"{job} told epochs {epochs[:5]}… ({len(epochs)} of {options.epochs})")
    service.end()
    print(f"killed: {len(jobs)} jobs, {kills} kills, {time.monotonic() - began:.1f} s, {counts['completed']} completed, "
          f"{len(doubles)} with two processes, {len(faults)} faults")
    return faults


STREAMS_OF_A_TOKEN = 16


async def users_of(service, listeners):
    """The service as users with tokens of their own reach it, enough of them for so many streams."""
    users = []
    for number in range(-(-listeners // STREAMS_OF_A_TOKEN)):
        made = await service.ask("POST", "/api/tokens", {"name": f"listener-{number}", "role": "viewer"})
        users.append(copy.copy(service))
        users[-1].token = made["token"]
    return users


async def listened(options, data):
    """Listeners of one job hear all of it, and the service stays as large as it was."""
    service = Service(options.program, data, "--workers", "1")
    service.start()
    job = (await service.ask("POST", JOBS, document(10**6, 1, rows=200_000)))["id"]
    async for name, _, _ in events_of(service, job):
        if name == "epoch_finished":
            break
    users = await users_of(service, options.listeners)
    until = time.monotonic() + options.listen_seconds
    faults, heard = [], []

    async def listen(number):
        epochs, progress = 0, 0
        async for name, _, data_of in events_of(users[number % len(users)], job, until=until):
            if name == "epoch_finished":
                if data_of["epoch"] != epochs + 1:
                    faults.append(f"listener {number}: epoch {data_of['epoch']} behind {epochs}")
                epochs = data_of["epoch"]
            progress += name == "progress"
        heard.append(epochs)

    listeners = [asyncio.create_task(listen(number)) for number in range(options.listeners)]
    await asyncio.sleep(min(10, options.listen_seconds / 4))
    memory, used, since = service.memory(), service.processor_seconds(), time.monotonic()
    await asyncio.sleep(max(0.1, until - time.monotonic()))
    grown = service.memory() - memory
    share = (service.processor_seconds() - used) / (time.monotonic() - since)
    await asyncio.wait_for(asyncio.gather(*listeners), 3600)
    await service.ask("POST", f"{JOBS}/{job}/cancel")
    await asyncio.sleep(1)
    service.end()
    print(f"listened: {options.listeners} listeners for {options.listen_seconds:.0f} s heard {min(heard)} to {max(heard)} "
          f"epochs each; memory {memory:.1f} MB and {grown:+.1f}; {share:.0%} of a core; {len(faults)} gaps")
    if grown > 10:
        faults.append(f"memory grew by {grown:.1f} MB")
    if not min(heard):
        faults.append("a listener heard nothing")
    return faults[:10]


def fill(store, count):
    """Copies of the one job that is there."""
    with sqlite3.connect(store) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(stoker_jobs)")]
        job = dict(zip(columns, database.execute("SELECT * FROM stoker_jobs").fetchone()))
        rows = [[{"id": f"{number:08d}-0000-4000-8000-000000000000", "number": number + 1}.get(name, job[name])
                 for name in columns] for number in range(1, count)]
        database.executemany(f"INSERT INTO stoker_jobs VALUES ({','.join('?' * len(columns))})", rows)


async def asked(options, data):
    """Clients that ask once a second, by turns for the list and for a job."""
    service = Service(options.program, data)
    service.start()
    job = (await service.ask("POST", JOBS, document(3, 1)))["id"]
    while (await service.ask("GET", f"{JOBS}/{job}"))["state"] != "completed":
        await asyncio.sleep(0.1)
    service.end()
    fill(data / "store.sqlite", options.records)
    service.start()
    times = {"list": [], "show": []}
    until = time.monotonic() + options.ask_seconds

    async def client(number):
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port, limit=1 << 24)
        await asyncio.sleep(number / options.clients)
        turn = number
        while time.monotonic() < until:
            turn += 1
            what = "list" if turn % 2 else "show"
            before = time.monotonic()
            await service.send(writer, "GET", JOBS if what == "list" else f"{JOBS}/{job}")
            status, _ = await service.answer(reader)
            times[what].append(time.monotonic() - before)
            if status != 200:
                raise SystemExit(f"{what}: {status}")
            await asyncio.sleep(max(0, 1 - (time.monotonic() - before)))

    await asyncio.gather(*(client(number) for number in range(options.clients)))
    service.end()
    faults = []
    for what, taken in times.items():
        taken.sort()
        late = taken[int(len(taken) * 0.99)] * 1000
        print(f"asked: {what} of {options.records} jobs, {len(taken)} times by {options.clients} clients: "
              f"median {taken[len(taken) // 2] * 1000:.1f} ms, 99th percentile {late:.1f} ms")
        if options.hold_times and late > 20:
            faults.append(f"{what} takes {late:.1f} ms at the 99th percentile")
    return faults


async def idle(options, data):
    """Memory of a service with nothing to do, and the way from a POST to the first epoch."""
    service = Service(options.program, data)
    service.start()
    memory = service.memory()
    first = []
    for seed in range(5):
        began = time.monotonic()
        job = (await service.ask("POST", JOBS, document(200, seed)))["id"]
        async for name, _, _ in events_of(service, job):
            if name == "epoch_finished":
                first.append(time.monotonic() - began)
                break
        while (await service.ask("GET", f"{JOBS}/{job}"))["state"] != "completed":
            await asyncio.sleep(0.1)
    service.end()
    print(f"idle: {memory:.1f} MB; first epoch told after {', '.join(f'{each:.2f}' for each in first)} s")
    faults = [] if memory < 60 else [f"{memory:.1f} MB with nothing to do"]
    if options.hold_times and sorted(first)[2] > 1.5:
        faults.append(f"the first epoch was told after {sorted(first)[2]:.2f} s")
    return faults


async def predicted(options, data):
    """Requests a second that a deployed network answers, asked by wrk beside it on the same cores."""
    if shutil.which("wrk") is None:
        print("predicted: not measured, wrk is not installed")
        return []
    service = Service(options.program, data)
    service.start()
    job = (await service.ask("POST", JOBS, document(20, 1)))["id"]
    while (await service.ask("GET", f"{JOBS}/{job}"))["state"] != "completed":
        await asyncio.sleep(0.1)
    model = (await service.ask("GET", "/api/models"))["models"][0]
    await service.ask("PUT", "/api/models/deployments/measured", {"model": model["id"]})
    row = {column["name"]: 0.25 for column in model["columns"]}
    expected = (await service.ask("POST", "/api/models/measured/predict", {"rows": [row]}))["predictions"]
    script = data / "predict.lua"
    script.write_text(f"""wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer {service.token}"
wrk.body = '{json.dumps({"rows": [row]})}'
""")
    done = subprocess.run(["wrk", "-t1", "-c16", f"-d{options.predict_seconds}s", "--latency", "-s", str(script),
                           f"http://127.0.0.1:{service.port}/api/models/measured/predict"],
                          capture_output=True, text=True, check=True).stdout
    again = (await service.ask("POST", "/api/models/measured/predict", {"rows": [row]}))["predictions"]
    service.end()
    rate = float(re.search(r"Requests/sec:\s+([0-9.]+)", done).group(1))
    number, unit = re.search(r"99%\s+([0-9.]+)(us|ms|s)", done).groups()
    slowest = float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)", done)
    print(f"predicted: {rate:,.0f} requests/s, 99th percentile {slowest:.2f} ms")
    faults = [f"wrk says: {refused.group(0)}"] if refused else []
    if expected != again:
        faults.append(f"{expected} became {again}")
    if options.hold_times and (rate < 5000 or slowest > 10):
        faults.append(f"{rate:,.0f} requests/s, 99th percentile {slowest:.2f} ms")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--listeners", type=int, default=200)
    parser.add_argument("--listen-seconds", type=float, default=600)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--ask-seconds", type=float, default=60)
    parser.add_argument("--predict-seconds", type=int, default=10)
    parser.add_argument("--hold-times", action="store_true", help="fail beyond the bars, on a machine with nothing else")
    parser.add_argument("--only", nargs="+", default=["killed", "listened", "asked", "predicted", "idle"])
    options = parser.parse_args()
    options.program = str(options.program.resolve())
    faults = []
    atexit.register(lambda: [process.kill() for process in Service.started if process.poll() is None])
    for part in options.only:
        with tempfile.TemporaryDirectory(prefix="stoker-soak-") as folder:
            faults += [f"{part}: {fault}" for fault in
                       asyncio.run(globals()[part](options, pathlib.Path(folder).resolve() / "data"))]
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
