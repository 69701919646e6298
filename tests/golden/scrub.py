"""Takes out of run folders what belongs to the machine that made them. The folder that everything was made in
is called /golden afterwards; a reader puts its own in that place."""

import json
import re
import shutil

STANDS_FOR_FOLDER = "/golden"
TEXT = {".json", ".jsonl", ".yaml", ".csv", ".lock", ".out", ".errors"}
PROCESS = {"id": 1, "start": 1, "host": "golden", "boot": "golden", "process_space": "golden"}


def texts_below(folder):
    """Files that may name a folder. Those of a checkpoint do not, and are known by their hashes."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in TEXT and "checkpoints" not in path.parts:
            yield path


def rename_folder(folder, before, after):
    for path in texts_below(folder):
        text = path.read_text()
        if before in text:
            path.write_text(text.replace(before, after))


def scrub_record(path):
    record = json.loads(path.read_text())
    if "cpu" not in record:
        return
    record["cpu"] = "a CPU"
    record["cores"] = 2
    if record["process"]:
        record["process"] = PROCESS
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def scrub(folder):
    rename_folder(folder, str(folder), STANDS_FOR_FOLDER)
    for path in texts_below(folder):
        path.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", path.read_text()))
    for path in folder.rglob("run.json"):
        scrub_record(path)
    for path in folder.rglob("run.lock"):
        path.write_text(f"process {PROCESS['id']} on {PROCESS['host']}\n")
    # Made again from the rest at any time.
    for path in list(folder.rglob("report.html")):
        path.unlink()
    for path in list(folder.rglob("plots")) + list(folder.rglob("previews")):
        shutil.rmtree(path)
    for model in folder.rglob("model"):  # nobody goes on with what is finished
        shutil.rmtree(model.parent / "checkpoints", ignore_errors=True)
