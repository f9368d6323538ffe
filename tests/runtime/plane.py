"""A control plane with a real node, the operator, NATS and etcd, on which graphs of the real runtime run."""

import contextlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]

import image  # noqa: E402
from child_crds import child_crds  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from serving import RuntimeGraphs  # noqa: E402
from node import images  # noqa: E402
from lws import manager  # noqa: E402
from node.operator_pods import install_operator  # noqa: E402
from places import ETCD_IMAGE, NAMESPACE  # noqa: E402


def etcd_image(program):
    """The path of an archive with the etcd of the control plane, which loads no libraries."""
    with tempfile.TemporaryDirectory(prefix="dynamo-image-") as folder:
        for name in ("bin", "tmp"):
            (Path(folder) / name).mkdir()
        shutil.copy(program, Path(folder) / "bin/etcd")
        return images.image_of_root(ETCD_IMAGE, folder, ["/bin/etcd"], user="0")


class RuntimePlane(RuntimeGraphs):
    """`versions`: of the runtime whose images the node gets. `etcd`: whether there is an etcd for discovery. `kinds`: of children
    whose CRDs are created; `sets`: whether LeaderWorkerSets run. Webhook and controller run as pods. Attributes: cluster, sets."""

    def __init__(self, versions, etcd=False, kinds=(), sets=False):
        archives = [image.runtime_image(version) for version in versions]
        self.sets = sets
        with contextlib.ExitStack() as running:
            super().__init__(running.enter_context(ControlPlane(node=True)))
            if etcd:
                archives.append(etcd_image(self.cluster.assets / "etcd"))
            for archive in archives:
                self.cluster.node.load(archive)
            for crd in child_crds() if kinds else []:
                if crd["spec"]["names"]["kind"] in kinds:
                    self.cluster.kubectl("create", "-f", "-", input=json.dumps(crd))
            if sets:
                manager.install(self.cluster)
            install_operator(self.cluster)
            self.cluster.wait_for_garbage_collector()
            self.cluster.create_namespace(NAMESPACE)
            self.add_servers(image.name_of(versions[0]), etcd)
            self.wait_for_facts()
            self._running = running.pop_all()

    def close(self):
        self._running.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
