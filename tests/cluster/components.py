"""Command lines, identities and kubeconfig files of the control plane's processes."""

import base64
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

ALL = ("etcd", "apiserver", "controller-manager", "scheduler", "kwok")
SERVICE_CIDR = "10.96.0.0/16"
POD_CIDR = "10.244.0.0/16"
NODE_IP = "10.95.0.1"

# The user of each process: name -> groups. Cluster roles for the two system users exist already.
SYSTEM_USERS = {
    "admin": ["system:masters"],
    "kwok": ["system:masters"],
    "system:kube-controller-manager": [],
    "system:kube-scheduler": [],
}


@dataclass
class Layout:
    """The files, addresses and tokens of one control plane."""

    directory: Path
    assets: Path
    port: int = 0
    tokens: dict = field(default_factory=dict)  # user -> bearer token

    @property
    def api_url(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def certificates(self):
        return self.directory / "certs"

    @property
    def ca_file(self):
        """The server writes its certificate chain to this file at its first start: the leaf, then the CA."""
        return self.certificates / "apiserver.crt"

    @property
    def service_account_key(self):
        """The serving key is an RSA key of this server only, so it also signs service account tokens."""
        return self.certificates / "apiserver.key"

    @property
    def token_file(self):
        return self.directory / "tokens.csv"

    @property
    def etcd_socket(self):
        return f"unix://{self.directory}/etcd.sock"

    def log(self, component):
        return self.directory / f"{component}.log"

    def kubeconfig(self, user):
        return self.directory / f"kubeconfig-{user.replace(':', '-').replace('/', '-')}"


def write_tokens(layout, users):
    """Creates a random token for each of `users` (name -> groups) and writes the server's token file."""
    layout.tokens = {user: secrets.token_hex(16) for user in users}
    with open(layout.token_file, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        for number, (user, groups) in enumerate(users.items(), 1):
            file.write(f'{layout.tokens[user]},{user},{number},"{",".join(groups)}"\n')


def write_kubeconfig(layout, path, user, namespace=None):
    """Writes a kubeconfig. `user` is the user entry: {"token": ...}, with "as" and "as-groups" for an impersonated
    identity. The file is JSON, which is valid YAML."""
    context = {"cluster": "test", "user": "test"}
    if namespace:
        context["namespace"] = namespace
    authority = base64.b64encode(layout.ca_file.read_bytes()).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "test", "cluster": {"server": layout.api_url, "certificate-authority-data": authority}}
        ],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": context}],
        "current-context": "test",
    }
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        json.dump(document, file, indent=2)
        file.write("\n")
    temporary.rename(path)
    return path


def etcd(layout):
    """Both listeners are Unix sockets, so no port can be taken, and no other user of the host can read the data.
    The advertised addresses must have a port, but a single member never connects to them."""
    return [
        layout.assets / "etcd",
        "--name=test",
        f"--data-dir={layout.directory}/etcd",
        f"--listen-client-urls={layout.etcd_socket}",
        "--advertise-client-urls=http://127.0.0.1:1",
        f"--listen-peer-urls=unix://{layout.directory}/etcd-peer.sock",
        "--initial-advertise-peer-urls=http://127.0.0.1:1",
        "--initial-cluster=test=http://127.0.0.1:1",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(layout, components, flags=(), address=None):
    """`address` is where pods of a real node reach the server, in the network namespace of the node."""
    argv = [
        layout.assets / "kube-apiserver",
        f"--etcd-servers={layout.etcd_socket}",
        f"--secure-port={layout.port}",
        f"--cert-dir={layout.certificates}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        f"--token-auth-file={layout.token_file}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.service_account_key}",
        f"--service-account-signing-key-file={layout.service_account_key}",
        "--allow-privileged=true",
        "--profiling=false",
    ]
    if address:
        argv += ["--bind-address=0.0.0.0", f"--advertise-address={address}", "--kubelet-preferred-address-types=InternalIP"]
        argv += ["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"]
    else:
        argv += ["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--authorization-mode=RBAC"]
        argv.append("--endpoint-reconciler-type=none")  # a loopback address is not a valid endpoint of a service
    if "controller-manager" not in components:
        # No controller creates the service accounts or removes the taints that these two plugins rely on.
        argv.append("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
    return [*argv, *flags]


def controller_manager(layout):
    return [
        layout.assets / "kube-controller-manager",
        f"--kubeconfig={layout.kubeconfig('system:kube-controller-manager')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.service_account_key}",
        f"--root-ca-file={layout.ca_file}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--horizontal-pod-autoscaler-sync-period=1s",
        "--profiling=false",
    ]


def scheduler(layout):
    return [
        layout.assets / "kube-scheduler",
        f"--kubeconfig={layout.kubeconfig('system:kube-scheduler')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
    ]


def kwok(layout, configuration=None):
    argv = [
        layout.assets / "kwok",
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        "--manage-all-nodes=true",
        f"--cidr={POD_CIDR}",
        f"--node-ip={NODE_IP}",
        "--node-port=0",  # without a server address kwok does not listen
        "--node-lease-duration-seconds=40",
    ]
    if configuration:
        argv.append(f"--config={configuration}")
    return argv


def environment(layout):
    """An environment without the caller's variables, such as proxies, GODEBUG and the HOME with ~/.kwok."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(layout.directory), "TMPDIR": str(layout.directory), "GOGC": "400"}


def node(name, gpus, cpu, memory, labels):
    """A fake node with status, as a kubelet registers it."""
    resources = {
        "cpu": str(cpu),
        "memory": memory,
        "ephemeral-storage": "1Ti",
        "pods": "110",
    }
    all_labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "type": "kwok",
    }
    if gpus:
        resources["nvidia.com/gpu"] = str(gpus)
        all_labels["nvidia.com/gpu.present"] = "true"
        all_labels["nvidia.com/gpu.count"] = str(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**all_labels, **(labels or {})},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {"capacity": resources, "allocatable": resources},
    }
