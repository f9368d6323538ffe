"""A node of a control plane: containerd, kubelet and kube-proxy, and the ways from outside to its network."""

import functools
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from node import images, relay, settings
from node.isolation import ADDRESS

HERE = Path(__file__).resolve().parent
SERVER_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


class NodeError(Exception):
    """The node could not do what was asked for. The message has the output of the program that failed."""


@functools.lru_cache(maxsize=None)
def build_node():
    """The directory of kubelet and kube-proxy. They are built the first time."""
    run = subprocess.run([HERE / "build", "--print"], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        raise NodeError("kubelet and kube-proxy could not be built (see above)")
    return Path(run.stdout.strip())


class Node:
    """The node of a ControlPlane, which makes it. Attributes: name, address."""

    name = settings.NAME
    address = ADDRESS
    components = ("containerd", "kubelet", "kube-proxy", "names")

    def __init__(self, supervisor, layout, binaries):
        self._supervisor = supervisor
        self._layout = layout
        self._binaries = binaries
        self._files = settings.Files(layout.directory)

    # Use

    @property
    def pod_logs(self):
        """The folder of the logs of all pods."""
        return self._files.pod_logs

    def command(self, argv):
        """The command line that runs `argv` in the network of the node, for instance clients that make load."""
        return ["nsenter", f"--target={self._supervisor.namespaces}", "--net", "--", *map(str, argv)]

    def run(self, argv, **options):
        """subprocess.run() in the network of the node, with captured text output. Raises NodeError if the program fails."""
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, **options}
        result = subprocess.run(self.command(argv), check=False, **options)
        if result.returncode != 0:
            raise NodeError(f"{argv}: status {result.returncode}\n{result.stdout}{result.stderr}")
        return result

    def connect(self, host, port, timeout=30):
        """A TCP socket that is connected to an address in the node's network: that of a pod, of a Service, or loopback.
        Raises ConnectionError."""
        return relay.connect(self._files.relay_socket, host, port, timeout)

    def forward(self, host, port):
        """A port of this machine's loopback address that leads to an address in the node's network. Programs that make load
        are better run inside (`command`)."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.serve(listener, host, port)
            return listener.getsockname()[1]

    def serve(self, listener, host, port):
        """Like forward(), with a listener of the caller's, who may close it."""
        relay.serve(self._files.relay_socket, listener, host, port)

    def load(self, archive):
        """Imports an OCI archive of images.py (or of `buildah push oci-archive:`) with the image name that it has."""
        self.ctr("images", "import", archive)

    def ctr(self, *arguments):
        """Runs containerd's client. Returns its output."""
        client = ["ctr", "--address", self._files.containerd_socket, "--namespace", "k8s.io"]
        run = subprocess.run([*client, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise NodeError(f"ctr {arguments}: {run.stderr}")
        return run.stdout

    # Life; called by ControlPlane

    def prepare(self):
        """What must exist before the API server starts: its certificate, which names the addresses at which it is reached
        from all sides, and the relay."""
        certificates = self._layout.certificates
        certificates.mkdir()
        names = [f"DNS:{name}" for name in (*SERVER_NAMES, "localhost")]
        names += [f"IP:{address}" for address in ("127.0.0.1", ADDRESS, "10.96.0.1")]
        make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=kube-apiserver"]
        # TLS libraries of some clients refuse a server whose certificate is that of an authority.
        make += ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={','.join(names)}"]
        make += ["-keyout", self._layout.service_account_key, "-out", self._layout.ca_file]
        made = subprocess.run(make, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise NodeError(f"openssl: {made.stderr}")
        self._spawn("relay", [sys.executable, HERE / "relay.py", self._files.relay_socket])
        self._wait_for(self._files.relay_socket.exists, 30, "relay")

    def start(self, seconds):
        """Starts the components. containerd has the image of the pods' first process before kubelet starts."""
        settings.network(self._files)
        self.spawn("containerd", seconds)
        self.load(images.pause_image(settings.PAUSE_IMAGE))
        self.spawn("kubelet")
        self.spawn("kube-proxy")
        self.spawn("names")

    def spawn(self, component, seconds=60):
        """Returns when containerd serves: a kubelet that cannot connect to it when it starts ends."""
        if component == "containerd":
            self._files.containerd_socket.unlink(missing_ok=True)
        files, kubeconfig = self._files, self._layout.kubeconfig
        argv = {
            "containerd": lambda: settings.containerd(files),
            "kubelet": lambda: settings.kubelet(files, self._binaries / "kubelet", kubeconfig(settings.KUBELET_USER)),
            "kube-proxy": lambda: settings.kube_proxy(files, self._binaries / "kube-proxy", kubeconfig(settings.PROXY_USER)),
            "names": lambda: [sys.executable, "-B", HERE / "names.py", ADDRESS, kubeconfig(settings.NAMES_USER)],
        }[component]()
        self._spawn(component, [shutil.which(str(argv[0]), path="/usr/sbin:/usr/bin:/sbin:/bin") or argv[0], *argv[1:]])
        if component == "containerd":
            self._wait_for(self._containerd_serves, seconds, component)

    def _containerd_serves(self):
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self._files.containerd_socket)) == 0

    def _spawn(self, component, argv):
        self._supervisor.spawn(component, argv, settings.environment(self._files), self._layout.log(component))

    def _wait_for(self, condition, seconds, component):
        deadline = time.monotonic() + seconds
        while not condition():
            ended = self._supervisor.statuses().get(component) is not None
            if ended or time.monotonic() > deadline:
                log = self._layout.log(component).read_text(encoding="utf-8", errors="replace")
                raise NodeError(f"{component} does not start; its log:\n{log[-3000:]}")
            time.sleep(0.03)
