"""Two ways to call an API server: kubectl, and a single HTTPS request."""

import http.client
import json
import re
import select
import subprocess
import threading


# A text in quotes, in which a backslash stands before quotes and backslashes.
WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


class KubectlError(Exception):
    """kubectl failed; `result` is its subprocess.CompletedProcess."""

    def __init__(self, result):
        self.result = result
        super().__init__(f"{' '.join(map(str, result.args))}: status {result.returncode}\n{result.stderr}")


class ApiError(Exception):
    """The API server answered with an error; `status` is the HTTP status, `body` the decoded answer."""

    def __init__(self, method, path, status, body):
        self.status = status
        self.body = body
        message = body.get("message", body) if isinstance(body, dict) else body
        super().__init__(f"{method} {path}: {status} {message}")


def run_kubectl(argv, environment, text=None, check=True, timeout=240):
    """Runs kubectl with `text` as standard input. Returns subprocess.CompletedProcess with text output. Raises
    KubectlError when it fails and `check` is set."""
    standard_input = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    result = subprocess.run(
        argv, env=environment, capture_output=True, text=True, timeout=timeout, check=False, **standard_input
    )
    if check and result.returncode != 0:
        raise KubectlError(result)
    return result


_kept = threading.local()


def _connection(port, tls, timeout):
    """The kept connection of this thread to a server. It connects at its next request if it is closed."""
    connections = _kept.__dict__.setdefault("connections", {})
    connection = connections.get((port, tls))
    if connection is None:
        connection = connections[port, tls] = http.client.HTTPSConnection("127.0.0.1", port, context=tls)
    connection.timeout = timeout
    if connection.sock is not None:
        poll = select.poll()
        poll.register(connection.sock, select.POLLIN)
        if poll.poll(0):  # nothing was requested, so this is the end of the connection
            connection.close()
        else:
            connection.sock.settimeout(timeout)
    return connection


def close_connections():
    """Closes the kept connections of this thread, which is about to end."""
    for connection in _kept.__dict__.pop("connections", {}).values():
        connection.close()


def request(port, tls, method, path, headers, body=None, timeout=30, warnings=None):
    """Sends one request to the server on a loopback port with `body` as JSON. Returns the decoded JSON answer, or its
    text when it is no JSON. Raises ApiError for status 400 and above, and OSError without a valid answer. No request is sent
    twice. The server's warnings, each once, are appended to the list `warnings`."""
    connection = _connection(port, tls, timeout)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read().decode()
        if warnings is not None:
            found = WARNING.findall(", ".join(response.headers.get_all("Warning", [])))
            warnings += [re.sub(r"\\(.)", r"\1", each) for each in dict.fromkeys(found)]
    except http.client.HTTPException as error:
        connection.close()
        raise ConnectionError(f"{method} {path}: {error!r}") from error
    except BaseException:
        connection.close()
        raise
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text
    if response.status >= 400:
        raise ApiError(method, path, response.status, answer)
    return answer
