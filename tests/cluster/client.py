"""Two ways to talk to an API server: kubectl, and one HTTPS request."""

import http.client
import json
import subprocess


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
    """Runs kubectl with `text` as standard input. Returns subprocess.CompletedProcess with text output;
    KubectlError when it fails and `check` is set."""
    standard_input = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    result = subprocess.run(
        argv, env=environment, capture_output=True, text=True, timeout=timeout, check=False, **standard_input
    )
    if check and result.returncode != 0:
        raise KubectlError(result)
    return result


def request(port, tls, method, path, headers, body=None, timeout=30):
    """One request to the server on a loopback port; `body` is sent as JSON. Returns the decoded JSON answer,
    or its text when it is no JSON. ApiError from status 400 on, OSError when there was no proper answer."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=tls)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read().decode()
    except http.client.HTTPException as error:
        raise ConnectionError(f"{method} {path}: {error!r}") from error
    finally:
        connection.close()
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text
    if response.status >= 400:
        raise ApiError(method, path, response.status, answer)
    return answer
