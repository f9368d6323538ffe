"""The main container of a planner: what KubernetesConnector of ai-dynamo does with the account and the environment of its pod.
Like the planner of the runtime it is a component with an endpoint.

    POST /connector/METHOD    calls a method of the connector. The body has its arguments, and the name of another graph if
                              the connector is to have it (`graph`)
    POST /api                 asks the API server, through the client that the connector uses: {"method", "path", "body"}
    POST /fetch               gets a URL: {"url"}

The port is the planner's metrics port. Each answer is JSON: {"result"}; or {"error", "message"}, with the `status` of the API
server if it refused something."""

import asyncio
import http.server
import inspect
import json
import os
import signal
import threading
import urllib.request

import uvloop
from dynamo.planner.defaults import SubComponentType
from dynamo.planner.kubernetes_connector import KubernetesConnector, TargetReplica
from dynamo.runtime import dynamo_worker

JSON = {"Accept": "application/json"}
PATCH_TYPE = "application/merge-patch+json"


def arguments_of(given):
    """The arguments of a method, with the types that the planner passes."""
    made = dict(given)
    if "sub_component_type" in made:
        made["sub_component_type"] = SubComponentType(made["sub_component_type"])
    if "target_replicas" in made:
        made["target_replicas"] = [TargetReplica(**one) for one in made["target_replicas"]]
    return made


def call(connector, method, given):
    result = getattr(connector, method)(**arguments_of(given))
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def ask_api(connector, given):
    headers = {**JSON, "Content-Type": PATCH_TYPE if given["method"] == "PATCH" else "application/json"}
    options = {"header_params": headers, "body": given.get("body"), "response_type": "object", "auth_settings": ["BearerToken"]}
    return connector.kube_api.custom_api.api_client.call_api(given["path"], given["method"], **options)[0]


def fetch(_, given):
    with urllib.request.urlopen(given["url"], timeout=10) as response:
        return response.read().decode()


def answer(connector, path, given):
    try:
        kind, _, method = path.strip("/").partition("/")
        if kind == "connector":
            if other := given.pop("graph", None):
                connector = KubernetesConnector(os.environ["DYN_NAMESPACE"], parent_dgd_name=other)
            return {"result": call(connector, method, given)}
        return {"result": {"api": ask_api, "fetch": fetch}[kind](connector, given)}
    except Exception as error:  # noqa: BLE001  (the test judges it)
        return {"error": type(error).__name__, "message": str(error), "status": getattr(error, "status", None)}


def server(connector):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answer(connector, self.path, given)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return http.server.ThreadingHTTPServer(("", int(os.environ["PLANNER_PROMETHEUS_PORT"])), Handler)


@dynamo_worker()
async def main(runtime):
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, runtime.shutdown)
    namespace = os.environ["DYN_NAMESPACE"]
    threading.Thread(target=server(KubernetesConnector(namespace)).serve_forever, daemon=True).start()

    async def generate(request):
        yield request

    await runtime.endpoint(f"{namespace}.Planner.generate").serve_endpoint(generate)


if __name__ == "__main__":
    uvloop.run(main())
