"""A registry of images that wants a user and a password, on the loopback address of a node. containerd asks registries there
without TLS. It serves archives of images.py.

As a program it runs in the network of the node, until its input ends. As a module it has the class that starts it."""

import base64
import http.server
import json
import os
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

ADDRESS = "127.0.0.1"
START_SECONDS = 20


class Registry:
    """Serves `archives` (name of a repository -> path). Attributes: address, user, password."""

    user, password = "reader", "open sesame"

    def __init__(self, node, archives, log, port=5000):
        self.address = f"{ADDRESS}:{port}"
        self._log = Path(log)
        pairs = [f"{name}={path}" for name, path in archives.items()]
        argv = node.command([sys.executable, "-B", __file__, port, f"{self.user}:{self.password}", *pairs])
        with open(self._log, "wb") as out:
            self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=out, stderr=out)
        deadline = time.monotonic() + START_SECONDS
        while "listening" not in self._log.read_text(encoding="utf-8"):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise RuntimeError(f"the registry does not start: {self._log.read_text(encoding='utf-8')}")
            time.sleep(0.03)

    def image(self, repository, tag):
        return f"{self.address}/{repository}:{tag}"

    def requests(self, repository):
        """Status and user (empty without credentials) of each request for a manifest or blob of a repository."""
        lines = [line.split(" ", 3) for line in self._log.read_text(encoding="utf-8").splitlines()]
        return [(int(line[1]), line[2].strip("-")) for line in lines if line[0] == "request" and f"/v2/{repository}/" in line[3]]

    def docker_config(self, password=None):
        """The text of a Docker configuration with the credentials."""
        secret = base64.b64encode(f"{self.user}:{password or self.password}".encode()).decode()
        return json.dumps({"auths": {self.address: {"auth": secret}}})

    def close(self):
        self._process.stdin.close()
        self._process.wait(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Repository:
    """The blobs and the manifest of an archive."""

    def __init__(self, path):
        self._path = path
        with tarfile.open(path, "r:") as archive:
            index = json.load(archive.extractfile("index.json"))
            blobs = [one for one in archive.getmembers() if one.name.startswith("blobs/sha256/")]
        self._blobs = {f"sha256:{Path(one.name).name}": (one.offset_data, one.size) for one in blobs}
        (self._manifest,) = index["manifests"]

    def find(self, kind, reference):
        """Media type, digest, offset in the file and size; None if there is no such thing. Every tag is that of the image."""
        digest = reference if reference.startswith("sha256:") else self._manifest["digest"]
        if digest not in self._blobs or kind not in ("manifests", "blobs"):
            return None
        media_type = self._manifest["mediaType"] if kind == "manifests" else "application/octet-stream"
        return (media_type, digest, *self._blobs[digest])

    def copy(self, offset, size, out):
        with open(self._path, "rb") as file:
            file.seek(offset)
            while size > 0 and (data := file.read(min(size, 1 << 20))):
                out.write(data)
                size -= len(data)


def handler(repositories, credentials):
    expected = "Basic " + base64.b64encode(credentials.encode()).decode()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self, status, headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def _user(self):
            given = self.headers.get("Authorization", "")
            return base64.b64decode(given.split(" ")[-1]).decode().split(":")[0] if given else ""

        def do_GET(self):
            if self.headers.get("Authorization") != expected:
                self._answer(401, {"WWW-Authenticate": 'Basic realm="test"', "Content-Length": "0"})
                return
            words = self.path.split("/")  # /v2/<repository, which may have slashes>/<kind>/<reference>
            if self.path == "/v2/":
                self._answer(200, {"Content-Length": "0"})
                return
            repository = repositories.get("/".join(words[2:-2]))
            found = repository.find(words[-2], words[-1]) if repository else None
            if not found:
                self._answer(404, {"Content-Length": "0"})
                return
            media_type, digest, offset, size = found
            self._answer(200, {"Content-Type": media_type, "Docker-Content-Digest": digest, "Content-Length": str(size)})
            if self.command == "GET":
                repository.copy(offset, size, self.wfile)

        do_HEAD = do_GET  # noqa: N815

        def log_request(self, code="-", size="-"):
            print("request", int(code), self._user() or "-", self.path, flush=True)

    return Handler


def main(port, credentials, *pairs):
    repositories = {name: Repository(path) for name, path in (pair.split("=", 1) for pair in pairs)}
    server = http.server.ThreadingHTTPServer((ADDRESS, int(port)), handler(repositories, credentials))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("listening", flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
