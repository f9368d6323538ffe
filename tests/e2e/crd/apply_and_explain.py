#!/usr/bin/env python3
"""Installs deploy/crds the way users do, with client-side kubectl apply, and looks at it with kubectl."""
import sys

import compare_schemas

sys.path.insert(0, str(compare_schemas.ROOT / "tests" / "cluster"))
from control_plane import ControlPlane, ControlPlaneError  # noqa: E402

EXPLAINED = [
    ("dgd.spec.services.extraPodSpec.containers.livenessProbe", "failureThreshold"),
    ("dgd.spec.services.extraPodSpec.mainContainer", "imagePullPolicy"),
    ("dgd.spec.services.checkpoint.mode", "Manual"),
    ("dckpt.spec.job.podTemplateSpec.spec.volumes", "projected"),
    ("dgdr.spec.overrides.profilingJob", "podFailurePolicy"),
    ("dgdsa.spec.replicas", "Wanted replicas"),
]


def main():
    failures = []
    with ControlPlane(components=("etcd", "apiserver")) as cluster:
        kinds = len(list(compare_schemas.OURS.glob("*.yaml")))
        first = cluster.kubectl("apply", "-f", compare_schemas.OURS).stdout.splitlines()
        if len(first) != kinds or not all(line.endswith(" created") for line in first):
            failures.append(f"first apply: {first}")
        again = cluster.kubectl("apply", "-f", compare_schemas.OURS).stdout.splitlines()
        if len(again) != kinds or not all(line.endswith(" unchanged") for line in again):
            failures.append(f"second apply: {again}")
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
        for crd in cluster.api("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]:
            for condition in crd["status"]["conditions"]:
                if condition["type"] == "NonStructuralSchema":
                    failures.append(f"{crd['metadata']['name']}: {condition['message']}")
        for path, wanted in EXPLAINED:
            def explained(path=path, wanted=wanted):
                run = cluster.kubectl("explain", path, check=False)
                return run.returncode == 0 and wanted in run.stdout
            try:  # the OpenAPI document follows the CRDs a little later
                cluster.wait(explained, timeout=120, what=f"kubectl explain {path}")
            except ControlPlaneError as error:
                failures.append(str(error))
        table = cluster.kubectl("get", "--raw", "/apis/nvidia.com/v1alpha1/dynamographdeployments").stdout
        if '"items":[]' not in table:
            failures.append(f"list: {table}")
    for failure in failures:
        print(failure)
    print(f"apply and explain: {kinds} CRDs, {len(EXPLAINED)} fields explained, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
