#!/usr/bin/env python3
"""Holds every route of a real service to the boundary between projects, for every role.

The routes come from the service's own description, /api/openapi.json. A route that the table below does not know
fails the check, and so does a role that differs from the documented one.

  boundary.py STOKER
"""
import http.client
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

from contract import Service

RANK = {"viewer": 0, "user": 1, "admin": 2}
MARKER = "of-the-other-project"  # in the name of everything that is made, together with its project
ROWS = "rooms,price\n" + "".join(f"{1 + i % 7},{20 + i % 7}\n" for i in range(40))


def training(name, source, epochs=1):
    """A document that trains a small network."""
    return {"version": 1, "name": name, "cards": {
        "load": {"type": "data_load", "config": source},
        "split": {"type": "data_split", "inputs": {"dataset": "load.dataset"}},
        "model": {"type": "model_define_gpu", "config": {"hidden_layers": [4], "epochs": epochs, "batch_size": 8}},
        "train": {"type": "train_gpu", "config": {"target_column": "price", "device": "cpu"},
                  "inputs": {"train_dataset": "split.train_dataset", "model_spec": "model.model_spec"}},
        "evaluate": {"type": "evaluate", "inputs": {"trained_model": "train.trained_model",
                                                     "test_dataset": "split.test_dataset"}}}}


def searched(name, source):
    document = training(name, source)
    document["cards"]["model"]["config"]["learning_rate"] = {"grid": [0.01, 0.001]}
    document["sweep"] = {"folds": 2}
    return document


class Answer:
    def __init__(self, answer):
        self.status = answer.status
        self.bytes = answer.read()

    @property
    def text(self):
        return self.bytes.decode(errors="replace")

    def json(self):
        return json.loads(self.bytes)


class Asking:
    """Sends requests to a service, as anybody."""

    def __init__(self, url):
        self.place = urlsplit(url).netloc

    def __call__(self, token, method, path, body=None, query=None, kind="application/json"):
        pairs = [f"{name}={quote(str(value), safe='')}" for name, value in (query or {}).items()]
        target = path + ("?" + "&".join(pairs) if pairs else "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None
        if body is not None:
            headers["Content-Type"] = kind
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.place, timeout=3600)
        try:
            connection.request(method, target, data, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()


class Project:
    """A project with one of everything in it, and tokens that belong to it alone."""

    def __init__(self, ask, service, name):
        self.ask, self.admin, self.data = ask, service.token, service.data
        self.name = name
        self.id = self.must("POST", "/api/projects", {"name": f"{name} {MARKER}"}, scoped=False)["id"]
        self.tokens = {role: self.token(f"{role} of {name}", {self.id: role}) for role in ("viewer", "user")}
        self.dataset = "houses"  # the same id in every project
        self.must("POST", "/api/datasets/upload", ROWS.encode(), {"name": f"{name}-{MARKER}.csv", "id": self.dataset},
                  kind="text/csv")
        self.source = {"source": "datasets", "dataset_ids": [self.dataset]}
        self.document = self.must("POST", f"/api/projects/{self.id}/documents",
                                  {"name": f"{name} {MARKER}",
                                   "content": json.dumps(training(f"{name}-{MARKER}", self.source))})["id"]
        job = self.done(self.new_job())
        self.job, self.run = job["id"], job["run"]
        self.model = self.must("GET", "/api/models")["models"][0]["id"]
        self.archive = self.ask(self.admin, "GET", f"/api/models/{self.model}/file", query={"project": self.id}).bytes
        self.deployment = "best"
        self.must("PUT", f"/api/models/deployments/{self.deployment}", {"model": self.model})
        sweep = self.must("POST", "/api/sweeps", {"job_name": f"{name}-{MARKER}",
                                                   "document": searched(f"{name}-{MARKER}", self.source)})
        self.sweep = self.done(sweep["id"])["id"]
        self.other_token = None

    def token(self, name, projects):
        made = self.must("POST", "/api/tokens", {"name": name, "projects": projects}, scoped=False)
        return made["token"]

    def must(self, method, path, body=None, query=None, kind="application/json", scoped=True):
        """As the operator, in this project."""
        parameters = dict(query or {})
        if scoped and not path.startswith("/api/projects/"):
            parameters["project"] = self.id
        answer = self.ask(self.admin, method, path, body, parameters, kind)
        if answer.status >= 300:
            sys.exit(f"{method} {path} in {self.name}: {answer.status} {answer.text}")
        return answer.json()

    def new_job(self, epochs=1):
        return self.must("POST", "/api/training/jobs", {
            "job_name": f"{self.name}-{MARKER}",
            "document": training(f"{self.name}-{MARKER}", self.source, epochs)})["id"]

    def done(self, job):
        until = time.monotonic() + 300
        while True:
            view = self.must("GET", f"/api/training/jobs/{job}")
            if view["state"] == "completed":
                return view
            if view["state"] == "failed" or time.monotonic() > until:
                sys.exit(f"the job is {view['state']}: {view.get('reason')}")
            time.sleep(0.1)

    def new_run(self):
        """One that no job owns."""
        self.runs = getattr(self, "runs", 0) + 1
        name = f"2026-01-01_00-00-{self.runs:02}_{self.name}-{MARKER}"
        folder = self.data / "projects" / self.id / "runs" / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps({
            "format": 1, "name": "old", "status": "finished", "started": "2026-01-01T00:00:00.000Z", "seconds": 1}))
        return name

    def words(self):
        """Nothing of this may be in an answer to somebody of another project."""
        return [self.id, self.job, self.run, self.document, self.model, self.sweep, f"{self.name}-{MARKER}",
                f"{self.name} {MARKER}"]


