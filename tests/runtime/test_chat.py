"""The clients of chat.py against a server that fails in known ways: each loss is seen, and nothing else is counted."""

import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import chat  # noqa: E402

TOKENS = 4


def head(status="200 OK", length=None, more=""):
    size = "Transfer-Encoding: chunked\r\n" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{size}{more}\r\n".encode()


def answer(tokens=TOKENS, content="w1 w2", finish="length", more=""):
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish}
    body = json.dumps({"choices": [choice], "usage": {"completion_tokens": tokens}}).encode()
    return head(length=len(body), more=more) + body


def failed(status, text="no"):
    return head(status, len(text)) + text.encode()


def chunk(text):
    return f"{len(text.encode()):x}\r\n{text}\r\n".encode()


def event(content=None, finish=None, tokens=None, **more):
    one = {"choices": [{"delta": {"content": content}, "finish_reason": finish}], **more}
    if tokens is not None:
        one = {"choices": [], "usage": {"completion_tokens": tokens}}
    return chunk(f"data: {json.dumps(one)}\n\n")


WORDS = head() + event("w1") + event("w2", "length")
DONE = chunk("data: [DONE]\n\n")
LAST = b"0\r\n\r\n"
STREAM = WORDS + event(tokens=TOKENS) + DONE + LAST
CLOSE, RESET, HANG = "close", "reset", "hang"


class Server(threading.Thread):
    """Plays a script: for each connection a list of what it does after each request; bytes are sent, CLOSE ends the connection,
    RESET resets it, HANG does nothing more. `requests`: how many it has received."""

    def __init__(self, script):
        super().__init__(daemon=True)
        self.script = script
        self.requests = 0
        self.open = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.start()

    def run(self):
        for steps in self.script:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.play, args=[connection, steps], daemon=True).start()
        self.listener.close()  # what comes then is refused

    def close(self):
        for one in (self.listener, *self.open):
            one.close()

    def play(self, connection, steps):
        self.open.append(connection)
        with connection.makefile("rb") as reader:
            for step in steps:
                length = 0
                while (line := reader.readline()) not in (b"\r\n", b""):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                if line == b"":
                    return
                reader.read(length)
                self.requests += 1
                for action in step:
                    if isinstance(action, bytes):
                        connection.sendall(action)
                    elif isinstance(action, float):
                        time.sleep(action)
                    elif action == RESET:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    elif action == HANG:
                        return
                    if action in (CLOSE, RESET):
                        reader.close()
                        self.open.remove(connection)
                        connection.close()
                        return


OK = [answer()]
# title, client, connections of the server, for each request the error (None: it succeeds), requests that were sent again
CASES = [
    ("answers on one connection", "kept", [[OK, OK, OK]], [None, None, None], 0),
    ("a connection for each answer", "new", [[OK], [OK]], [None, None], 0),
    ("an idle connection that is closed", "kept", [[[answer(), CLOSE]], [OK]], [None, None], 0),
    ("an answer that announces the close", "kept", [[[answer(more="Connection: close\r\n"), CLOSE]], [OK]], [None, None], 0),
    ("a close that crosses the next request", "kept", [[OK, [CLOSE]], [OK]], [None, None], 1),
    ("a reset that crosses the next request", "kept", [[OK, [RESET]], [OK]], [None, None], 1),
    ("a close, and another on the new connection", "kept", [[OK, [CLOSE]], [[CLOSE]]], [None, "RemoteDisconnected"], 1),
    ("a close of a fresh connection", "kept", [[[CLOSE]]], ["RemoteDisconnected"], 0),
    ("a reset of a fresh connection", "new", [[[RESET]]], ["ConnectionResetError"], 0),
    ("a close inside the head", "kept", [[OK, [b"HTTP/1.1 200 OK\r\nContent-", CLOSE]]], [None, ""], 0),
    ("a close inside the body", "kept", [[OK, [answer()[:-5], CLOSE]]], [None, "IncompleteRead"], 0),
    ("nobody listens", "new", [], ["ConnectionRefusedError"], 0),
    ("404", "kept", [[[failed("404 Not Found", "no model")]]], ["no model"], 0),
    ("503", "new", [[[failed("503 Service Unavailable", "no instances")]]], ["no instances"], 0),
    ("500 without a word", "new", [[[failed("500 Internal Server Error", "")]]], ["an empty answer"], 0),
    ("an answer without text", "new", [[[answer(content="")]]], ["no text"], 0),
    ("an answer without an end", "new", [[[answer(finish=None)]]], ["no text"], 0),
    ("an answer that is too short", "new", [[[answer(tokens=3)]]], ["3 of 4 tokens"], 0),
    ("an answer that is no JSON", "new", [[[head(length=2) + b"ok"]]], ["JSONDecodeError"], 0),
    ("no answer", "new", [[[HANG]]], ["TimeoutError"], 0),
    ("an answer that stops", "kept", [[[answer()[:-5], HANG]]], ["TimeoutError"], 0),
    ("a success after a failure", "kept", [[[failed("503 Service Unavailable")]], [OK]], ["no", None], 0),
    ("streams on one connection", "kept-stream", [[[STREAM], [STREAM]]], [None, None], 0),
    ("a slow stream", "stream", [[[WORDS, 0.4, event(tokens=TOKENS), 0.4, DONE + LAST]]], [None], 0),
    ("a stream that is cut", "stream", [[[WORDS, CLOSE]]], [""], 0),
    ("a stream that is cut inside an event", "stream", [[[STREAM[:-60], CLOSE]]], [""], 0),
    ("a stream that ends without its end", "stream", [[[WORDS + event(tokens=TOKENS) + LAST]]], ["[DONE] False"], 0),
    ("a stream without a finish reason", "stream", [[[head() + event("w1") + DONE + LAST]]], ["finish_reason False"], 0),
    ("a stream without text", "stream", [[[head() + event(None, "stop") + DONE + LAST]]], ["text False"], 0),
    ("a stream that is too short", "stream", [[[WORDS + event(tokens=2) + DONE + LAST]]], ["2 of 4 tokens"], 0),
    ("a stream without a count", "stream", [[[WORDS + DONE + LAST]]], ["None of 4 tokens"], 0),
    ("an error event", "stream", [[[head() + chunk("event: error\ndata: gone\n\n") + LAST]]], ["an error in the stream"], 0),
    ("an error as data", "stream", [[[head() + event(error={"message": "gone"}) + DONE + LAST]]], ["gone"], 0),
    ("a stream that stops", "stream", [[[WORDS, HANG]]], ["TimeoutError"], 0),
    ("a stream that is refused", "kept-stream", [[[STREAM], [failed("503 Service Unavailable")]]], [None, "no"], 0),
]  # fmt: skip


