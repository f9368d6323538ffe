"""The API server of a kubeconfig: HTTPS requests over kept connections, one per thread."""

import base64
import functools
import http.client
import json
import pathlib
import ssl
import tempfile
import threading
import urllib.parse

import yaml


class Api:
    def __init__(self, kubeconfig):
        config = yaml.safe_load(pathlib.Path(kubeconfig).read_text(encoding="utf-8"))

        def named(what, name):
            return next(item for item in config[f"{what}s"] if item["name"] == name)[what]

        context = named("context", config["current-context"])
        cluster, user = named("cluster", context["cluster"]), named("user", context["user"])
        url = urllib.parse.urlsplit(cluster["server"])
        self.host, self.port = url.hostname, url.port or 443
        self.tls = _tls(cluster, user)
        self.headers = {"Authorization": "Bearer " + user["token"]} if user.get("token") else {}
        self.local = threading.local()

    def connect(self, timeout=30):
        return http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=timeout)

    def call(self, method, path, body=None, kind="application/json"):
        """(status, decoded answer)"""
        text = json.dumps(body) if body is not None else None
        for connection in (getattr(self.local, "connection", None), None):  # the server may have closed an idle one
            fresh = connection is None
            self.local.connection = self.connect() if fresh else connection
            try:
                self.local.connection.request(method, path, text, {**self.headers, "Content-Type": kind})
                answer = self.local.connection.getresponse()
                got = answer.read()
                return answer.status, json.loads(got) if got else {}
            except (OSError, http.client.HTTPException):
                self.local.connection = None
                if fresh:
                    raise
        raise AssertionError("a fresh connection answers or raises")

    @functools.lru_cache(maxsize=None)
    def resources(self, version):
        """kind -> plural of a group and version."""
        status, got = self.call("GET", f"{base_of(version)}")
        if status != 200:
            return {}
        return {one["kind"]: one["name"] for one in got["resources"] if "/" not in one["name"]}

    def collection(self, namespace, document):
        """The path for creating objects like the document; None if the server does not know the kind."""
        version = document["apiVersion"]
        plural = self.resources(version).get(document["kind"])
        return plural and f"{base_of(version)}/namespaces/{namespace}/{plural}"


def base_of(version):
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _tls(cluster, user):
    context = ssl.create_default_context()
    with tempfile.TemporaryDirectory() as folder:

        def file(key, holder):
            """The path of a file of the kubeconfig, or of a temporary file with its inline data."""
            if not holder.get(f"{key}-data"):
                return holder.get(key)
            path = pathlib.Path(folder, key)
            path.write_bytes(base64.b64decode(holder[f"{key}-data"]))
            return path

        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        elif authority := file("certificate-authority", cluster):
            context.load_verify_locations(authority)
        if certificate := file("client-certificate", user):
            context.load_cert_chain(certificate, file("client-key", user))
    return context
