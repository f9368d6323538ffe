"""The name server of a node: it answers queries for addresses of Services and of their pods from the API server, as Kubernetes'
DNS specification says. Other names do not exist.

    SERVICE.NAMESPACE.svc.cluster.local             the cluster address, or the pods of a headless Service
    HOSTNAME.SERVICE.NAMESPACE.svc.cluster.local    one pod of a headless Service

As a program it runs in the network of the node: names.py ADDRESS KUBECONFIG."""

import base64
import json
import socketserver
import ssl
import struct
import sys
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import client  # noqa: E402

DOMAIN = ["svc", "cluster", "local"]
TYPE_A, CLASS_IN = 1, 1
NO_ERROR, SERVER_FAILURE, NAME_ERROR = 0, 2, 3
RESPONSE, AUTHORITATIVE, RECURSION_DESIRED, RECURSION_AVAILABLE = 0x8000, 0x0400, 0x0100, 0x0080
SECONDS_TO_LIVE = 5
REQUEST_SECONDS = 2


def addresses(get, labels):
    """The IPv4 addresses of a name, as lower-case labels; None if there is no such name. `get` returns the object of a path;
    None if it does not exist."""
    if labels[-3:] != DOMAIN or len(labels) not in (5, 6):
        return None
    *host, name, namespace = labels[:-3]
    service = get(f"/api/v1/namespaces/{namespace}/services/{name}")
    if service is None:
        return None
    spec = service["spec"]
    if spec.get("clusterIP") != "None":
        return None if host else [address for address in spec.get("clusterIPs", []) if "." in address]
    selector = urllib.parse.quote(f"kubernetes.io/service-name={name}")
    slices = get(f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector={selector}")["items"]
    found = [
        address
        for one in slices
        if one["addressType"] == "IPv4"
        for endpoint in one["endpoints"] or []
        if endpoint["conditions"].get("ready", True) or spec.get("publishNotReadyAddresses")
        if not host or endpoint.get("hostname") == host[0]
        for address in endpoint["addresses"]
    ]
    return sorted(set(found)) or None


def answer(query, look_up):
    """The answer to a query. `look_up` gets the labels of the name; it may raise OSError."""
    number, flags = struct.unpack_from("!HH", query)
    labels, position = [], 12
    while length := query[position]:
        labels.append(query[position + 1 : position + 1 + length].decode("ascii", "replace").lower())
        position += 1 + length
    question = query[12 : position + 5]
    kind, _ = struct.unpack_from("!HH", query, position + 1)
    try:
        found = look_up(labels)
        code = NAME_ERROR if found is None else NO_ERROR
    except OSError:
        found, code = None, SERVER_FAILURE
    records = [
        # The name is a pointer to that of the question.
        struct.pack("!HHHIH4B", 0xC00C, TYPE_A, CLASS_IN, SECONDS_TO_LIVE, 4, *map(int, address.split(".")))
        for address in (found or [] if kind == TYPE_A else [])
    ]
    flags = RESPONSE | AUTHORITATIVE | RECURSION_AVAILABLE | flags & RECURSION_DESIRED | code
    return struct.pack("!HHHHHH", number, flags, 1, len(records), 0, 0) + question + b"".join(records)


def main(address, kubeconfig):
    document = json.loads(Path(kubeconfig).read_text(encoding="utf-8"))
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    port = int(cluster["server"].rpartition(":")[2])
    tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    headers = {"Authorization": f"Bearer {user['token']}"}

    def get(path):
        try:
            return client.request(port, tls, "GET", path, headers, timeout=REQUEST_SECONDS)
        except client.ApiError as error:
            if error.status == 404:
                return None
            raise OSError(str(error)) from error

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            query, server = self.request
            server.sendto(answer(query, lambda labels: addresses(get, labels)), self.client_address)

    with socketserver.UDPServer((address, 53), Handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
