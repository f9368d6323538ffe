"""A real Kubernetes control plane for tests and demos.

    with ControlPlane() as cluster:
        cluster.add_nodes(2, gpus=8)
        cluster.kubectl("apply", "-f", "-", input=manifest)

Linux only, Python standard library only. README.md describes the parts.
"""

import functools
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import client
import components as parts
from client import ApiError, KubectlError  # noqa: F401  (exported by this module)
from node import settings as node_settings
from node.machine import Node, NodeError, build_node
from supervisor import Supervisor, SupervisorError

HERE = Path(__file__).resolve().parent
# Between two looks at a condition: short at first, and later a part of the time that has passed. Each look costs the processor
# as much as the work that the test waits for.
POLL_SECONDS, LONGEST_POLL_SECONDS, POLL_PART = 0.03, 0.3, 0.05
LOG_TAIL_LINES = 25
PORT_ATTEMPTS = 5
# Below Linux's ephemeral range (32768 and above), so no outgoing connection takes the port while the server is down.
PORTS = range(20000, 30000)


class ControlPlaneError(Exception):
    """The control plane did not start, or ended. The message has the end of the failed component's log."""


@functools.lru_cache(maxsize=None)
def build_assets():
    """The directory of all binaries. Missing ones are built, which takes minutes the first time."""
    run = subprocess.run([HERE / "build", "--print"], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        raise ControlPlaneError("the binaries of the control plane could not be built (see above)")
    return Path(run.stdout.strip())


def listen_on_free_port():
    """A listener on a loopback port that no other process had."""
    for port in random.sample(PORTS, len(PORTS)):
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            continue
    raise ControlPlaneError(f"no free port in {PORTS.start}..{PORTS.stop}")


def free_port():
    """A loopback port without a listener at this moment."""
    with listen_on_free_port() as listener:
        return listener.getsockname()[1]


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok, with RBAC, on loopback.

    components   subset of components.ALL; {"etcd", "apiserver"} is enough when no pods run
    users        name -> groups of identities with their own bearer token (see user_kubeconfig)
    kwok_config  file of kwok `Stage` documents instead of kwok's default ones (pods become ready at once)
    apiserver_flags  additional flags of kube-apiserver
    timeout      timeout of start() in seconds when used with `with`
    node         with a real node in a network namespace of its own, instead of kwok (node/machine.py). It needs root

    Attributes after start(): kubeconfig (Path, admin), api_url, ca (PEM), ca_file, admin_token, assets,
    directory (data and logs; removed by stop()), up_seconds, node (Node, or None).
    """

    def __init__(self, components=parts.ALL, users=None, kwok_config=None, timeout=180, apiserver_flags=(), node=False):
        unknown = set(components) - set(parts.ALL)
        if unknown or not {"etcd", "apiserver"} <= set(components):
            given = sorted(components)
            raise ValueError(f"components must be of {parts.ALL}, with etcd and apiserver: {given}")
        self._components = [c for c in parts.ALL if c in components and not (node and c == "kwok")]
        self._users = {**parts.SYSTEM_USERS, **(node_settings.USERS if node else {}), **(users or {})}
        self._with_node = node
        self.node = None
        self._kwok_config = Path(kwok_config).resolve() if kwok_config else None
        self._timeout = timeout
        self._apiserver_flags = tuple(apiserver_flags)
        self._supervisor = None
        self._layout = None
        self._tls = None
        self._nodes = 0
        self.up_seconds = None

    def __enter__(self):
        self.start(self._timeout)
        return self

    def __exit__(self, *_):
        self.stop()

    # Life

    def start(self, timeout=180):
        """Returns when the API server is ready and the other components work. A failed start leaves nothing behind.
        Building the binaries does not count towards the timeout."""
        if self._supervisor:
            raise ControlPlaneError("already started")
        assets = build_assets()
        node_assets = build_node() if self._with_node else None
        started = time.monotonic()
        deadline = started + timeout
        try:
            self._supervisor = Supervisor(isolated=self._with_node)
            self._layout = parts.Layout(self._supervisor.directory, assets)
            parts.write_tokens(self._layout, self._users)
            if self._with_node:
                self.node = Node(self._supervisor, self._layout, node_assets)
                self.node.prepare()
            self._spawn("etcd", parts.etcd(self._layout))
            self._start_apiserver_on_free_port(deadline)
            self._start_clients(deadline)
            if self.node:
                self.node.start(max(deadline - time.monotonic(), 1))
                self.wait(self._real_node_is_usable, max(deadline - time.monotonic(), 1), "the node is ready")
        except BaseException as error:
            self.stop()
            if isinstance(error, (SupervisorError, NodeError, OSError)):
                raise ControlPlaneError(f"start failed: {error}") from error
            raise
        self.up_seconds = time.monotonic() - started

    def stop(self):
        """Kills all processes and removes all data. May be called at any time and repeatedly.
        DYNAMO_KEEP_LOGS=<folder> keeps the logs there, also those of a node's pods, in a folder with the name of the control
        plane's."""
        if not self._supervisor:
            return
        supervisor, self._supervisor = self._supervisor, None
        try:
            keep = os.environ.get("DYNAMO_KEEP_LOGS")
            if keep and supervisor.directory.is_dir():
                target = Path(keep) / supervisor.directory.name
                target.mkdir(parents=True, exist_ok=True)
                for log in supervisor.directory.glob("*.log"):
                    shutil.copy(log, target)
                if self.node:
                    shutil.copytree(self.node.pod_logs, target / "pods", dirs_exist_ok=True)
        finally:
            supervisor.close()

    def kill_apiserver(self):
        """Sends SIGKILL. Connections and watches end, and requests fail until restart_apiserver()."""
        self._supervisor.end("apiserver", signal.SIGKILL, 5)

    def restart_apiserver(self, timeout=180):
        """Stops the API server if it runs (SIGKILL after 3 s) and starts it on the same address."""
        self._supervisor.end("apiserver", signal.SIGTERM, 3)
        deadline = time.monotonic() + timeout
        while not self._start_apiserver(deadline):
            if time.monotonic() > deadline:
                raise ControlPlaneError(f"port {self._layout.port} is still in use")

    def restart(self, component):
        """Kills and restarts etcd, controller-manager, scheduler or kwok, or containerd, kubelet or kube-proxy of the node.
        etcd keeps its data, and pods run on."""
        self._supervisor.end(component, signal.SIGKILL, 5)
        if component == "kwok":
            # Its identity is random, so it would wait until the leases that it held before expire.
            self.api("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")
        if component == "etcd":
            self._spawn("etcd", parts.etcd(self._layout))
        elif self.node and component in self.node.components:
            self.node.spawn(component)
        else:
            self._spawn_client(component)

    def back_up_etcd(self):
        """Copies the data of etcd, which restarts. Returns a value for restore_etcd()."""
        copy = self.directory / f"etcd-backup-{time.monotonic_ns()}"
        self._supervisor.end("etcd", signal.SIGKILL, 5)
        shutil.copytree(self.directory / "etcd", copy)
        self._spawn("etcd", parts.etcd(self._layout))
        return copy

    def restore_etcd(self, backup, timeout=180):
        """Restores a backup as administrators do: the control plane stops, and all its components start again."""
        self.kill_apiserver()
        self._supervisor.end("etcd", signal.SIGKILL, 5)
        shutil.rmtree(self.directory / "etcd")
        shutil.copytree(backup, self.directory / "etcd")
        self._spawn("etcd", parts.etcd(self._layout))
        self.restart_apiserver(timeout)
        for component in self._components:
            if component not in ("etcd", "apiserver"):
                self.restart(component)

    def wait_for_garbage_collector(self):
        """Call this after custom resource definitions were created. The garbage collector looks for new kinds every 30 s. If it
        does not know the kind of an owner that is deleted, it may keep the dependents for minutes. After a restart it knows all
        kinds; then it must delete an object whose owner does not exist."""
        self.restart("controller-manager")
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": "00000000-0000-0000-0000-000000000000"}
        path = "/api/v1/namespaces/default/configmaps"
        metadata = {"generateName": "orphan-", "ownerReferences": [owner]}
        name = self.api("POST", path, {"metadata": metadata})["metadata"]["name"]
        self.wait(lambda: not self.exists(f"{path}/{name}"), 120, "the garbage collector runs")

    def exists(self, path):
        """Whether a GET of the path finds an object."""
        try:
            return bool(self.api("GET", path))
        except ApiError as error:
            if error.status != 404:
                raise
            return False

    # Identities

    @property
    def api_url(self):
        return self._layout.api_url

    @property
    def directory(self):
        return self._layout.directory

    @property
    def assets(self):
        return self._layout.assets

    @property
    def kubeconfig(self):
        return self._layout.kubeconfig("admin")

    @property
    def ca_file(self):
        return self._layout.ca_file

    @property
    def ca(self):
        return self._layout.ca_file.read_text(encoding="utf-8")

    @property
    def admin_token(self):
        return self._layout.tokens["admin"]

    def user_kubeconfig(self, name, groups=(), namespace=None):
        """Path of a kubeconfig for `name`: with a token if `users` contains it, otherwise the administrator impersonates
        it with `groups`. system:authenticated is added, as for a real user."""
        if name in self._layout.tokens:
            user = {"token": self._layout.tokens[name]}
        else:
            all_groups = sorted({*groups, "system:authenticated"})
            user = {"token": self.admin_token, "as": name, "as-groups": all_groups}
        return parts.write_kubeconfig(self._layout, self._layout.kubeconfig(f"user-{name}"), user, namespace)

    def service_account_kubeconfig(self, namespace, name, seconds=3600):
        """Path of a kubeconfig with a token of an existing service account (TokenRequest)."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        body["spec"] = {"expirationSeconds": seconds}
        token = self.api("POST", path, body)["status"]["token"]
        target = self._layout.kubeconfig(f"sa-{namespace}-{name}")
        return parts.write_kubeconfig(self._layout, target, {"token": token}, namespace)

    # Use

    def environment(self, kubeconfig=None):
        """The caller's environment for programs that use this cluster: KUBECONFIG, kubectl first in PATH, and a separate
        discovery cache, because kubectl's usual cache is keyed by address and ports are reused."""
        return {
            **os.environ,
            "KUBECONFIG": str(kubeconfig or self.kubeconfig),
            "KUBECACHEDIR": str(self.directory / "kubectl-cache"),
            "PATH": f"{self.assets}:{os.environ.get('PATH', '')}",
        }

    def kubectl(self, *args, input=None, check=True, kubeconfig=None, timeout=240):
        """Runs kubectl, by default as administrator. `input` is text for its standard input. Returns
        subprocess.CompletedProcess with text output. Raises KubectlError when it fails and `check` is set."""
        argv = [self.assets / "kubectl", *map(str, args)]
        return client.run_kubectl(argv, self.environment(kubeconfig), input, check, timeout)

    def api(self, method, path, body=None, content_type="application/json", token=None, timeout=30, warnings=None):
        """Sends one request to the API server, by default as administrator. Much faster than kubectl. Returns the decoded
        JSON answer, or its text when it is no JSON. Raises ApiError for status 400 and above. Its warnings are appended to the
        list `warnings`."""
        headers = {"Authorization": f"Bearer {token or self.admin_token}", "Content-Type": content_type}
        return client.request(self._layout.port, self._tls, method, path, headers, body, timeout, warnings)

    def add_nodes(self, count, gpus=8, cpu=64, memory="512Gi", labels=None, timeout=180):
        """Adds fake nodes gpu-node-0, gpu-node-1, ... with nvidia.com/gpu in capacity and allocatable, and waits until pods
        can be scheduled to them. Numbers continue over several calls. Returns their names."""
        if "kwok" not in self._components:
            raise ControlPlaneError("nodes need the component kwok")
        names = [f"gpu-node-{self._nodes + i}" for i in range(count)]
        self._nodes += count
        for name in names:
            self.api("POST", "/api/v1/nodes", parts.node(name, gpus, cpu, memory, labels))
        for name in names:
            self.wait(lambda name=name: self._node_is_usable(name), timeout, f"node {name} ready")
        return names

    def create_namespace(self, name, labels=None):
        """Creates a namespace and waits for its default service account, which admission of pods requires."""
        metadata = {"name": name, "labels": labels or {}}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        self.api("POST", "/api/v1/namespaces", namespace)
        if "controller-manager" in self._components:
            self._wait_for_service_account(name, time.monotonic() + 30)

    def wait(self, condition, timeout=30, what="condition"):
        """Calls `condition` until its result is true, and returns the result."""
        began = time.monotonic()
        while True:
            value = condition()
            if value:
                return value
            self._check_running()
            elapsed = time.monotonic() - began
            if elapsed > timeout:
                raise ControlPlaneError(f"not within {timeout} s: {what}")
            time.sleep(min(max(elapsed * POLL_PART, POLL_SECONDS), LONGEST_POLL_SECONDS))

    def wait_for_crds(self, timeout=60):
        """Waits until all CRDs are Established. `kubectl wait` fails if one has no condition yet."""
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        established = lambda crd: any(  # noqa: E731
            one["type"] == "Established" and one["status"] == "True" for one in crd.get("status", {}).get("conditions") or ())
        self.wait(lambda: all(map(established, self.api("GET", crds)["items"])), timeout, "all CRDs are Established")

    def log_tail(self, component, lines=LOG_TAIL_LINES):
        try:
            text = self._layout.log(component).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "(no log)"
        return "\n".join(text.splitlines()[-lines:])

    # Inside

    def _spawn(self, component, argv):
        self._supervisor.spawn(component, argv, parts.environment(self._layout), self._layout.log(component))

    def _check_running(self, ignore=()):
        for name, status in self._supervisor.statuses().items():
            if status is not None and name not in ignore:
                tail = self.log_tail(name)
                raise ControlPlaneError(f"{name} ended with status {status}; the end of its log:\n{tail}")

    def _start_apiserver_on_free_port(self, deadline):
        for _ in range(PORT_ATTEMPTS):
            if self.node:  # the port leads into its network namespace, where no other process listens
                with listen_on_free_port() as listener:
                    self._layout.port = listener.getsockname()[1]
                    self.node.serve(listener, "127.0.0.1", self._layout.port)
            else:
                self._layout.port = free_port()
            if self._start_apiserver(deadline):
                return
        raise ControlPlaneError(f"other processes have taken {PORT_ATTEMPTS} ports in a row")

    def _start_apiserver(self, deadline):
        """Returns False when another process has taken the port first."""
        log = self._layout.log("apiserver")
        before = log.stat().st_size if log.exists() else 0
        address = self.node.address if self.node else None
        self._spawn("apiserver", parts.apiserver(self._layout, self._components, self._apiserver_flags, address))
        while not self._is_ready():
            if self._supervisor.statuses().get("apiserver") is not None:
                with open(log, encoding="utf-8", errors="replace") as file:
                    file.seek(before)
                    if "address already in use" in file.read():
                        self._supervisor.end("apiserver", signal.SIGKILL, 1)
                        return False
            self._check_running()
            if time.monotonic() > deadline:
                tail = self.log_tail("apiserver")
                raise ControlPlaneError(f"the API server is not ready in time; the end of its log:\n{tail}")
            time.sleep(POLL_SECONDS)
        return True

    def _is_ready(self):
        try:
            if not self._tls:
                self._tls = ssl.create_default_context(cafile=self._layout.ca_file)
            return self.api("GET", "/readyz", timeout=5) == "ok"
        except (OSError, ApiError):
            return False

    def _start_clients(self, deadline):
        for user in (*parts.SYSTEM_USERS, *(node_settings.USERS if self.node else ())):
            token = {"token": self._layout.tokens[user]}
            parts.write_kubeconfig(self._layout, self._layout.kubeconfig(user), token)
        for component in self._components:
            if component not in ("etcd", "apiserver"):
                self._spawn_client(component)
        if "controller-manager" in self._components:
            self._wait_for_service_account("default", deadline)
        self._check_running()

    def _spawn_client(self, component):
        argv = {
            "controller-manager": lambda: parts.controller_manager(self._layout),
            "scheduler": lambda: parts.scheduler(self._layout),
            "kwok": lambda: parts.kwok(self._layout, self._kwok_config),
        }[component]()
        self._spawn(component, argv)

    def _wait_for_service_account(self, namespace, deadline):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        remaining = max(deadline - time.monotonic(), 1)
        self.wait(lambda: self.exists(path), remaining, f"default service account of namespace {namespace}")

    def _real_node_is_usable(self):
        path = f"/api/v1/nodes/{self.node.name}"
        return self.exists(path) and self._node_is_usable(self.node.name)

    def _node_is_usable(self, name):
        found = self.api("GET", f"/api/v1/nodes/{name}")
        ready = {c["type"]: c["status"] for c in found["status"].get("conditions", [])}.get("Ready") == "True"
        if "controller-manager" not in self._components:
            return ready
        return ready and not found["spec"].get("taints")
