"""Flux's kustomize-controller beside a control plane: the program, its CRD, and a Git repository that it believes to have fetched. The
artifact of the repository, which Flux's source-controller would make, is an archive that a server of this process hands out."""

import functools
import hashlib
import http.server
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cluster"), str(HERE.parent / "lib")]

import engines  # noqa: E402
import module_build  # noqa: E402

NAME = "kustomize-controller"
PACKAGE = "github.com/fluxcd/kustomize-controller"
NAMESPACE = "flux-system"
SOURCES = {"GitRepository": "gitrepositories", "OCIRepository": "ocirepositories", "Bucket": "buckets", "ExternalArtifact": "externalartifacts"}
REPOSITORY = "deployments"  # as in deploy/gitops/flux.yaml
KUSTOMIZATIONS = f"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{NAMESPACE}/kustomizations"
REPOSITORIES = f"/apis/source.toolkit.fluxcd.io/v1/namespaces/{NAMESPACE}/gitrepositories"
CRD = "config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml"
MERGE = "application/merge-patch+json"


def build():
    """The path of the program. It is built the first time, which takes some minutes."""
    (path,) = module_build.build(HERE, {NAME: (PACKAGE, "")}, os.cpu_count())
    return path


def _module():
    return module_build.sources(HERE / "modules" / NAME, PACKAGE)


def _source_crd(kind, plural):
    """Any object of the kind. The CRDs of Flux's source-controller are in a module of its own."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.source.toolkit.fluxcd.io"},
        "spec": {
            "group": "source.toolkit.fluxcd.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


def archive(files):
    """A .tar.gz of path -> text."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


class KustomizeController:
    """Starts the program. `close` ends it."""

    def __init__(self, cluster, folder):
        self.cluster = cluster
        self._artifacts = {}
        artifacts = self._artifacts

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                data = artifacts.get(self.path)
                self.send_response(200 if data else 404)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        program = build()
        crds = [_source_crd(*one) for one in SOURCES.items()]
        crds.append(yaml.safe_load((_module() / CRD).read_text(encoding="utf-8")))
        cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": crds}))
        cluster.create_namespace(NAMESPACE)
        cluster.wait_for_crds()
        self._log = open(Path(folder) / f"{NAME}.log", "wb")
        flags = ("--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--events-addr=")
        flags += ("--feature-gates=CancelHealthCheckOnNewRevision=true",)
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", program, *flags],
            env={**cluster.environment(), "RUNTIME_NAMESPACE": NAMESPACE, "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._number = 0
        time.sleep(2)
        if self._process.poll() is not None:
            raise RuntimeError(f"{NAME} has ended: {self.log_tail()}")

    def close(self):
        self._process.kill()
        self._process.wait()
        self._server.shutdown()
        self._server.server_close()
        self._log.close()

    def push(self, files):
        """A commit in the repository, whose tree is path -> text. Returns its revision."""
        self._number += 1
        data = archive(files)
        path = f"/{self._number}.tar.gz"
        self._artifacts[path] = data
        digest = hashlib.sha256(data).hexdigest()
        revision = f"main@sha1:{digest[:40]}"
        artifact = {
            "url": f"http://127.0.0.1:{self._server.server_port}{path}",
            "path": path.lstrip("/"),
            "revision": revision,
            "digest": f"sha256:{digest}",
            "lastUpdateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "size": len(data),
        }
        metadata = {"name": REPOSITORY, "namespace": NAMESPACE}
        if not self.cluster.exists(f"{REPOSITORIES}/{REPOSITORY}"):
            spec = {"interval": "10m", "url": "https://git.example.com/deployments"}
            made = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": metadata, "spec": spec}
            self.cluster.api("POST", REPOSITORIES, made)
        self.cluster.api("PATCH", f"{REPOSITORIES}/{REPOSITORY}/status", {"status": {"artifact": artifact}}, MERGE)
        return revision

    def reconcile(self, name):
        """What `flux reconcile kustomization` writes. Returns the time that the controller repeats when it has reconciled."""
        at = str(time.monotonic_ns())
        annotations = {"reconcile.fluxcd.io/requestedAt": at}
        self.cluster.api("PATCH", f"{KUSTOMIZATIONS}/{name}", {"metadata": {"annotations": annotations}}, MERGE)
        return at

    def get(self, name):
        return self.cluster.api("GET", f"{KUSTOMIZATIONS}/{name}")

    def ready(self, name):
        """The condition Ready, {} if there is none."""
        conditions = self.get(name).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "Ready"), {})

    def has_applied(self, name, revision):
        """Whether the Kustomization is ready with this revision."""
        return self.ready(name).get("status") == "True" and self.get(name)["status"].get("lastAppliedRevision") == revision

    def log_tail(self):
        self._log.flush()
        return Path(self._log.name).read_text(encoding="utf-8")[-3000:]


@functools.cache
def kustomizations():
    """Those of deploy/gitops/flux.yaml by name."""
    documents = yaml.safe_load_all(engines.KUSTOMIZATIONS.read_text(encoding="utf-8"))
    return {one["metadata"]["name"]: one for one in documents}