class Op:
    """What the check knows of a route: the role it takes, and how it is asked about a thing of a project."""

    def __init__(self, role, parts=None, body=None, query=None, kind="application/json", also=(), uses="one"):
        self.role, self.parts, self.body, self.query = role, parts, body, query
        self.kind = kind
        self.fine = {200, 201, 202, *also}  # of somebody who may
        self.uses = uses  # none: about the service; one: works in a project; path: the project is in the path

    def request(self, path, project):
        parts = self.parts(project) if self.parts else {}
        for name, value in parts.items():
            path = path.replace("{" + name + "}", quote(str(value), safe="/"))
        if "{" in path:
            sys.exit(f"the check gives no value for a part of {path}")
        body = self.body(project) if callable(self.body) else self.body
        return path, body, dict(self.query(project) if callable(self.query) else self.query or {})


def about_service(role, **more):
    return Op(role, uses="none", **more)


def job(role, **more):
    return Op(role, parts=lambda p: {"id": p.job}, **more)


def fresh_job(role, **more):
    return Op(role, parts=lambda p: {"id": p.new_job()}, **more)


def run(role, **more):
    return Op(role, parts=lambda p: {"id": p.run, **more.pop("extra", {})}, **more)


def model(role, **more):
    return Op(role, parts=lambda p: {"id": p.model}, **more)


def dataset(role, **more):
    return Op(role, parts=lambda p: {"id": p.dataset}, **more)


def document(role, **more):
    return Op(role, parts=lambda p: {"id": p.document, "version": 1}, **more)


def project(role, **more):
    return Op(role, parts=lambda p: {"id": p.id}, uses="path", **more)


def new_dataset(p):
    p.datasets = getattr(p, "datasets", 0) + 1
    name = f"made-{p.datasets}"
    p.must("POST", "/api/datasets/upload", ROWS.encode(), {"name": "a.csv", "id": name}, kind="text/csv")
    return {"id": name}


def new_model(p):
    return {"id": p.must("POST", "/api/models/upload", p.archive, {"name": "again"}, kind="application/x-tar")["id"]}


def new_deployment(p):
    p.must("PUT", "/api/models/deployments/other", {"model": p.model})
    return {"name": "other"}


def new_document(p):
    return {"id": p.must("POST", f"/api/projects/{p.id}/documents", {"name": "made", "content": "version: 1"})["id"],
            "version": 1}


def removed_document(p):
    made = new_document(p)
    p.must("DELETE", f"/api/documents/{made['id']}")
    return made