class Clients(unittest.TestCase):
    def server(self, script):
        server = Server(script)
        self.addCleanup(server.close)
        return server

    def test_each_failure_is_seen(self):
        for title, name, script, expected, resent in CASES:
            with self.subTest(title):
                server = self.server(script)
                if not script:
                    server.join()
                client = chat.Client(server.url, "m", name, TOKENS, 0.7)
                records = []
                for _ in expected:
                    records.append(client.ask())
                    time.sleep(0.03)  # so that a close arrives before the next request
                client.close()
                found = [record.get("error") for record in records]
                for error, part in zip(found, expected):
                    self.assertEqual(error is None, part is None, found)
                    self.assertIn(part or "", error or "", found)
                self.assertEqual(sum(record["resent"] for record in records), resent)

    def test_a_request_is_sent_once_more_only_on_an_idle_connection(self):
        server = self.server([[OK, [CLOSE]], [[CLOSE]], [OK]])
        client = chat.Client(server.url, "m", "kept", TOKENS, 1)
        errors = [client.ask().get("error") for _ in range(3)]
        client.close()
        self.assertEqual([bool(error) for error in errors], [False, True, False])
        self.assertEqual(server.requests, 4)

    def test_counts_and_the_longest_gap(self):
        def record(end, client="kept", **more):
            return {"client": client, "start": end - 0.1, "last": end, "end": end, "status": 200, "resent": False, **more}

        records = [record(10.5), record(11.0), record(12.0, error="no"), record(13.5), record(12.2, "stream"), record(20.0)]
        found = chat.summary(records, 10, 15)
        self.assertEqual((found["requests"], found["streams"], found["failed"], found["gap"]), (5, 1, 1, 2.5))
        hanging = record(30.0, error="timed out") | {"last": 12.5}
        self.assertEqual([chat.summary([hanging], *span)["failed"] for span in ((10, 15), (25, 35))], [1, 0])
        self.assertEqual(chat.summary([], 1, 4)["gap"], 3)
        self.assertEqual(chat.summary([record(2, error="no")], 1, 4)["gap"], 3)

    def test_the_program(self):
        """It asks until it is told to stop, finishes what it has begun, and reports."""
        slow = [WORDS, 0.4, event(tokens=TOKENS) + DONE + LAST]
        server = self.server([[slow] * 3 + [[failed("404 Not Found", "no model")]], [slow] * 1000])
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "requests"
            argv = [sys.executable, "-B", HERE / "chat.py", "--url", server.url, "--model", "m", "--out", out]
            argv += ["--clients", "kept-stream", "--stream-tokens", str(TOKENS), "--pause", "0.01"]
            with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
                while server.requests < 6:
                    time.sleep(0.02)
                program.terminate()  # in the middle of the sixth answer
                found = json.loads(program.communicate(timeout=10)[0])
            records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([one.get("error") for one in records], [None, None, None, "no model", None, None])
        self.assertEqual((found["requests"], found["streams"], found["failed"]), (6, 6, 1))
        self.assertEqual(found["first"], records[3:4])


if __name__ == "__main__":
    unittest.main()
