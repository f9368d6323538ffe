"""Connects programs outside the network namespace of a node with addresses inside.

As a program it runs inside and listens on a Unix socket, which is reached through the file system. A socket belongs to the
namespace in which it was made. So a connection that is made inside and sent to the other side works there, and a listener
that was made outside can be served here. As a module it has both requests.

A request is one line of JSON, with the listener as ancillary data if there is one. The answer is one line, with the
connection as ancillary data if that was asked for."""

import asyncio
import functools
import json
import os
import socket
import sys

CONNECT_SECONDS = 30
CHUNK = 1 << 16


def connect(path, host, port, timeout=CONNECT_SECONDS):
    """A TCP socket that is connected to an address inside. Raises ConnectionError."""
    _, (descriptor,) = _ask(path, {"host": host, "port": port, "timeout": timeout}, [], timeout + 5)
    connected = socket.socket(fileno=descriptor)
    connected.settimeout(timeout)
    return connected


def serve(path, listener, host, port):
    """Connects what `listener`, a socket outside, accepts to an address inside, until the node ends."""
    _ask(path, {"host": host, "port": port}, [listener.fileno()], CONNECT_SECONDS)


def _ask(path, request, descriptors, timeout):
    with socket.socket(socket.AF_UNIX) as control:
        control.settimeout(timeout)
        control.connect(str(path))
        socket.send_fds(control, [json.dumps(request).encode() + b"\n"], descriptors)
        text, received, _, _ = socket.recv_fds(control, 4096, 1)
    answer = json.loads(text or '{"error": "the relay has ended"}')
    if "error" in answer:
        raise ConnectionError(f"{request['host']}:{request['port']}: {answer['error']}")
    return answer, received


async def _copy(source, target):
    try:
        while data := await source.read(CHUNK):
            target.write(data)
            await target.drain()
        target.write_eof()
    except OSError:
        target.transport.abort()


async def _relay(host, port, reader, writer):
    """Copies in both directions until both sides have ended."""
    try:
        inner_reader, inner_writer = await asyncio.open_connection(host, port)
    except OSError:
        writer.transport.abort()  # the client sees a reset, as from a host where nothing listens
        return
    await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))
    for end in (writer, inner_writer):
        end.close()


async def _answer(control, servers):
    loop = asyncio.get_running_loop()
    text, descriptors, _, _ = await loop.run_in_executor(None, socket.recv_fds, control, 4096, 1)
    request = json.loads(text)
    host, port = request["host"], request["port"]
    connection = []
    try:
        if descriptors:
            listener = socket.socket(fileno=descriptors[0])
            listener.setblocking(False)
            servers.append(await asyncio.start_server(functools.partial(_relay, host, port), sock=listener))
        else:
            connected = socket.create_connection
            connection = [await loop.run_in_executor(None, connected, (host, port), request["timeout"])]
        answer = {}
    except OSError as error:
        answer = {"error": str(error)}
    socket.send_fds(control, [json.dumps(answer).encode() + b"\n"], [one.fileno() for one in connection])
    for one in (control, *connection):
        one.close()


async def main(path):
    servers, tasks = [], set()  # references, because the event loop keeps none
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path + ".new")
        listener.listen(128)
        listener.setblocking(False)
        os.rename(path + ".new", path)  # who sees the path can connect
        while True:
            control, _ = await asyncio.get_running_loop().sock_accept(listener)
            control.setblocking(True)
            task = asyncio.create_task(_answer(control, servers))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