def new_token(p):
    p.made_tokens = getattr(p, "made_tokens", 0) + 1
    made = p.must("POST", "/api/tokens", {"name": f"made {p.name} {p.made_tokens}", "projects": {p.id: "viewer"}},
                  scoped=False)
    return {"id": made["id"], "project": p.id}


def text_of(p):
    return {"content": json.dumps(training("checked", p.source))}


def counted(word):
    counts = {}

    def next_name(p):
        counts[p.id] = counts.get(p.id, 0) + 1
        return f"{word}-{p.name}-{counts[p.id]}"
    return next_name


named = counted("named")
MODEL_ROWS = {"rows": [{"rooms": 3}]}
OPS = {
    "GET /healthz": about_service("anybody"),
    "GET /readyz": about_service("anybody"),
    "GET /api/openapi.json": about_service("anybody"),
    "GET /api/docs": about_service("anybody"),
    "GET /api/docs/docs.css": about_service("anybody"),
    "GET /api/docs/docs.js": about_service("anybody"),
    "POST /api/session": about_service("anybody", body=lambda p: {"token": p.tokens["viewer"]}),
    "GET /api/session": about_service("viewer"),
    "DELETE /api/session": about_service("viewer"),
    "GET /api/system": about_service("viewer"),
    "GET /api/devices": about_service("viewer"),
    "GET /api/cards": about_service("viewer"),
    "GET /api/nodes": about_service("viewer"),
    "GET /api/metrics": about_service("viewer"),
    "GET /api/documents/schema": about_service("viewer"),
    "POST /api/documents/upgrade": about_service("viewer", body=text_of, also={422}),
    "GET /api/tokens": about_service("admin"),
    "POST /api/tokens": about_service("admin", body=lambda p: {"name": named(p), "projects": {p.id: "viewer"}}),
    "DELETE /api/tokens/{id}": about_service("admin", parts=new_token),
    "PUT /api/tokens/{id}/projects/{project}": about_service("admin", parts=new_token, body={"role": "user"}),
    "DELETE /api/tokens/{id}/projects/{project}": about_service("admin", parts=new_token),
    "GET /metrics": Op("viewer"),

    "GET /api/projects": about_service("viewer"),
    "POST /api/projects": about_service("user", body=lambda p: {"name": named(p)}),
    "GET /api/projects/{id}": project("viewer"),
    "PATCH /api/projects/{id}": project("user", body=lambda p: {"name": f"{p.name} {MARKER}"}),
    "DELETE /api/projects/{id}": project("user", also={409}),
    "GET /api/projects/{id}/documents": project("viewer"),
    "POST /api/projects/{id}/documents": project("user", body=lambda p: {"name": "made", "content": "version: 1"}),

    "POST /api/documents/validate": Op("viewer", body=text_of),
    "POST /api/documents/step": Op("user", body=text_of),
    "GET /api/documents/{id}": document("viewer"),
    "PATCH /api/documents/{id}": document("user", body=lambda p: {"name": f"{p.name} {MARKER}"}),
    "DELETE /api/documents/{id}": Op("user", parts=new_document),
    "POST /api/documents/{id}/bring-back": Op("user", parts=removed_document),
    "GET /api/documents/{id}/content": document("viewer"),
    "PUT /api/documents/{id}/content": Op("user", parts=new_document, body=b"version: 1", kind="application/yaml",
                                          also={428}),
    "GET /api/documents/{id}/versions": document("viewer"),
    "GET /api/documents/{id}/versions/{version}": document("viewer"),
    "POST /api/documents/{id}/versions/{version}/restore": document("user", body={}),
    "POST /api/documents/{id}/run": document("user", body={}),

    "GET /api/datasets": Op("viewer"),
    "POST /api/datasets": Op("user", body=lambda p: {"id": named(p), "source": {"source": "sample",
                                                                                 "sample_name": "boston_housing"}}),
    "POST /api/datasets/upload": Op("user", body=ROWS.encode(), query=lambda p: {"name": "a.csv", "id": named(p)},
                                    kind="text/csv"),
    "POST /api/datasets/generate": Op("user", body=lambda p: {"id": named(p), "sample": "boston_housing", "rows": 20}),
    "GET /api/datasets/{id}": dataset("viewer"),
    "GET /api/datasets/{id}/preview": dataset("viewer"),
    "POST /api/datasets/{id}/validate": dataset("viewer", body={}),
    "POST /api/datasets/{id}/repair": Op("user", parts=new_dataset, body=lambda p: {"as": named(p)}, also={422}),
    "DELETE /api/datasets/{id}": Op("user", parts=new_dataset),

    "GET /api/training/jobs": Op("viewer"),
    "POST /api/training/jobs": Op("user", body=lambda p: {"job_name": "made", "document": training("made", p.source)}),
    "GET /api/training/jobs/{id}": job("viewer"),
    "DELETE /api/training/jobs/{id}": fresh_job("user"),
    "POST /api/training/jobs/{id}/cancel": fresh_job("user", also={409}),
    "POST /api/training/jobs/{id}/pause": fresh_job("user", also={409}),
    "POST /api/training/jobs/{id}/resume": job("user", also={409}),
    "POST /api/training/jobs/{id}/continue": job("user", body={"epochs": 1}),
    "GET /api/training/jobs/{id}/metrics": job("viewer"),
    "GET /api/training/jobs/{id}/log": job("viewer"),
    "GET /api/training/jobs/{id}/events": job("viewer"),

    "GET /api/sweeps": Op("viewer"),
    "POST /api/sweeps": Op("user", body=lambda p: {"document": searched("made", p.source)}),
    "GET /api/sweeps/{id}": Op("viewer", parts=lambda p: {"id": p.sweep}),

    "GET /api/runs": Op("viewer"),
    "GET /api/runs/compare": Op("viewer", query=lambda p: {"runs": f"{p.run},{p.run}"}),
    "GET /api/runs/{id}": run("viewer"),
    "DELETE /api/runs/{id}": Op("user", parts=lambda p: {"id": p.new_run()}),
    "GET /api/runs/{id}/files": run("viewer"),
    "GET /api/runs/{id}/files/{path}": Op("viewer", parts=lambda p: {"id": p.run, "path": "run.json"}),
    "GET /api/runs/{id}/previews/{card}/{output}": Op(
        "viewer", parts=lambda p: {"id": p.run, "card": "load", "output": "dataset"}),

    "GET /api/models": Op("viewer"),
    "GET /api/models/deployments": Op("viewer"),
    "PUT /api/models/deployments/{name}": Op("user", parts=lambda p: {"name": "best"},
                                             body=lambda p: {"model": p.model}),
    "DELETE /api/models/deployments/{name}": Op("user", parts=new_deployment),
    "POST /api/models/upload": Op("user", body=lambda p: p.archive, query={"name": "again"},
                                  kind="application/x-tar"),
    "GET /api/models/{id}": model("viewer"),
    "PATCH /api/models/{id}": model("user", body=lambda p: {"name": f"{p.name}-{MARKER}"}),
    "DELETE /api/models/{id}": Op("user", parts=new_model),
    "GET /api/models/{id}/file": model("viewer"),
    "POST /api/models/{name}/predict": Op("viewer", parts=lambda p: {"name": p.deployment}, body=MODEL_ROWS),
    "POST /api/models/{name}/predict/cubes": Op("viewer", parts=lambda p: {"name": p.deployment}, body=b"none",
                                                kind="application/octet-stream", also={422}),
}
# Paths that name a thing by an id that no other project has; its project need not be named.
WITH_OWN_IDS = ("/api/documents/{id}", "/api/training/jobs/{id}", "/api/sweeps/{id}", "/api/models/{id}",
                "/api/runs/{id}")
