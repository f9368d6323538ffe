"""cert-manager beside a control plane: its own controllers and its CA injector as one process (modules/cert-manager), and its CRDs."""

import contextlib
import datetime
import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))

import module_build  # noqa: E402

NAME = "cert-manager"
MODULE = HERE / "modules" / NAME
PACKAGE = "github.com/cert-manager/cert-manager"
KINDS = ("certificates", "certificaterequests", "issuers", "clusterissuers")
GROUP = "/apis/cert-manager.io/v1"
MERGE = "application/merge-patch+json"


def build():
    """The path of the program. It is built the first time, which takes some minutes."""
    digest = hashlib.sha256((MODULE / "main.go").read_bytes()).hexdigest()
    (path,) = module_build.build(HERE, {NAME: (".", f"-X main.source={digest}")}, os.cpu_count())
    return path


def _crds():
    folder = module_build.sources(MODULE, PACKAGE)
    return [f"--filename={folder}/deploy/crds/cert-manager.io_{kind}.yaml" for kind in KINDS]


class CertManager:
    """Starts the program. `close` ends it. Its log is in the directory of the control plane."""

    def __init__(self, cluster):
        self._cluster = cluster
        program = build()
        cluster.kubectl("apply", "--server-side", *_crds())
        cluster.wait_for_crds()
        self._log = open(cluster.directory / f"{NAME}.log", "wb")
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", program],
            env=cluster.environment(), stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def close(self):
        self._process.kill()
        self._process.wait()
        self._log.close()

    def log_tail(self):
        return Path(self._log.name).read_text(encoding="utf-8")[-5000:]

    @contextlib.contextmanager
    def explains(self):
        """Adds the end of the log to an error of the block, once."""
        try:
            yield
        except Exception as error:
            if not getattr(error, "__notes__", ()):
                status = self._process.poll()
                error.add_note(f"{NAME}, {'which runs' if status is None else f'which has ended with {status}'}:\n{self.log_tail()}")
            raise

    def renew(self, namespace, name):
        """What `cmctl renew` writes."""
        path = f"{GROUP}/namespaces/{namespace}/certificates/{name}"
        found = self._cluster.api("GET", path)
        conditions = [one for one in found["status"]["conditions"] if one["type"] != "Issuing"]
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        renewal = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by a test", "lastTransitionTime": now}
        renewal["observedGeneration"] = found["metadata"]["generation"]
        self._cluster.api("PATCH", f"{path}/status", {"status": {"conditions": [*conditions, renewal]}}, MERGE)
