"""The programs that the tests of the charts run. The command `tools` builds them from the Go modules pinned in modules/, once, into
a cache.

DYNAMO_CACHE  cache root, default ~/.cache/dynamo-operator"""

import functools
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))

import module_build  # noqa: E402

HELM3 = "helm.sh/helm/v3"
HELM4 = "helm.sh/helm/v4"
# Without these stamps Helm 3 takes clusters for Kubernetes 1.20 when it renders without one. Helm 4 reads its module list.
HELM3_STAMPS = {
    f"{HELM3}/internal/version.version": "v3.17.3",
    f"{HELM3}/pkg/chartutil.k8sVersionMajor": "1",
    f"{HELM3}/pkg/chartutil.k8sVersionMinor": "32",
    f"{HELM3}/pkg/lint/rules.k8sVersionMajor": "1",
    f"{HELM3}/pkg/lint/rules.k8sVersionMinor": "32",
}
# name -> (package, what the linker sets)
PROGRAMS = {
    "helm3": (f"{HELM3}/cmd/helm", HELM3_STAMPS),
    "helm4": (f"{HELM4}/cmd/helm", {f"{HELM4}/internal/version.version": "v4.1.4"}),
    "kubeconform": ("github.com/yannh/kubeconform/cmd/kubeconform", {}),
    "helm-unittest": ("github.com/helm-unittest/helm-unittest/cmd/helm-unittest", {}),
    "kube-score": ("github.com/zegl/kube-score/cmd/kube-score", {}),
}


def _flags(name):
    return " ".join(f"-X {variable}={value}" for variable, value in PROGRAMS[name][1].items())


def path_of(name):
    """Where the program is once it is built."""
    return module_build.cache_dir(name, _flags(name), HERE) / "bin" / name


def build(names=tuple(PROGRAMS), jobs=os.cpu_count()):
    """Builds what is missing and returns the paths."""
    return module_build.build(HERE, {name: (PROGRAMS[name][0], _flags(name)) for name in names}, jobs)


@functools.lru_cache(maxsize=None)
def built(name):
    """The path of the program, which is built if it is missing."""
    return build([name])[0]