# Things that have the same id in every project, so that asking for the other's finds one's own.
SAME_IN_ALL = ("/api/datasets/{id}", "/api/models/deployments/{name}", "/api/models/{name}")


class Check:
    def __init__(self, ask, operations, admin):
        self.ask, self.operations, self.admin = ask, operations, admin
        self.problems, self.asked, self.sent = [], 0, ""

    def expect(self, what, answer, statuses, hidden=()):
        self.asked += 1
        if answer.status not in statuses:
            self.problems.append(f"{what}: {answer.status} instead of {sorted(statuses)}: {answer.text[:200]}")
        for word in hidden:
            if word in answer.text and word not in self.sent:
                self.problems.append(f"{what}: the answer tells '{word}' of another project")

    def send(self, token, name, project, query=None):
        method, path = name.split(" ")
        path, body, own = OPS[name].request(path, project)
        query = {**own, **(query or {})}
        self.sent = f"{path} {query} {body}"  # what an answer may repeat
        return self.ask(token, method, path, body, query, OPS[name].kind)

    def described(self):
        """The table and the description name the same routes and roles."""
        for name, operation in self.operations.items():
            if name not in OPS:
                self.problems.append(f"{name} is not in the table of this check: add it with its role")
                continue
            if operation["x-role"] != OPS[name].role:
                self.problems.append(f"{name} takes the role {operation['x-role']}, not {OPS[name].role}")
            takes_project = any(each["name"] == "project" and each["in"] == "query" for each in operation["parameters"])
            if takes_project != (OPS[name].uses == "one"):
                self.problems.append(f"{name} {'takes' if takes_project else 'does not take'} a project")
        for name in OPS:
            if name not in self.operations:
                self.problems.append(f"{name} is in the table of this check and not in the description")

    def strangers(self, project):
        for name, op in OPS.items():
            if op.role == "anybody":
                self.expect(f"{name} of nobody", self.send(None, name, project), op.fine)
            else:
                self.expect(f"{name} of nobody", self.send(None, name, project), {401}, project.words())
                self.expect(f"{name} of an unknown token", self.send("stk_" + "0" * 64, name, project), {401})

    def roles(self, project):
        """In one's own project: what the role allows, and 403 for the rest."""
        for name, op in OPS.items():
            if op.role == "anybody":
                continue
            for role, token in {**project.tokens, "admin": self.admin}.items():
                query = {"project": project.id} if role == "admin" and op.uses == "one" else {}
                if name == "POST /api/projects" and role == "user":  # who makes a project belongs to several
                    token = project.token(f"makes a project beside {project.name}", {project.id: role})
                answer = self.send(token, name, project, query)
                self.expect(f"{name} of a {role}", answer, op.fine if RANK[role] >= RANK[op.role] else {403})

    def others(self, own, foreign):
        """Asked about what is in a project that the token does not belong to: as if it were not there."""
        for name, op in OPS.items():
            if op.role == "anybody" or op.uses == "none":
                continue
            names_thing = "{" in name or op.query is not None and "compare" in name
            is_same = name.split(" ")[1].startswith(SAME_IN_ALL)
            for role, token in own.tokens.items():
                if op.uses == "one":
                    answer = self.send(token, name, foreign, {"project": foreign.id})
                    self.expect(f"{name} of a {role} of another project, which it names", answer, {404}, foreign.words())
                if op.uses == "path":
                    answer = self.send(token, name, foreign)
                    self.expect(f"{name} of a {role} of another project", answer, {404}, foreign.words())
                elif RANK[role] < RANK[op.role]:
                    self.expect(f"{name} of a {role}, of another project", self.send(token, name, foreign), {403},
                                foreign.words())
                elif names_thing and not is_same:
                    answer = self.send(token, name, foreign)
                    self.expect(f"{name} of a {role}, of another project's thing", answer, {404}, foreign.words())
                elif not names_thing and name.startswith("GET"):
                    self.expect(f"{name} of a {role}, a list", self.send(token, name, own), op.fine, foreign.words())

    def several(self, token, own, foreign):
        """A token of two projects, a viewer in one and a user in the other, has in each what its role allows."""
        for name, op in OPS.items():
            if op.uses != "one":
                continue
            path = name.split(" ")[1]
            if not path.startswith(WITH_OWN_IDS) or name == "DELETE /api/runs/{id}":  # of a run without a job
                self.expect(f"{name} of a token of two projects that names none", self.send(token, name, own), {400})
            else:
                self.expect(f"{name} of a viewer of what the path names", self.send(token, name, own),
                            op.fine if op.role == "viewer" else {403})
                self.expect(f"{name} of a user of what the path names", self.send(token, name, foreign), op.fine)
                self.expect(f"{name} of what is not in the project that is named",
                            self.send(token, name, foreign, {"project": own.id}),
                            {404} if op.role == "viewer" else {403})
            answer = self.send(token, name, own, {"project": own.id})
            self.expect(f"{name} of a viewer here and a user there", answer, op.fine if op.role == "viewer" else {403})
            self.expect(f"{name} of a user there", self.send(token, name, foreign, {"project": foreign.id}), op.fine)


