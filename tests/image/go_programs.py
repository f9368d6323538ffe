"""Programs that the tests of a full run use, built once from the Go modules pinned in modules/, into a cache.

DYNAMO_CACHE  cache root, default ~/.cache/dynamo-operator"""

import functools
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
import module_build  # noqa: E402

PACKAGES = {
    "crane": "github.com/google/go-containerregistry/cmd/crane",  # it has a registry
    "krew": "sigs.k8s.io/krew/cmd/krew",
}


@functools.lru_cache(maxsize=None)
def built(name):
    """The path of the program, which is built if it is missing."""
    (path,) = module_build.build(HERE, {name: (PACKAGES[name], "")}, os.cpu_count())
    return path
