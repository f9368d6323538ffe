"""Command lines and configuration files of containerd, kubelet and kube-proxy. Everything that they write lies in the directory
of the run, or below /run or /var, which are private (isolation.py)."""

import json
from pathlib import Path

from node.isolation import ADDRESS

NAME = "node-1"
POD_CIDR = "10.244.0.0/16"
PAUSE_IMAGE = "localhost/pause:1"
PLUGINS = Path("/usr/lib/cni")
# Users of kubelet, kube-proxy and the name server: name -> groups. Roles of the first two exist in every cluster.
KUBELET_USER, PROXY_USER, NAMES_USER = f"system:node:{NAME}", "system:kube-proxy", "names"
USERS = {KUBELET_USER: ["system:nodes"], PROXY_USER: [], NAMES_USER: ["system:masters"]}


class Files:
    """The files of the node of a run."""

    def __init__(self, directory):
        self.directory = directory
        self.folder = directory / "node"
        self.containerd_socket = directory / "containerd.sock"
        self.relay_socket = directory / "relay.sock"
        self.pod_logs = directory / "pod-logs"

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


def environment(files):
    """containerd starts runc, and kube-proxy iptables."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(files.directory), "TMPDIR": str(files.directory)}


def network(files):
    """Writes the configuration of the pods' network. Each pod has a link to the node, so all traffic passes its packet filter;
    on a bridge it would pass only with a kernel module. There is no way to addresses outside."""
    ranges = [[{"subnet": POD_CIDR}]]
    ipam = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}], "dataDir": f"{files.folder}/addresses"}
    plugins = [{"type": "ptp", "ipMasq": False, "ipam": ipam}]
    files.write("cni/pods.conflist", json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": plugins}))


def containerd(files):
    """No process here has CAP_SYS_RESOURCE for certain, so no score for the out-of-memory killer is lowered. The hierarchy for
    huge pages may be missing."""
    root = files.folder / "containerd"
    configuration = f"""\
version = 2
root = "{root}/root"
state = "{root}/state"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{files.containerd_socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{root}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  enable_selinux = false
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
      BinaryName = "runc"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{PLUGINS}"
    conf_dir = "{files.folder}/cni"
"""
    return ["containerd", f"--config={files.write('containerd.toml', configuration)}"]


def kubelet(files, binary, kubeconfig):
    """Authentication is off, because only the API server and pods reach the port; so `kubectl logs` and `exec` work."""
    configuration = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": ADDRESS,
        "containerRuntimeEndpoint": f"unix://{files.containerd_socket}",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{files.directory.name}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "oomScoreAdj": 0,
        # The sizes of file systems are not known everywhere, and the disk belongs to others, too.
        "localStorageCapacityIsolation": False,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "podLogsDir": str(files.pod_logs),
        "volumePluginDir": str(files.folder / "volume-plugins"),
        "clusterDNS": [ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": str(files.write("resolv.conf", "")),  # this machine's name servers are not reached from here
    }
    return [
        binary,
        f"--config={files.write('kubelet.json', json.dumps(configuration, indent=2))}",
        f"--kubeconfig={kubeconfig}",
        f"--root-dir={files.folder}/kubelet",
        f"--cert-dir={files.folder}/kubelet-certs",
        f"--hostname-override={NAME}",
        f"--node-ip={ADDRESS}",
    ]


def kube_proxy(files, binary, kubeconfig):
    """The limits of connection tracking belong to the whole machine, so they stay as they are."""
    configuration = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "mode": "iptables",
        "clusterCIDR": POD_CIDR,
        "hostnameOverride": NAME,
        "conntrack": {"maxPerCore": 0, "min": 0},
    }
    return [binary, f"--config={files.write('kube-proxy.json', json.dumps(configuration, indent=2))}"]
