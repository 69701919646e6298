#!/usr/bin/env python3
"""Runs the commands of docs/service.md as they stand, one block after the other, against a real service.

  examples.py STOKER
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from contract import Service

PAGE = Path(__file__).resolve().parents[2] / "docs" / "service.md"


def main():
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        service = Service(sys.argv[1], folder)
        try:
            # Starting it is done already; the token is the real one. curl tells an answer that is an error.
            lines = ["set -eu", f"export TOKEN={service.token}"]
            for block in blocks:
                if "make serve" not in block:
                    lines.append(re.sub(r"^export TOKEN=.*$", "", block, flags=re.MULTILINE))
            text = "\n".join(lines).replace("http://127.0.0.1:8000", service.url)
            text = text.replace("curl -s", "curl --fail-with-body --max-time 300 -s")
            done = subprocess.run(["bash", "-c", text], cwd=folder, capture_output=True, text=True)
            ended = '"state":"completed"' in done.stdout
        finally:
            service.end()
    if done.returncode != 0 or not ended or text.count("curl ") < 8:
        sys.exit(f"the examples of {PAGE} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    main()
