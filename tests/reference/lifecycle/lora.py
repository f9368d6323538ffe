"""The simulated LoRA endpoints of a scenario."""

import http.server
import json
import threading
import urllib.parse


class Lora(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers, seen, lock = {}, [], threading.Lock()  # host -> status

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        url = urllib.parse.urlsplit(self.path if "://" in self.path else "http://" + self.headers["Host"] + self.path)
        with self.lock:
            status = self.answers.get(url.hostname, 502)
            try:
                body = json.dumps(json.loads(body), sort_keys=True)
            except ValueError:
                pass
            self.seen.append((url.hostname, f"{self.command} {url.netloc}{url.path} {body}".strip()))
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = do_DELETE = do_PUT = serve

    def log_message(self, *_):
        pass