def check_files(check, ask, own, foreign):
    """A document reads no file and no dataset of another project, by path or by id."""
    secret = "7777.25"
    folder = check.data / "projects" / foreign.id
    (folder / "uploads" / "secret.csv").write_text(f"rooms,price\n1,{secret}\n" * 30)
    in_default = check.data / "uploads" / "secret.csv"
    in_default.write_text(f"rooms,price\n1,{secret}\n" * 30)
    listed = check.data / "projects" / own.id / "uploads" / "list.csv"
    listed.write_text(f"cube\n{folder / 'uploads' / 'secret.csv'}\n")
    places = [f"../{foreign.id}/uploads/secret.csv", f"uploads/../../{foreign.id}/uploads/secret.csv",
              str(folder / "uploads" / "secret.csv"), str(in_default), "../../uploads/secret.csv",
              f"projects/{foreign.id}/uploads/secret.csv", f"{folder}/runs/{foreign.run}/run.json",
              f"../{foreign.id}/runs/{foreign.run}/model/model.json"]
    token = own.tokens["user"]
    for place in places:
        for source in ({"source": "file", "path": place}, {"source": "cubes", "path": place},
                       {"source": "sqlite", "path": place, "table": "a"}):
            document = training("reads", source)
            requests = {
                "POST /api/training/jobs": {"document": document},
                "POST /api/documents/validate": {"content": json.dumps(document)},
                "POST /api/documents/step": {"content": json.dumps(document)},
                "POST /api/sweeps": {"document": searched("reads", source)},
                "POST /api/datasets": {"source": source}}
            for name, body in requests.items():
                answer = ask(token, *name.split(" "), body)
                check.asked += 1
                is_valid = answer.status == 200 and answer.json().get("valid") is not False
                if answer.status not in (200, 422) or is_valid or secret in answer.text:
                    check.problems.append(f"{name} reads {source}: {answer.status} {answer.text[:200]}")
    ids = {"source": "datasets", "dataset_ids": ["only-there"]}
    foreign.must("POST", "/api/datasets/upload", ROWS.encode(), {"name": "a.csv", "id": "only-there"}, kind="text/csv")
    for name, body in {"POST /api/training/jobs": {"document": training("reads", ids)},
                       "POST /api/sweeps": {"document": searched("reads", ids)},
                       "POST /api/documents/step": {"content": json.dumps(training("reads", ids))}}.items():
        check.expect(f"{name} of a dataset of another project", ask(token, *name.split(" "), body), {422})
    check.expect("a list of cubes that names another project's file",
                 ask(token, "POST", "/api/datasets", {"source": {"source": "cubes", "path": "uploads/list.csv"}}), {422})
    mine = training("reads", {"source": "file", "path": "uploads/mine.csv"})
    (check.data / "projects" / own.id / "uploads" / "mine.csv").write_text(ROWS)
    made = ask(token, "POST", "/api/training/jobs", {"document": mine})
    check.expect("a job that reads a file of its own project", made, {201})
    if made.status == 201:
        own.done(made.json()["id"])


