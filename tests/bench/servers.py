"""The compared servers: configuration, start on a core, observation and stop."""

import ctypes
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import reviews

READY_SECONDS = 20
# The facts that the controller writes in a cluster with all APIs.
FACTS = "apis: {grove: true, leaderWorkerSet: true, kaiScheduler: false, inferencePool: true}\n"

NGINX_CONF = """\
daemon off;
{user}
worker_processes 1;
pid {dir}/nginx.pid;
error_log {dir}/nginx.error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  default_type application/json;
  keepalive_requests 1000000000;
  keepalive_timeout 3600;
  client_max_body_size 0;
  client_body_temp_path {dir}/nginx-body;
  proxy_temp_path {dir}/nginx-proxy;
  fastcgi_temp_path {dir}/nginx-fastcgi;
  uwsgi_temp_path {dir}/nginx-uwsgi;
  scgi_temp_path {dir}/nginx-scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_protocols TLSv1.3;
    ssl_certificate {dir}/certs/tls.crt;
    ssl_certificate_key {dir}/certs/tls.key;
    # `return` reads and discards the request's body, so the connection stays usable.
    location / {{ return 200 '{answer}'; }}
  }}
}}
"""
# The smallest configuration that the operator accepts.
OPERATOR_CONFIG = """\
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
mpi: {sshSecretName: mpi-ssh, sshSecretNamespace: default}
rbac:
  plannerClusterRoleName: planner
  dgdrProfilingClusterRoleName: profiling
  eppClusterRoleName: epp
"""


@dataclass
class Peer:
    """One kind of server. If `decides` is set, its answers are real decisions and are checked."""
    key: str
    title: str
    binary: Path
    command: object  # (port, health port, metrics port) -> list of arguments
    decides: bool = False
    has_readyz: bool = False
    paths: tuple = (*reviews.ADMISSION_PATHS, reviews.CONVERT_PATH)
    version: list = field(default_factory=list)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def make_certificates(directory):
    """A CA and a P-256 serving pair for 127.0.0.1, in the files of a mounted webhook Secret."""
    certs = directory / "certs"
    certs.mkdir()
    run = lambda *args: subprocess.run(["openssl", *args], check=True, cwd=certs, capture_output=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=bench CA")
    run("req", *key, "-keyout", "tls.key", "-out", "tls.csr", "-subj", "/CN=localhost")
    (certs / "ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n"
                               "keyUsage=digitalSignature\nbasicConstraints=CA:FALSE\n")
    run("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
        "-days", "2", "-extfile", "ext", "-out", "tls.crt")
    for name in ("ca.key", "ca.srl", "tls.csr", "ext"):
        (certs / name).unlink(missing_ok=True)
    return certs


def make_peers(directory, webhook, bin_dir, previous=None):
    """All peers, ours first. `previous` is the binary of an earlier build. Their configuration is written into
    `directory`."""
    certs = directory / "certs"
    (directory / "answer.json").write_text(reviews.allowed_answer())
    (directory / "operator.yaml").write_text(OPERATOR_CONFIG)
    (directory / "facts.yaml").write_text(FACTS)
    beast, runtime = bin_dir / "bench_plain_beast", bin_dir / "bench_controller_runtime"
    nginx = Path("/usr/sbin/nginx")

    def nginx_command(port, _health, _metrics):
        conf = directory / "nginx.conf"
        conf.write_text(NGINX_CONF.format(dir=directory, port=port, answer=reviews.allowed_answer(),
                                          user="user root;" if os.geteuid() == 0 else ""))
        return [nginx, "-p", directory, "-c", conf]

    def dynamo_webhook(key, title, binary):
        return Peer(key, title, binary, lambda port, health, metrics: [
            binary, "serve", "--listen", f"127.0.0.1:{port}", "--cert-dir", certs,
            "--health-listen", f"127.0.0.1:{health}", "--metrics-listen", f"127.0.0.1:{metrics}",
            "--config", directory / "operator.yaml", "--facts", directory / "facts.yaml", "--operator-version", "1.0.0"],
            decides=True, has_readyz=True, version=[binary, "--version"])

    return [
        dynamo_webhook("ours", "ours", webhook),
        *([dynamo_webhook("previous", "previous build", previous)] if previous else []),
        Peer("beast", "plain Beast", beast,
             lambda port, *_: [beast, port, certs, directory / "answer.json"], version=[beast, "--version"]),
        Peer("controller-runtime", "controller-runtime", runtime,
             lambda port, *_: [runtime, port, certs, *reviews.ADMISSION_PATHS],
             paths=reviews.ADMISSION_PATHS,
             version=["go", "version", "-m", runtime]),
        Peer("nginx", "nginx", nginx, nginx_command, version=[nginx, "-v"]),
    ]


def die_with_parent():
    """Runs in the child process, so that no server outlives a killed benchmark."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


class Server:
    """A running peer, pinned to one core."""

    def __init__(self, peer, directory, core):
        self.peer = peer
        self.port, self.health, metrics = free_ports(3)
        self.command = ["taskset", "-c", str(core), *map(str, peer.command(self.port, self.health, metrics))]
        self.log = directory / f"{peer.key}.log"
        self.started = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent, env={**os.environ, "GOMAXPROCS": "1"})

    def pids(self):
        """The process and its children. nginx works in a child."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]

    def memory(self, name):
        """The sum of a memory field of /proc/PID/status over the processes, in MiB: VmRSS is current, VmHWM the peak."""
        total = 0
        for pid in self.pids():
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith(name + ":"):
                    total += int(line.split()[1])
        return total / 1024

    def wait_until(self, condition, what):
        while not condition():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.peer.title} ended with {self.process.returncode}: {self.tail()}")
            if time.monotonic() - self.started > READY_SECONDS:
                raise RuntimeError(f"{self.peer.title}: {what} not within {READY_SECONDS} s: {self.tail()}")
            time.sleep(0.001)
        return time.monotonic() - self.started

    def accepts(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def is_ready(self):
        """Whether /readyz answers 200."""
        try:
            with socket.create_connection(("127.0.0.1", self.health), timeout=1) as probe:
                probe.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return probe.recv(64).split(b" ")[1:2] == [b"200"]
        except OSError:
            return False

    def tail(self):
        return self.log.read_text(errors="replace")[-600:].strip()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
