"""Clients that ask a chat completion again and again until the process gets SIGTERM, and what became of each request.

    chat.py --url http://10.96.0.9:8000 --model NAME --out FILE [--clients kept,new,stream,kept-stream] [--seconds N]

Each client has one request at a time. FILE gets one line of JSON for each request when it has ended. Standard library only, so
that it runs in any network namespace.

A client whose name begins with `kept` keeps its connection, as connection pools do: before a request it looks whether the
server has closed the idle connection, and opens another one if so. If a connection that has already carried an answer is
closed before any byte of the next answer, the request is sent once more, on a new connection, because the close and the
request may have crossed. (curl and browsers do so.) This is counted as `resent`, and is no failure. Nothing else is sent
twice, and everything but a complete answer is a failure: another status than 200, an answer without text or without its end,
fewer tokens than asked for, an error inside a stream, a closed or refused connection, no byte for `--timeout` seconds."""

import argparse
import http.client
import json
import select
import signal
import sys
import threading
import time
import urllib.parse

CLIENTS = ("kept", "new", "stream", "kept-stream")
# What a closed connection looks like when nothing of an answer has arrived.
CLOSED = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)
MESSAGE_LIMIT = 300


class Failure(Exception):
    """An answer that is none."""


class Client:
    """One user. `tokens`: the length of its answers; `stream`: whether they are streamed; `kept`: whether it keeps its
    connection."""

    def __init__(self, url, model, name, tokens, timeout):
        self.address = urllib.parse.urlsplit(url).netloc
        self.kept = name.startswith("kept")
        self.stream = name.endswith("stream")
        self.tokens = tokens
        self.name = name
        body = {"model": model, "messages": [{"role": "user", "content": "the quick brown fox"}], "max_tokens": tokens}
        # Otherwise an engine may end early, and a shortened answer could not be told from a complete one.
        body |= {"ignore_eos": True, "stream": self.stream}
        if self.stream:
            body["stream_options"] = {"include_usage": True}
        self.body = json.dumps(body)
        self.timeout = timeout
        self.connection = None
        self.answers = 0  # on this connection

    def ask(self):
        """Sends one request. Returns what became of it."""
        begin = time.time()
        record = {"client": self.name, "start": begin, "last": begin, "status": 0, "resent": False}
        try:
            response = self._response(record)
            record["status"] = response.status
            record["last"] = time.time()
            if response.status != 200:
                raise Failure(response.read().decode(errors="replace")[:MESSAGE_LIMIT])
            found = read_stream(response, record) if self.stream else read_answer(response)
            record["tokens"] = found
            if found != self.tokens:
                raise Failure(f"{found} of {self.tokens} tokens")
            self.answers += 1
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, IndexError, Failure) as error:
            kind = "" if isinstance(error, Failure) else f"{type(error).__name__}: "
            record["error"] = f"{kind}{error}" or "an empty answer"
            self.close()
        if not self.kept:
            self.close()
        record["end"] = time.time()
        return record

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def _response(self, record):
        reused = self._is_open() and self.answers > 0
        if not reused:
            self._connect()
        try:
            return self._send()
        except CLOSED:
            if not reused:
                raise
            record["resent"] = True
            self._connect()
            return self._send()

    def _send(self):
        self.connection.request("POST", "/v1/chat/completions", self.body, {"Content-Type": "application/json"})
        return self.connection.getresponse()

    def _connect(self):
        self.close()
        self.answers = 0
        self.connection = http.client.HTTPConnection(self.address, timeout=self.timeout)
        self.connection.connect()

    def _is_open(self):
        """Whether the connection is open and idle. Nothing was requested, so what can be read is its end."""
        return bool(self.connection and self.connection.sock and not select.select([self.connection.sock], [], [], 0)[0])


def read_answer(response):
    """Reads a whole answer. Returns the number of its tokens."""
    answer = json.loads(response.read())
    choice = answer["choices"][0]
    if not choice["message"]["content"] or not choice["finish_reason"]:
        raise Failure(f"no text: {json.dumps(answer)[:MESSAGE_LIMIT]}")
    return answer["usage"]["completion_tokens"]


def read_stream(response, record):
    """Reads a stream of events to its end, and notes the time of the last one. Returns the number of tokens."""
    text = finished = done = False
    tokens = None
    while line := response.readline().decode():
        record["last"] = time.time()
        field, _, value = line.strip().partition(":")
        if field == "event" and "error" in value:
            raise Failure(f"an error in the stream: {value} {response.readline().decode()[:MESSAGE_LIMIT]}")
        if field != "data":
            continue
        if value.strip() == "[DONE]":
            done = True
            continue
        event = json.loads(value)
        if "error" in event:
            raise Failure(f"an error in the stream: {value[:MESSAGE_LIMIT]}")
        for choice in event.get("choices") or []:
            text = text or bool(choice["delta"].get("content"))
            finished = finished or bool(choice.get("finish_reason"))
        tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
    if not (text and finished and done):
        raise Failure(f"the stream has ended too early: text {text}, finish_reason {finished}, [DONE] {done}, {tokens} tokens")
    return tokens


def moment(record):
    """When it was decided what becomes of a request: its end, or, if it failed, when the last of its answer came. A client that
    waits in vain notices a loss much later."""
    return record["last"] if "error" in record else record["end"]


def summary(records, begin, end):
    """Requests, failures and the longest time without a successful short answer, of the requests that were decided in this
    time."""
    inside = sorted((one for one in records if begin <= moment(one) < end), key=moment)
    failed = [one for one in inside if "error" in one]
    short = [one["end"] for one in inside if "error" not in one and not one["client"].endswith("stream")]
    edges = [begin, *short, end]
    return {
        "requests": len(inside),
        "streams": sum(one["client"].endswith("stream") for one in inside),
        "failed": len(failed),
        "resent": sum(one["resent"] for one in inside),
        "gap": round(max(after - before for before, after in zip(edges, edges[1:])), 2),
        "first": failed[:5],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--seconds", type=float, default=3600, help="the longest time in which requests are begun")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between an answer and the next request")
    parser.add_argument("--timeout", type=float, default=15)
    parser.add_argument("--tokens", type=int, default=8, help="length of short answers")
    parser.add_argument("--stream-tokens", type=int, default=400)
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    deadline = time.monotonic() + options.seconds
    write = threading.Lock()
    records, begin = [], time.time()

    def run(client):
        while not stop.is_set() and time.monotonic() < deadline:
            record = client.ask()
            with write:
                records.append(record)
                out.write(json.dumps(record) + "\n")
                out.flush()
            stop.wait(options.pause)

    with open(options.out, "a", encoding="utf-8") as out:
        clients = []
        for name in options.clients.split(","):
            tokens = options.stream_tokens if name.endswith("stream") else options.tokens
            clients.append(Client(options.url, options.model, name, tokens, options.timeout))
        threads = [threading.Thread(target=run, args=[one]) for one in clients]
        for one in threads:
            one.start()
        while any(one.is_alive() for one in threads):  # a signal interrupts only the main thread, and not a join()
            time.sleep(0.1)
    print(json.dumps(summary(records, begin, time.time())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
