"""What the soak drivers share: rounds that are drawn from a seed, so that each can be repeated alone, and the
program run with bounds."""

import argparse
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

MOST_SECONDS = 3600  # of one call of the program; a busy machine is no fault


class Fault(Exception):
    """Something that the program must never do."""


class Finished:
    def __init__(self, words, code, output, errors):
        self.words, self.code, self.output, self.errors = words, code, output, errors

    def __str__(self):
        return f"stoker {' '.join(self.words)}\n  exit code {self.code}\n  {self.errors[-1500:].strip()}"


class Program:
    """The program, run inside a folder; never with more memory than it is given."""

    def __init__(self, path, folder, most_memory=0, environment=None):
        self.path, self.folder, self.most_memory = path, folder, most_memory
        # Without gnuplot: pictures take longer than all else here, and may be missing.
        self.environment = {**os.environ, "PATH": "", **(environment or {})}

    def start(self, words, environment=None):
        def bound():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if self.most_memory:
                resource.setrlimit(resource.RLIMIT_AS, (self.most_memory, self.most_memory))

        return subprocess.Popen([self.path, *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, preexec_fn=bound, text=True, errors="replace",
                                env={**self.environment, **(environment or {})})

    def finish(self, words, process):
        try:
            output, errors = process.communicate(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Fault(f"stoker {' '.join(words)}\n  took longer than {MOST_SECONDS} s") from None
        return Finished(words, process.returncode, output, errors)

    def run(self, *words, environment=None):
        return self.finish(words, self.start(words, environment))

    def must(self, *words, codes=(0,), environment=None):
        """The same; any other exit code is a fault."""
        finished = self.run(*words, environment=environment)
        if finished.code not in codes:
            raise Fault(f"{finished}\n  where {' or '.join(map(str, codes))} was expected")
        return finished


def options_of(description, further=lambda parser: None):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path, help="the stoker to test")
    parser.add_argument("--seconds", type=float, default=600, help="no round begins after so many")
    parser.add_argument("--count", type=int, default=10**9, help="the most rounds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this round alone, as a report of a fault names it")
    further(parser)
    options = parser.parse_args()
    options.program = str(options.program.resolve())
    return options


def repeat_command(options, number):
    """The same call for one round; how many there are makes no difference to it."""
    words = []
    given = iter(sys.argv)
    for word in given:
        if word in ("--seconds", "--count", "--seed", "--only"):
            next(given)
        else:
            words.append(word)
    return " ".join([*words, f"--seed {options.seed} --only {number}"])


def play(options, one_round):
    """Calls one_round(random, folder, number), which raises Fault, until the time or the count is over."""
    began = time.monotonic()
    numbers = [options.only] if options.only is not None else range(options.count)
    faults = played = 0
    for number in numbers:
        if time.monotonic() - began > options.seconds and options.only is None:
            break
        folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-soak-"))
        played += 1
        try:
            one_round(random.Random(f"{options.seed} {number}"), folder, number)
            shutil.rmtree(folder, ignore_errors=True)
        except Fault as fault:
            faults += 1
            print(f"round {number}: {fault}\n  its files are in {folder}\n  again: {repeat_command(options, number)}\n",
                  flush=True)
    print(f"{played} rounds from seed {options.seed} in {time.monotonic() - began:.1f} s, {faults} with faults")
    sys.exit(1 if faults or not played else 0)