def check_moves(check, ask, own, foreign, both):
    """A document is moved only to a project in which the token is a user."""
    def move(token, document, target):
        return ask(token, "PATCH", f"/api/documents/{document}", {"project": target})

    document = new_document(foreign)["id"]
    check.expect("moving a document to nowhere", move(foreign.tokens["user"], document, "nowhere"), {404})
    check.expect("moving a document to another project", move(foreign.tokens["user"], document, own.id), {404})
    check.expect("moving a document to where one is a viewer", move(both, document, own.id), {403})
    check.expect("moving a document as a viewer", move(both, new_document(own)["id"], foreign.id), {403})
    check.expect("moving a document as an admin", move(check.admin, document, own.id), {200})
    check.expect("a document that was moved", ask(own.tokens["viewer"], "GET", f"/api/documents/{document}"), {200})
    check.expect("a document that was moved away", ask(foreign.tokens["user"], "GET", f"/api/documents/{document}"),
                 {404})


def check_models_by_id(check, ask, own, foreign):
    """A model predicts by its id in its own project only, deployed or not."""
    check.sent = foreign.model
    check.expect("predict by the id of a model of another project",
                 ask(own.tokens["user"], "POST", f"/api/models/{foreign.model}/predict", MODEL_ROWS), {404},
                 foreign.words())
    check.expect("predict by the id of a model",
                 ask(own.tokens["viewer"], "POST", f"/api/models/{own.model}/predict", MODEL_ROWS), {200})


