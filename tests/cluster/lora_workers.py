"""The LoRA endpoints of workers: one server answers at the addresses of all pods as the runtime 1.0 does."""

import collections
import http.server
import json
import threading
import time
import urllib.parse

PORT = 9090


class Workers:
    """adapters: address -> the names of what is loaded there. sources: (address, name) -> the uri that it was loaded from. calls:
    (method, address, path, body). `behave` is asked before each answer: it returns a status to answer with, None for what the runtime
    does, or a function that answers itself."""

    def __init__(self):
        self.adapters, self.sources, self.calls, self.lock = {}, {}, [], threading.Lock()
        self.behave = lambda method, address: None
        self.busy, self.busiest = collections.Counter(), collections.Counter()  # requests at a time, by method
        workers = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                workers.answer(self)

            do_GET = do_DELETE = do_POST

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Server(("0.0.0.0", PORT), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        address = request.connection.getsockname()[0]
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0)).decode()
        with self.lock:
            self.calls.append((request.command, address, request.path, body))
            self.busy[request.command] += 1
            self.busiest[request.command] = max(self.busiest[request.command], self.busy[request.command])
        status, text = self.behave(request.command, address), {"status": "error", "message": "told to fail"}
        if status is None:
            status, text = self.runtime(request.command, address, request.path, body)
        with self.lock:
            self.busy[request.command] -= 1  # the client may send the next request before this thread goes on
        if callable(status):
            return status(request)
        data = json.dumps(text).encode()
        request.send_response(status)
        if 300 <= status < 400:
            request.send_header("Location", f"http://127.0.0.1:{PORT}/elsewhere")
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def runtime(self, method, address, path, body):
        with self.lock:
            loaded = self.adapters.setdefault(address, set())
            if method == "POST" and path == "/v1/loras":
                asked = json.loads(body)
                if "source" not in asked:
                    return 422, {"message": "missing field `source`"}
                again = asked["lora_name"] in loaded
                loaded.add(asked["lora_name"])
                if not again:  # the runtime looks at the name only
                    self.sources[address, asked["lora_name"]] = asked["source"]["uri"]
                return 200, {"status": "success", "message": "already loaded" if again else "loaded"}
            name = urllib.parse.unquote(path.removeprefix("/v1/loras/"))
            if method == "DELETE" and name in loaded:
                loaded.remove(name)
                return 200, {"status": "success", "message": "unloaded"}
            if method == "DELETE":
                return 500, {"status": "error", "message": f"LoRA '{name}' not found"}
            return 200, {"status": "success", "loras": dict.fromkeys(loaded, 1), "count": len(loaded)}

    def forget(self):
        with self.lock:
            self.adapters.clear()
            self.sources.clear()

    def crash(self, address):
        """The worker at the address forgets its adapters."""
        with self.lock:
            self.adapters.pop(address, None)

    def count(self, method):
        with self.lock:
            return sum(call[0] == method for call in self.calls)

    def clear(self):
        with self.lock:
            self.calls.clear()
            self.busiest = self.busy.copy()
        self.behave = lambda method, address: None


def sleeps(seconds, *methods):
    """A behaviour: answers of these methods are late."""

    def behave(method, _):
        if method in methods:
            time.sleep(seconds)

    return behave
