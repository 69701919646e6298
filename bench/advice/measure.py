#!/usr/bin/env python3
"""Holds what `stoker advise` says of the documents here against what running them takes.

    bench/advice/measure.py BUILD/stoker [--work FOLDER] [--only NAME ...] [--runs 3] [--times 2] [--lines FILE]
                            [--ways "cpu fused host, cuda:0 graph vram"]

Every document is advised on, then run in every way that there is here: devices × engines × placements, batch size
and precision as written, without the cache. The ways take turns, so that what else the machine does meets all of
them. A way that takes more than --times as long as the best in its first run is not run again, and one that takes
three times as long as the best before it, and 10 s, is ended: neither is the best. One line per document, then how
many documents hold the bars. --lines appends what was found as JSON, one line per document, and leaves out documents
that are there already: what was killed goes on with the document that it was at. --ways runs these and what is
recommended alone, where all of them would take too long.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import make_files

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = ("fused", "graph", "eager")
PLACEMENTS = {"cpu": ("host", "window"), "cuda": ("vram", "window", "pinned", "host")}
MOST_TIMES, MOST_SECONDS = 1.1, 0.2
HOPELESS_TIMES, HOPELESS_SECONDS = 3, 10
LONGEST_SECONDS = 3600
TIME_BAR, MEMORY_BAR = 0.3, 0.2
MIB = 2**20


class NoAdvice(Exception):
    """There was none, for the reason given."""


def devices(stoker):
    told = json.loads(subprocess.run([stoker, "devices", "--json"], check=True, capture_output=True, text=True).stdout)
    return [each["device"] for each in told["devices"]]


def all_ways(stoker):
    return [(device, engine, placement) for device in devices(stoker) for engine in ENGINES
            for placement in PLACEMENTS["cpu" if device == "cpu" else "cuda"]]


def ways_asked_for(text):
    return [tuple(way.split()) for way in text.split(",")]


def run(stoker, document, way, out, limit):
    """Seconds from start to end, those of the processor, peak memory; None where it is refused or takes too long."""
    device, engine, placement = way
    if device == "cpu" and placement == "host":
        placement = "auto"  # which is there what host is for a GPU
    words = [stoker, "run", str(document), "--no-cache", "--out", str(out), "--json", "--quiet", "--device", device,
             "--set", f"cards.train.config.placement={placement}"]
    if engine:
        words += ["--engine", engine]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        process = subprocess.Popen(words, stdout=output, stderr=errors)
        ending = threading.Timer(min(limit, LONGEST_SECONDS), process.kill)
        ending.start()
        _, status, usage = os.wait4(process.pid, 0)
        ending.cancel()
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode == 2 or seconds >= limit and process.returncode < 0:
            return None
        if process.returncode != 0:
            sys.exit(f"{' '.join(words)} ended with {process.returncode}: {errors.read().decode()}")
        folder = pathlib.Path(json.load(output)["folder"])
    record = json.loads((folder / "run.json").read_text())
    shutil.rmtree(folder)
    return {"seconds": seconds, "processor": usage.ru_utime + usage.ru_stime, "peak": record["peak_memory_bytes"]}


def measure_ways(stoker, document, ways, rounds, times, out):
    runs = {way: [] for way in ways}
    for number in range(rounds):
        firsts = [each[0]["seconds"] for each in runs.values() if each]
        for way in list(runs):
            if number > 0 and runs[way][0]["seconds"] > times * min(firsts):
                continue
            fastest = min((each["seconds"] for made in runs.values() for each in made), default=float("inf"))
            limit = max(HOPELESS_SECONDS, HOPELESS_TIMES * fastest) if number == 0 else float("inf")
            made = run(stoker, document, way, out, limit)
            if made is None:
                del runs[way]
            else:
                runs[way].append(made)
    return {way: {key: statistics.median(each[key] for each in made) for key in made[0]} | {"runs": len(made)}
            for way, made in runs.items()}


def advise(stoker, document):
    began = time.monotonic()
    done = subprocess.run([stoker, "advise", str(document), "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        raise NoAdvice(done.stderr.strip())
    return json.loads(done.stdout), time.monotonic() - began


def look_at(stoker, document, options, out):
    told, seconds = advise(stoker, document)
    is_solved = told["is_solved"]
    chosen = told["recommended"]
    if is_solved:
        own = (devices(stoker)[0], "", "host")
        ways = [own]
    else:
        own = (chosen["device"], chosen["engine"], chosen["placement"])
        ways = list(dict.fromkeys([*ways_asked_for(options.ways), own])) if options.ways else all_ways(stoker)
    found = measure_ways(stoker, document, ways, options.runs, options.times, out)
    best = min(found, key=lambda way: found[way]["seconds"])
    if own not in found:
        raise NoAdvice(f"{own} was recommended, and is refused or takes far longer than others")
    predicted = {(each["device"], "" if is_solved else each["engine"], each["placement"]): each for each in told["ways"]}
    return {
        "document": document.stem, "advice_seconds": seconds, "best": best, "recommended": own,
        "best_seconds": found[best]["seconds"], "seconds": found[own]["seconds"],
        "predicted_seconds": chosen["predicted_seconds"], "peak": found[own]["peak"],
        "predicted_peak": chosen["predicted_peak_bytes"], "left_out": told["left_out"],
        "load": os.getloadavg()[0],  # over the last minute, what is measured included
        "ways": [{"way": way, **found[way], "predicted": predicted.get(way)} for way in found],
        "gpus": told["gpu_estimates"],
    }


def short(way):
    return " ".join(part for part in way if part)


def row(line):
    ratio = line["seconds"] / line["best_seconds"]
    return (f"| {line['document']} | {short(line['best'])} | {line['best_seconds']:.2f} | {short(line['recommended'])} "
            f"| {ratio:.2f} | {line['predicted_seconds']:.2f} / {line['seconds']:.2f} "
            f"({line['predicted_seconds'] / line['seconds']:.2f}) | {line['predicted_peak'] / MIB:.0f} / "
            f"{line['peak'] / MIB:.0f} ({line['predicted_peak'] / line['peak']:.2f}) | {line['load']:.0f} |")


def summary(lines, without_advice):
    """Documents without advice are among those that do not hold a bar."""
    count = len(lines) + without_advice
    if not lines:
        return "there was advice on no document"
    good = sum(line["seconds"] <= max(MOST_TIMES * line["best_seconds"], line["best_seconds"] + MOST_SECONDS)
               for line in lines)
    near = sum(abs(line["predicted_seconds"] / line["seconds"] - 1) <= TIME_BAR for line in lines)
    memory = sum(abs(line["predicted_peak"] / line["peak"] - 1) <= MEMORY_BAR for line in lines)
    every = [way for line in lines for way in line["ways"] if way["predicted"]]
    near_all = sum(abs(way["predicted"]["predicted_seconds"] / way["seconds"] - 1) <= TIME_BAR for way in every)
    return (f"{good} of {count} recommendations take at most {MOST_TIMES} × the best or {MOST_SECONDS} s more (bar: 23 "
            f"of 24)\n{near} of {count} predicted times within {TIME_BAR:.0%} (bar: 20 of 24); of all ways {near_all} "
            f"of {len(every)}\n{memory} of {count} predicted peaks of memory within {MEMORY_BAR:.0%}\n"
            f"advice took {max(line['advice_seconds'] for line in lines):.1f} s at most")


def lines_in(path):
    """Those that are whole. Half of one, from a process that was killed, is taken out of the file."""
    text = path.read_text()
    whole = text[:text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return [json.loads(line) for line in whole.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stoker")
    parser.add_argument("--work", help="folder for the files that documents read; a temporary one by default")
    parser.add_argument("--only", nargs="*", help="names of documents")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--times", type=float, default=2)
    parser.add_argument("--lines", help="file of what was found")
    parser.add_argument("--ways", help="device, engine and placement of each way to run, in place of all")
    options = parser.parse_args()
    stoker = str(pathlib.Path(options.stoker).resolve())
    kept = []
    without_advice = 0
    if options.lines and pathlib.Path(options.lines).exists():
        kept = lines_in(pathlib.Path(options.lines))
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(options.work or temporary)
        work.mkdir(parents=True, exist_ok=True)
        make_files.make(work / "long.csv", 300_000, 20)
        make_files.make(work / "broad.csv", 40_000, 120)
        print("| document | best found | s | recommended | × best | predicted / actual s | predicted / actual MiB | load |\n"
              "|---|---|---|---|---|---|---|---|", flush=True)
        for line in kept:
            print(row(line), flush=True)
        for path in sorted(HERE.glob("*.yaml")):
            if options.only and path.stem not in options.only or any(each["document"] == path.stem for each in kept):
                continue
            document = pathlib.Path(shutil.copy(path, work))
            try:
                line = look_at(stoker, document, options, pathlib.Path(temporary) / "runs")
            except NoAdvice as reason:
                without_advice += 1
                print(f"| {path.stem} | no advice: {reason} |", flush=True)
                continue
            kept.append(line)
            print(row(line), flush=True)
            if options.lines:
                with open(options.lines, "a") as file:
                    file.write(json.dumps(line) + "\n")
    print()
    print(summary(kept, without_advice))


if __name__ == "__main__":
    main()