def check_numbers(check, ask, own):
    """/metrics counts the jobs of the caller's project alone."""
    text = ask(own.tokens["viewer"], "GET", "/metrics").text
    counted_jobs = sum(int(float(line.split(" ")[1])) for line in text.splitlines() if line.startswith("stoker_jobs{"))
    listed = ask(own.tokens["viewer"], "GET", "/api/training/jobs").json()["total"]
    check.asked += 1
    if counted_jobs != listed:
        check.problems.append(f"/metrics counts {counted_jobs} jobs in a project with {listed}")


def check_leaving(check, ask, service, own):
    """A token that is taken out of a project loses it at once, event streams included."""
    made = own.must("POST", "/api/tokens", {"name": f"leaves {own.name}", "projects": {own.id: "viewer"}}, scoped=False)
    job = own.must("POST", "/api/training/jobs", {"document": training("long", own.source, 1_000_000)})["id"]
    connection = http.client.HTTPConnection(ask.place, timeout=3600)
    connection.request("GET", f"/api/training/jobs/{job}/events", headers={"Authorization": f"Bearer {made['token']}"})
    stream = connection.getresponse()
    check.asked += 2
    if stream.status != 200 or not stream.read1(1):
        check.problems.append("a viewer gets no events of a job that runs")
    own.must("DELETE", f"/api/tokens/{made['id']}/projects/{own.id}", scoped=False)
    try:
        while stream.read1(65536):
            pass
    except OSError as error:
        check.problems.append(f"events go on for a token that left the project: {error}")
    connection.close()
    check.expect("a token that left", ask(made["token"], "GET", "/api/training/jobs"), {403})
    check.expect("a token that left, by name",
                 ask(made["token"], "GET", "/api/training/jobs", query={"project": own.id}), {404})
    own.must("DELETE", f"/api/training/jobs/{job}")


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        service = Service(sys.argv[1], folder)
        try:
            ask = Asking(service.url)
            api = ask(None, "GET", "/api/openapi.json").json()
            operations = {f"{method.upper()} {path}": operation for path, methods in api["paths"].items()
                          for method, operation in methods.items()}
            check = Check(ask, operations, service.token)
            check.data = service.data
            check.described()
            if not check.problems:
                own, foreign = Project(ask, service, "alpha"), Project(ask, service, "beta")
                both = own.token("of both", {own.id: "viewer", foreign.id: "user"})
                check.strangers(own)
                check.others(own, foreign)
                check.others(foreign, own)
                check.several(both, own, foreign)
                check.roles(own)
                check_files(check, ask, own, foreign)
                check_moves(check, ask, own, foreign, both)
                check_models_by_id(check, ask, own, foreign)
                check_numbers(check, ask, own)
                check_leaving(check, ask, service, own)
                foreign.done(foreign.job)  # still there
        finally:
            service.end()
        print(f"{check.asked} requests to {len(OPS)} routes")
        if check.problems:
            sys.exit("\n".join(check.problems[:60]))


if __name__ == "__main__":
    main()
