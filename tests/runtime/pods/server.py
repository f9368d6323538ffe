"""What runs in pods whose programs are not to be had (planner, endpoint picker) or must fail when a test says so. It answers on
the ports of all component types: HTTP on those of frontend, worker and planner, and gRPC's health service on that of the
endpoint picker.

    /live, /health     what probes ask: 200, or 503 after /fail/live or /fail/health
    /fail/<name>       from now on <name> fails; the health service fails with each of them
    /heal              nothing fails

With the argument `deaf` it ignores SIGTERM."""

import contextlib
import http.server
import os
import signal
import socketserver
import struct
import sys
import threading
import time

HTTP_PORTS = (8000, 9090, 9085)
GRPC_PORT = 9003
SERVICE = b"inference-extension"
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
OK, NOT_FOUND = b"0", b"5"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM = ACK = 1
END_HEADERS = 4
PREFACE_BYTES = 24
failing = set()


class Http(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        _, name, *rest = self.path.split("/")
        if name == "fail":
            failing.add(rest[0])
            print(f"fails {rest[0]}", flush=True)
        elif name == "heal":
            failing.clear()
        self.send_response(503 if name in failing else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def literal(name, value):
    """A header that no table of HPACK has."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


class Health(socketserver.StreamRequestHandler):
    """grpc.health.v1.Health/Check over HTTP/2. All requests are taken for this call, so their headers are not read."""

    def handle(self):
        with contextlib.suppress(ConnectionResetError):  # the kubelet does not say goodbye
            self._serve()

    def _serve(self):
        self.rfile.read(PREFACE_BYTES)
        self._send(SETTINGS, 0, 0, b"")
        bodies = {}
        while header := self.rfile.read(9):
            length, kind, flags, stream = int.from_bytes(header[:3], "big"), *struct.unpack(">BBI", header[3:])
            payload = self.rfile.read(length)
            if kind in (SETTINGS, PING) and not flags & ACK:
                self._send(kind, ACK, 0, payload if kind == PING else b"")
            elif kind == DATA:
                bodies[stream] = bodies.get(stream, b"") + payload
                if flags & END_STREAM:
                    self._answer(stream, bodies.pop(stream))

    def _send(self, kind, flags, stream, payload):
        self.wfile.write(len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload)

    def _answer(self, stream, body):
        """`body`: a byte, four of the length, and the message, whose only field is the name of a service."""
        self._send(HEADERS, END_HEADERS, stream, b"\x88" + literal(b"content-type", b"application/grpc"))
        found = body[5:] == b"\x0a" + bytes([len(SERVICE)]) + SERVICE
        if found:
            message = NOT_SERVING if failing else SERVING
            self._send(DATA, 0, stream, b"\x00" + len(message).to_bytes(4, "big") + message)
        self._send(HEADERS, END_HEADERS | END_STREAM, stream, literal(b"grpc-status", OK if found else NOT_FOUND))


class Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    # Before threads begin, so that none of them takes the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    servers = [http.server.ThreadingHTTPServer(("", port), Http) for port in HTTP_PORTS] + [Tcp(("", GRPC_PORT), Health)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    while signal.sigwait([signal.SIGTERM]):
        print(f"SIGTERM {time.time()}", flush=True)
        if "deaf" not in sys.argv:
            os._exit(0)


if __name__ == "__main__":
    main()
