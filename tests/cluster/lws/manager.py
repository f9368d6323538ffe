"""The operator of LeaderWorkerSets as a pod of a real node: the manifests of its Go module, with the manager that `build` makes.

Volcano has no part here that works: there is the CRD of its PodGroups, and a kube-scheduler with its name, which schedules the
pods of a group one by one."""

import json
import re
import subprocess
from pathlib import Path

import yaml
from child_crds import module_folder
from node import images

HERE = Path(__file__).resolve().parent
MODULE = "sigs.k8s.io/lws"
NAMESPACE = "lws-system"
DEPLOYMENT = "lws-controller-manager"
SCHEDULER = "volcano"
SCHEDULER_IMAGE = "localhost/kube-scheduler:1"
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
    "profiles": [{"schedulerName": SCHEDULER}],
}
READY_SECONDS = 120


def pinned():
    """Version and checksum of the module, from the go.sum with which `build` builds."""
    text = (HERE.parent / "modules/lws/go.sum").read_text(encoding="ascii")
    return re.search(rf"^{re.escape(MODULE)} (\S+) (h1:\S+)$", text, re.MULTILINE).groups()


def manager_program():
    """The manager. It is built the first time."""
    run = subprocess.run([HERE / "build", "--print"], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError("the manager of LeaderWorkerSets could not be built (see above)")
    return Path(run.stdout.strip()) / "manager"


def install(cluster):
    """Returns when LeaderWorkerSets are admitted. The rest of the module's configuration is as it is there: access rights,
    webhooks, and certificates that the manager makes itself."""
    cluster.kubectl("apply", "-f", HERE.parent / "volcano.yaml")
    _install_scheduler(cluster)
    folder = module_folder(MODULE, *pinned())
    text = cluster.kubectl("kustomize", folder / "config/default").stdout
    objects = list(yaml.safe_load_all(text))
    (deployment,) = [one for one in objects if one["kind"] == "Deployment"]
    deployment["spec"]["replicas"] = 1
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["resources"] = {}  # a node of a test may have one core
    cluster.node.load(images.image_of_programs(container["image"], {"/manager": manager_program()}, ["/manager"]))
    _apply(cluster, objects)
    secret = f"/api/v1/namespaces/{NAMESPACE}/secrets/lws-webhook-server-cert"
    cluster.wait(lambda: cluster.api("GET", secret).get("data"), READY_SECONDS, "the manager makes its certificate")
    # The kubelet updates the mounted Secret about once a minute, but a change of the pod makes it look at once.
    cluster.kubectl("annotate", "pods", "-n", NAMESPACE, "--all", "tests/certificate=written")
    cluster.kubectl("rollout", "status", f"deployment/{DEPLOYMENT}", "-n", NAMESPACE, f"--timeout={READY_SECONDS}s")
    cluster.wait(lambda: _admits(cluster), READY_SECONDS, "the webhooks of LeaderWorkerSets answer")


def _apply(cluster, objects):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("apply", "--server-side", "-f", "-", input=text)


def _admits(cluster):
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "none.invalid/none:1"}]}}
    spec = {"leaderWorkerTemplate": {"size": 2, "workerTemplate": pod}}
    kind = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    asked = {**kind, "metadata": {"name": "asked", "namespace": "default"}, "spec": spec}
    return cluster.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(asked), check=False).returncode == 0


def _install_scheduler(cluster):
    program = cluster.assets / "kube-scheduler"
    command = ["/bin/kube-scheduler", "--config=/etc/scheduler/config.json", "--secure-port=0"]
    cluster.node.load(images.image_of_programs(SCHEDULER_IMAGE, {"/bin/kube-scheduler": program}, command[:1]))
    where = {"name": SCHEDULER, "namespace": "kube-system"}
    subjects = [{"kind": "ServiceAccount", **where}]
    group = "rbac.authorization.k8s.io"
    container = {"name": "main", "image": SCHEDULER_IMAGE, "command": command}
    container["volumeMounts"] = [{"name": "config", "mountPath": "/etc/scheduler"}]
    volumes = [{"name": "config", "configMap": {"name": SCHEDULER}}]
    spec = {"serviceAccountName": SCHEDULER, "containers": [container], "volumes": volumes}
    _apply(cluster, [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": where},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": where, "data": {"config.json": json.dumps(CONFIGURATION)}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": where, "spec": spec},
        *(
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"{SCHEDULER}-{role}"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": f"system:{role}"},
                "subjects": subjects,
            }
            for role in ("kube-scheduler", "volume-scheduler")
        ),
    ])  # fmt: skip
