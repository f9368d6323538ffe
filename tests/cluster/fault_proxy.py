"""A TLS proxy between the controller and the API server that records requests and injects faults.

    proxy = FaultProxy(cluster.api_url, cluster.ca_file, certificate, key)
    proxy.start()                          # proxy.url
    proxy.on_write[3] = Reply(503)         # the third write since reset() is answered with 503
    proxy.on_event[7] = "twice"            # the seventh watch event is delivered twice

Writes are counted without those of Events and Leases, whose number depends on the time. Python standard library only.
"""

import contextlib
import dataclasses
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.parse

WRITES = ("POST", "PUT", "PATCH", "DELETE")
SKIPPED_HEADERS = {"connection", "transfer-encoding", "content-length", "keep-alive"}
REASONS = {
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclasses.dataclass(frozen=True)
class Reply:
    """The API server answers with an error. With `done` it has carried out the request before."""

    status: int
    retry_after: int = None
    done: bool = False


@dataclasses.dataclass(frozen=True)
class Cut:
    """The connection ends in the middle of the body of the answer."""


@dataclasses.dataclass(frozen=True)
class Hang:
    """The request is never answered, and not carried out."""


@dataclasses.dataclass(frozen=True)
class Call:
    """After the answer was sent, `function` is called before the proxy serves the connection any further."""

    function: object


# What an API server may answer to a write.
REPLIES = {
    "409": Reply(409),
    "410": Reply(410),
    "429": Reply(429, retry_after=1),
    "500": Reply(500),
    "503": Reply(503),
    "503 with Retry-After": Reply(503, retry_after=1),
    "504": Reply(504),
    "500 after the write": Reply(500, done=True),
    "504 after the write": Reply(504, done=True),
    "cut": Cut(),
}
EVENTS = ("lost", "twice", "late", "cut")  # what may happen to an event of a watch


@dataclasses.dataclass(frozen=True)
class Seen:
    """A request, when it was answered, and the status of the answer (None: there was none)."""

    method: str
    path: str
    query: str
    status: int
    time: float
    injected: bool = False


def is_counted_write(method, path):
    return method in WRITES and "/events" not in path and "/leases" not in path


def namespace_of(path):
    """The namespace in the path of a request; None if it has none."""
    _, found, rest = path.partition("/namespaces/")
    return rest.split("/")[0] if found else None


class FaultProxy:
    """Attributes that a test sets, all emptied by reset(); numbers begin with 1:

    on_write      number of a write -> Reply, Cut, Hang or Call
    on_request    number of any request that is no watch -> the same
    on_watch      number of a request for a watch -> Reply
    refused       plural of a resource -> Reply to all requests for lists and watches of it
    on_event      number of a watch event -> "lost" (the connection ends before it), "twice", "late" (by 1 s) or "cut"
                  (the connection ends in the middle of it)
    event_delay   seconds by which all watch events are late
    event_delays  plural of a resource -> the same for its watch events
    slow          namespace -> seconds by which all writes of its objects are late, those of Events too
    lists         path and query of a list -> the body of its next answer, instead of asking the API server
    """

    def __init__(self, api_url, ca_file, certificate, key):
        parts = urllib.parse.urlsplit(api_url)
        self._upstream = (parts.hostname, parts.port)
        self._client_context = ssl.create_default_context(cafile=ca_file)
        self._server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server_context.load_cert_chain(certificate, key)
        self._listener = None
        self._mutex = threading.Lock()
        self._connections = set()
        self.seen = []
        self.reset()

    @property
    def url(self):
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def start(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self):
        self._listener.close()
        self.drop_connections()

    def drop_connections(self):
        with self._mutex:
            open_now = list(self._connections)
        for connection in open_now:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def reset(self):
        """Forgets all faults and counts."""
        with self._mutex:
            self.on_write, self.on_request, self.on_watch, self.on_event = {}, {}, {}, {}
            self.event_delay = 0
            self.event_delays = {}
            self.slow = {}
            self.lists, self.refused = {}, {}
            self.recorded_lists = {}
            self.seen = []
            self._numbers = {"write": 0, "request": 0, "watch": 0, "event": 0}
            self.triggered = 0  # faults that have happened

    def count(self, what):
        """The number of counted "write"s, "request"s, "watch"es or "event"s since reset()."""
        with self._mutex:
            return self._numbers[what]

    def writes(self):
        """The counted writes that reached the API server and were answered, in order."""
        with self._mutex:
            return [one for one in self.seen if is_counted_write(one.method, one.path) and one.status is not None]

    def writes_of(self, namespace):
        """The counted writes of the namespace that were answered."""
        return [one for one in self.writes() if namespace_of(one.path) == namespace]

    # Inside

    def _next(self, what, faults):
        with self._mutex:
            self._numbers[what] += 1
            fault = faults.pop(self._numbers[what], None)
            if fault is not None:
                self.triggered += 1
            return fault

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        upstream = None
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._server_context.wrap_socket(connection, server_side=True) as tls:
                with self._mutex:
                    self._connections.add(tls)
                reader = tls.makefile("rb")
                upstream = http.client.HTTPSConnection(*self._upstream, timeout=None, context=self._client_context)
                with reader:  # the socket stays open as long as its reader
                    while self._exchange(tls, reader, upstream):
                        pass
        except (OSError, http.client.HTTPException, ValueError):
            pass  # one of the two sides has closed; the other side is closed too
        finally:
            with self._mutex:
                self._connections = {one for one in self._connections if one.fileno() != -1}
            if upstream is not None:
                self._end(upstream)
            connection.close()

    @staticmethod
    def _end(upstream):
        """Ends a read of the other thread first. close() would wait for it, until the next event of a watch."""
        if upstream.sock is not None:
            with contextlib.suppress(OSError):
                upstream.sock.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(AttributeError):  # the other thread closes the answer at the same time
            upstream.close()

    def _exchange(self, tls, reader, upstream):
        """Serves one request. Returns whether the connection may be used for another one."""
        line = reader.readline()
        if not line.strip():
            return False
        method, target, _ = line.decode().split()
        headers = {}
        for raw in iter(reader.readline, b"\r\n"):
            if not raw:
                return False
            name, _, value = raw.decode().partition(":")
            headers[name.strip().lower()] = value.strip()
        body = reader.read(int(headers.get("content-length", 0)))
        parts = urllib.parse.urlsplit(target)
        query = urllib.parse.parse_qs(parts.query)
        if query.get("watch", ["0"])[0] in ("1", "true"):
            return self._watch(tls, upstream, method, target, parts, headers)
        return self._plain(tls, upstream, method, target, parts, headers, body)

    def _forward(self, upstream, method, target, headers, body):
        sent = {name: value for name, value in headers.items() if name not in SKIPPED_HEADERS}
        upstream.request(method, target, body or None, sent)
        return upstream.getresponse()

    def _note(self, method, parts, status, injected=False):
        with self._mutex:
            self.seen.append(Seen(method, parts.path, parts.query, status, time.monotonic(), injected))

    def _plain(self, tls, upstream, method, target, parts, headers, body):
        fault = self._next("request", self.on_request)
        if method == "GET" and "limit=" in parts.query:
            fault = self._refusal(parts) or fault
        if is_counted_write(method, parts.path):
            fault = self._next("write", self.on_write) or fault
        if isinstance(fault, Reply) and not fault.done:
            self._note(method, parts, fault.status, injected=True)
            return self._send_error(tls, fault)
        if isinstance(fault, Hang):
            tls.recv(1)  # until the peer closes the connection
            return False
        stored = self._stored_list(method, target)
        if stored is not None:
            self._note(method, parts, 200, injected=True)
            return self._send(tls, 200, [("Content-Type", "application/json")], stored)
        if method in WRITES:
            time.sleep(self.slow.get(namespace_of(parts.path), 0))
        answer = self._forward(upstream, method, target, headers, body)
        content = answer.read()
        self._note(method, parts, answer.status)
        if method == "GET" and "limit=" in parts.query and answer.status == 200:
            with self._mutex:
                self.recorded_lists.setdefault(target, content)
        if isinstance(fault, Reply):
            return self._send_error(tls, fault)
        if isinstance(fault, Cut):
            tls.sendall(self._head(answer.status, answer.getheaders(), len(content)) + content[: len(content) // 2])
            return False
        self._send(tls, answer.status, answer.getheaders(), content)
        if isinstance(fault, Call):
            fault.function()
        return True

    def _refusal(self, parts):
        with self._mutex:
            fault = self.refused.get(parts.path.rsplit("/", 1)[-1])
            self.triggered += fault is not None
            return fault

    def _stored_list(self, method, target):
        if method != "GET":
            return None
        with self._mutex:
            found = self.lists.pop(target, None)
            if found is not None:
                self.triggered += 1
            return found

    @staticmethod
    def _head(status, headers, length):
        lines = [f"HTTP/1.1 {status} Status"]
        lines += [f"{name}: {value}" for name, value in headers if name.lower() not in SKIPPED_HEADERS]
        lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def _send(self, tls, status, headers, content):
        tls.sendall(self._head(status, headers, len(content)) + content)
        return True

    def _send_error(self, tls, fault):
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": f"injected {fault.status}",
            "reason": REASONS[fault.status],
            "code": fault.status,
        }
        headers = [("Content-Type", "application/json")]
        if fault.retry_after is not None:
            headers.append(("Retry-After", str(fault.retry_after)))
        return self._send(tls, fault.status, headers, json.dumps(body).encode())

    # Watches

    def _watch(self, tls, upstream, method, target, parts, headers):
        fault = self._next("watch", self.on_watch) or self._refusal(parts)
        if fault is not None:
            return self._send_error(tls, fault)
        answer = self._forward(upstream, method, target, headers, b"")
        if answer.status != 200:
            return self._send(tls, answer.status, answer.getheaders(), answer.read())
        tls.sendall(self._head(200, answer.getheaders(), None))
        queue = []
        changed = threading.Condition()
        resource = parts.path.rsplit("/", 1)[-1]
        threading.Thread(target=self._receive, args=(answer, queue, changed, resource), daemon=True).start()
        while True:
            with changed:
                while not queue:
                    changed.wait()
                due, line = queue.pop(0)
            if line is None:
                tls.sendall(b"0\r\n\r\n")
                return False
            time.sleep(max(0.0, due - time.monotonic()))
            if not self._deliver(tls, line):
                return False

    def _receive(self, answer, queue, changed, resource):
        """Reads events when they come, so that the delay of one does not add to the delays of the others."""
        try:
            for line in iter(answer.readline, b""):
                with changed:
                    delay = self.event_delays.get(resource, self.event_delay)
                    queue.append((time.monotonic() + delay, line))
                    changed.notify()
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            pass  # the controller has closed its end
        with changed:
            queue.append((0, None))
            changed.notify()

    def _deliver(self, tls, line):
        """Sends one event. Returns whether the watch goes on."""
        fault = None
        if b'"type":"BOOKMARK"' not in line[:30]:
            fault = self._next("event", self.on_event)
        if fault == "lost":
            return False
        if fault == "cut":
            tls.sendall(self._chunk(line[: len(line) // 2]))
            return False
        if fault == "late":
            time.sleep(1)
        for _ in range(2 if fault == "twice" else 1):
            tls.sendall(self._chunk(line))
        return True

    @staticmethod
    def _chunk(data):
        return f"{len(data):x}\r\n".encode() + data + b"\r\n"
