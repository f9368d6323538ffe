"""One measurement of one server: the loader's figures and a check of the answers."""

import base64
import http.client
import json
import ssl
import statistics
import subprocess
import time

import reviews
from servers import Server


class WrongAnswer(Exception):
    """A server gave a wrong answer, so its figures would be meaningless."""


class Bench:
    """The state that all measurements share."""

    def __init__(self, directory, loader, server_core, loader_core):
        self.directory = directory
        self.loader = loader
        self.server_core = server_core
        self.loader_core = loader_core
        self.servers = []
        self.first_review = reviews.admission(False)
        self.tls = ssl.create_default_context(cafile=directory / "certs" / "ca.crt")
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_3

    def start(self, peer):
        """Starts `peer` and sends one review. Returns the server with the seconds from exec to ready and to that
        first answer."""
        server = Server(peer, self.directory, self.server_core)
        self.servers.append(server)
        times = {}
        if peer.has_readyz:
            times["readyz_s"] = server.wait_until(server.is_ready, "/readyz")
        server.wait_until(server.accepts, "a listener")
        self.check(server, reviews.VALIDATE_PATH, self.first_review)
        times["first_answer_s"] = time.monotonic() - server.started
        return server, times

    def stop(self, server):
        server.stop()
        if server in self.servers:
            self.servers.remove(server)

    def stop_all(self):
        for server in list(self.servers):
            self.stop(server)

    def post(self, server, path, body):
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=self.tls)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def check(self, server, path, body):
        """Posts one review and checks the answer; raises WrongAnswer."""
        status, text = self.post(server, path, body)
        if status != 200:
            raise WrongAnswer(f"{server.peer.title} {path}: status {status}: {text[:300]!r}")
        check_answer(server.peer, path, json.loads(body), json.loads(text))

    def load(self, server, path, body_file, **options):
        """Runs the loader; `options` are its flags. Returns its figures."""
        command = ["taskset", "-c", str(self.loader_core), str(self.loader), "--port", str(server.port),
                   "--path", path, "--body", str(body_file), "--expect", reviews.UID]
        for pid in server.pids():
            command += ["--server-pid", str(pid)]
        for name, value in options.items():
            command += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=options.get("seconds", 5) + 40)
        if done.returncode != 0:
            raise WrongAnswer(f"{server.peer.title} {path}: {done.stderr.strip()}; log: {server.tail()}")
        return json.loads(done.stdout)


def expect(condition, peer, path, what, answer):
    if not condition:
        raise WrongAnswer(f"{peer.title} {path}: {what}: {json.dumps(answer)[:400]}")


def check_answer(peer, path, review, answer):
    response = answer.get("response", {})
    expect(response.get("uid") == reviews.UID, peer, path, "uid not echoed", answer)
    if path != reviews.CONVERT_PATH:
        expect(response.get("allowed") is True, peer, path, "not allowed", answer)
    if not peer.decides:
        return
    for name in ("kind", "apiVersion"):
        expect(answer.get(name) == review[name], peer, path, f"{name} not echoed", answer)
    if path == reviews.MUTATE_PATH:
        expect(response.get("patchType") == "JSONPatch", peer, path, "no JSON patch", answer)
        patch = json.loads(base64.b64decode(response["patch"]))
        expect(any(one["path"] == "/spec/image" for one in patch), peer, path, "image not defaulted", patch)
    if path == reviews.VALIDATE_PATH:
        expect("patch" not in response, peer, path, "a patch from a validator", answer)
    if path == reviews.CONVERT_PATH:
        check_converted(peer, path, review["request"], response)


def check_converted(peer, path, request, response):
    expect(response.get("result", {}).get("status") == "Success", peer, path, "no success", response)
    converted = response["convertedObjects"]
    expect(len(converted) == len(request["objects"]), peer, path, "wrong number of objects", len(converted))
    for before, after in zip(request["objects"], converted):
        same = (after["apiVersion"] == request["desiredAPIVersion"] and after["kind"] == before["kind"] and
                after["spec"]["model"] == before["spec"]["model"] and
                all(after["metadata"][name] == before["metadata"][name]
                    for name in ("name", "namespace", "uid")))
        expect(same, peer, path, "an object that is not the converted one", after)


def measure_startup(bench, peer, repeats):
    """Median seconds from exec to ready and to the first answer, and the resident memory when idle."""
    runs, idle = [], []
    for _ in range(repeats):
        server, times = bench.start(peer)
        if not idle:
            time.sleep(1)
            idle.append(server.memory("VmRSS"))
        bench.stop(server)
        runs.append(times)
    return {"idle_rss_mib": idle[0],
            **{name: statistics.median(one[name] for one in runs) for name in runs[0]}}


def measure_bulk(bench, peer, desired, count, repeats):
    """`repeats` conversions of `count` objects by a fresh server: seconds, and memory around them."""
    body_file = bench.directory / "bulk.json"
    body = reviews.bulk_conversion(desired, count)
    body_file.write_bytes(body)
    answer_file = bench.directory / "bulk-answer.json"
    server, _ = bench.start(peer)
    try:
        result = {"objects": count, "request_mib": len(body) / 2**20, "seconds": [],
                  "cpu_seconds": [],
                  "rss_before_mib": server.memory("VmRSS")}
        for repeat in range(repeats):
            save = {"save": answer_file} if repeat == 0 else {}
            figures = bench.load(server, reviews.CONVERT_PATH, body_file, requests=1, seconds=60, **save)
            if figures["errors"] or figures["requests"] != 1:
                raise WrongAnswer(f"{peer.title}: bulk conversion: {figures}")
            result["seconds"].append(figures["max_us"] / 1e6)
            result["cpu_seconds"].append(figures["server_cpu_us"] / 1e6)
            result["answer_mib"] = figures["answer_bytes"] / 2**20
            if repeat == 0:
                result["peak_rss_mib"] = server.memory("VmHWM")
                answer = json.loads(answer_file.read_bytes())
                check_answer(peer, reviews.CONVERT_PATH, json.loads(body), answer)
        time.sleep(2)
        result["rss_after_mib"] = server.memory("VmRSS")
        return result
    finally:
        bench.stop(server)
        body_file.unlink(missing_ok=True)
        answer_file.unlink(missing_ok=True)
