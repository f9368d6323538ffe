"""Runs the tests of pods on a plane."""

import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import graphs  # noqa: E402
from base import PodsTest  # noqa: E402
from ends import Ends  # noqa: E402
from limits import Limits  # noqa: E402
from places import NAMESPACE  # noqa: E402
from probes import Failures, RealRuntime  # noqa: E402
from pulls import Pulls  # noqa: E402
from timeline import Timeline  # noqa: E402

VERSION = graphs.VERSION
KINDS = ("InferencePool",)  # of the children of an endpoint picker; the plane needs their CRDs
CASES = (RealRuntime, Failures, Ends, Limits, Pulls)
ROW = "{:<52} {:<24} {}"


def play(plane, folder, chosen=""):
    """Runs the classes whose name contains `chosen`. Prints what was measured. Returns the titles of what failed."""
    plane.cluster.node.load(graphs.server_image())
    PodsTest.plane, PodsTest.timeline = plane, Timeline(plane.cluster, NAMESPACE, folder / "pods")
    PodsTest.timeline.start()
    try:
        loader = unittest.defaultTestLoader
        suite = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in CASES if chosen in case.__name__.lower())
        result = unittest.TextTestRunner(sys.stdout, verbosity=2).run(suite)
    finally:
        PodsTest.timeline.stop()
        lines = [f"{at:.1f} {kind}/{about}: {text}" for at, kind, about, text in PodsTest.timeline.entries]
        (folder / "pods/timeline").write_text("\n".join(lines) + "\n", encoding="utf-8")
    failed = [str(test) for test, _ in result.failures + result.errors]
    for component in ("kubelet", "containerd") if failed else ():
        shutil.copy(plane.cluster.directory / f"{component}.log", folder / "pods")
    print(ROW.format("pods", "expected", "measured"))
    for row in PodsTest.measured:
        print(ROW.format(*row))
    return failed
