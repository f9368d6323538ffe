"""A control plane whose pods' addresses answer: workers that load adapters listen on them (`lora_workers.py`).

    workers, plane = worker_plane.start(config="...")    # in setUpModule"""

import unittest
from pathlib import Path

import own_network
from components import POD_CIDR
from lora_workers import Workers
from operator_plane import OperatorPlane

HERE = Path(__file__).resolve().parent


def start(*networks, nodes=2, gpus=64, config=""):
    """Returns (Workers, OperatorPlane); both end with the module. The process enters a network namespace of its own, which also
    has the addresses of `networks`; without the right to make one, the module is skipped."""
    if not own_network.enter(POD_CIDR, *networks):
        raise unittest.SkipTest("needs the right to make a network namespace")
    workers = Workers()
    unittest.addModuleCleanup(workers.stop)
    plane = OperatorPlane(nodes=nodes, gpus=gpus, kwok_config=HERE / "pods.kwok.yaml", config=config)
    unittest.addModuleCleanup(plane.close)
    return workers, plane
