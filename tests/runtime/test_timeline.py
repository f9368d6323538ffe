"""What timeline.py says about objects."""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import timeline  # noqa: E402


def pod(phase="Running", ready=True, state=None, started=True, restarts=0, **metadata):
    container = {"name": "main", "state": state or {"running": {}}, "started": started, "restartCount": restarts}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"phase": phase, "conditions": conditions, "containerStatuses": [container]}
    return {"metadata": {"name": "p", **metadata}, "status": status}


def endpoints(*given):
    found = []
    for name, ready, serving, terminating in given:
        conditions = {"ready": ready, "serving": serving, "terminating": terminating}
        found.append({"addresses": ["10.0.0.1"], "conditions": conditions, "targetRef": {"name": name}})
    return {"endpoints": found}


WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}
RESTARTING = {"conditions": [{"type": "Ready", "status": "False", "reason": "r"}], "restart": {"phase": "Restarting"}}
LAST = {"terminated": {"reason": "Error", "exitCode": 137}}
NOT_READY = {"type": "EndpointsReady", "status": "False", "reason": "NotReady", "message": "pod p: refused"}
ADAPTER = {"conditions": [NOT_READY], "readyEndpoints": 1, "totalEndpoints": 2}
CASES = [
    ("pods", pod(), "Running, ready"),
    ("pods", pod(ready=False, started=False), "Running, not ready, not started"),
    ("pods", pod(deletionTimestamp="now"), "Running, ready, terminating"),
    ("pods", pod(ready=False, state=WAITING, restarts=2), "Running, not ready, waiting CrashLoopBackOff, restarts 2"),
    ("pods", pod("Failed", False, LAST), "Failed, not ready, terminated Error 137"),
    ("pods", {"metadata": {"name": "p"}}, "?, not ready"),
    ("endpointslices", endpoints(("b", True, True, False), ("a", False, True, True)), "a serving, terminating; b ready"),
    ("endpointslices", endpoints(("a", False, False, False)), "a not ready"),
    ("endpointslices", {"endpoints": None}, "no endpoints"),
    ("dynamographdeployments", {}, "Ready=None"),
    ("dynamographdeployments", {"status": RESTARTING}, "Ready=False r, restart Restarting"),
    ("dynamomodels", {}, "None of None None: None"),
    ("dynamomodels", {"status": ADAPTER}, "1 of 2 NotReady: pod p: refused"),
]  # fmt: skip


class Descriptions(unittest.TestCase):
    def test_descriptions(self):
        for kind, found, expected in CASES:
            with self.subTest(expected):
                self.assertEqual(timeline.DESCRIBE[kind](found), expected)


if __name__ == "__main__":
    unittest.main()
