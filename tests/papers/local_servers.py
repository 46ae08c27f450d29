"""Servers on the loopback interface that stand in for W&B's, each with an end of its own.

They prove what the client sends, not what W&B accepts.
"""

import json
import os
import re
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "0" * 40  # of the shape that the client accepts; the servers here do not look at it


def run_apart(*command, limit=30.0, **environment):
    """Run a command in a process of its own, as a stage does, with no settings but these.

    The limit of 30 s is the promise: a server that is not there holds nobody up for longer.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    done = subprocess.run(
        command,
        env=kept | {"WANDB_API_KEY": KEY} | environment,
        capture_output=True,
        text=True,
        timeout=limit,
    )
    assert done.returncode == 0, done.stderr
    return done


@contextmanager
def closed_port():
    """The address of a port at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@contextmanager
def silent_server():
    """The address of a server that accepts connections and never answers."""
    ended = threading.Event()
    accepted: list[socket.socket] = []

    def accept(listening):
        while not ended.is_set():
            with suppress(TimeoutError):
                accepted.append(listening.accept()[0])

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(0.1)
        thread = threading.Thread(target=accept, args=(listening,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            ended.set()
            thread.join()
            for connection in accepted:
                connection.close()


class WandbServer:
    """The requests to a W&B server, with just enough of its answers.

    Args:
        address: of the server.
        silent_from: the GraphQL operation from which on nothing is answered; ``None`` for never.
    """

    # What the server calls each chart of a user's own.
    CHART = "me/chart-of-my-own"

    def __init__(self, silent_from):
        self.silent_from = silent_from
        self.address = ""
        self.operations: list[str] = []
        self.uploads: dict[str, bytes] = {}
        self.streams: list[dict[str, Any]] = []
        self.charts: dict[str, Any] = {}
        self.views: dict[str, Any] = {}
        self.keeps_no_charts = False
        self.ended = threading.Event()
        self._silent = False

    def silent(self, operation):
        self._silent = self._silent or operation == self.silent_from
        return self._silent

    def graphql(self, operation, variables):
        """The data of an answer, in the shape that the client reads."""
        upload = f"{self.address}/upload"
        if operation == "UpsertBucket":
            project = {"id": "p", "name": "hessian-spectra", "entity": {"id": "e", "name": "me"}}
            bucket = {"id": "b", "name": variables["name"], "displayName": variables["displayName"]}
            bucket |= {"description": None, "config": "{}", "sweepName": None, "project": project}
            bucket["historyLineCount"] = None
            return {"upsertBucket": {"bucket": bucket, "inserted": True}}
        if operation in ("Viewer", "GetDefaultEntity"):
            viewer = {"id": "v", "entity": "me", "username": "me", "email": "", "flags": "{}"}
            return {"viewer": viewer | {"teams": {"edges": []}}}
        if operation == "CreateRunFiles":
            files = [{"name": f, "uploadUrl": f"{upload}/{f}"} for f in variables["files"]]
            return {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": files}}
        if operation == "CreateArtifact":
            name = variables["input"]["artifactCollectionName"]
            artifact = {
                "id": name,
                "state": "PENDING",
                "artifactSequence": {"latestArtifact": None},
            }
            return {"createArtifact": {"artifact": artifact}}
        if operation in ("CreateArtifactManifest", "UpdateArtifactManifest"):
            name = variables.get("artifactID") or variables.get("artifactManifestID")
            file = {"id": "f", "uploadUrl": f"{upload}/manifest/{name}", "uploadHeaders": []}
            key = operation[0].lower() + operation[1:]
            return {key: {"artifactManifest": {"id": name, "file": file}}}
        if operation == "CreateArtifactFiles":
            nodes = [
                {
                    "storagePath": f["name"],
                    "uploadUrl": f"{upload}/{f['artifactID']}/{f['name']}",
                    "uploadHeaders": [],
                    "uploadMultipartUrls": None,
                    "artifact": {"id": f["artifactID"]},
                }
                for f in variables["input"]["artifactFiles"]
            ]
            return {"createArtifactFiles": {"files": {"edges": [{"node": n} for n in nodes]}}}
        if operation == "CommitArtifact":
            return {"commitArtifact": {"artifact": {"id": variables["artifactID"], "digest": ""}}}
        if operation == "CreateCustomChart" and not self.keeps_no_charts:
            self.charts[variables["chartName"]] = json.loads(variables["spec"])
            return {"createCustomChart": {"chart": {"id": self.CHART}}}
        if operation == "GetProjects":
            return {"models": {"edges": [], "pageInfo": {"endCursor": None, "hasNextPage": False}}}
        if operation in ("UpsertView2", "upsertView"):
            self.views[variables["type"]] = json.loads(variables["spec"])
            return {"upsertView": {"view": variables | {"id": "v"}}}
        return {}


def _handler(server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            data: dict[str, Any] = {}
            if self.path == "/graphql":
                request = json.loads(content)
                named = re.match(r"\s*(?:query|mutation)\s+(\w+)", request["query"])
                operation = named[1] if named else "unnamed"
                server.operations.append(operation)
                if server.silent(operation):
                    server.ended.wait(60)
                    return
                data = {"data": server.graphql(operation, request.get("variables") or {})}
            elif self.path.startswith("/upload/"):
                server.uploads[self.path.removeprefix("/upload/")] = content
            elif self.path.endswith("/file_stream"):
                server.streams.append(json.loads(content))
            body = json.dumps(data).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = answer  # noqa: N815

        def log_message(self, format, *arguments):
            """Say nothing."""

    return Handler


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that give up on a silent server are what the tests are about."""


@contextmanager
def wandb_server(silent_from=None):
    """A stand-in for a W&B server."""
    state = WandbServer(silent_from)
    listening = _Listening(("127.0.0.1", 0), _handler(state))
    state.address = f"http://127.0.0.1:{listening.server_address[1]}"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        state.ended.set()
        listening.shutdown()
        thread.join()
        listening.server_close()
