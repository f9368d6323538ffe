#!/usr/bin/env python3
"""Clients of the attack tests: attackers.py NAME PORT SECONDS. Prints the number of attacks at the end."""

import itertools
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time

HEAD = b"POST /validate-nvidia-com-v1beta1-dynamographdeploymentrequest HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
LARGEST = 7 << 20  # bytes of an admission review
LIST = b"POST /convert HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
LONGEST = 256 << 20  # bytes of a list to convert, and of the budget of all lists
PIECE = b"x" * (64 << 10)
BAD_REQUESTS = (
    b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Content-Length: 99999999999999999999\r\n\r\n",
    HEAD + b"X: " + b"a" * 1_000_000 + b"\r\n\r\n",
    HEAD + b"Content-Length: 2000000\r\n\r\n" + b"[" * 2_000_000,
    HEAD + b"Content-Length: 11\r\n\r\n{\"a\":1e9999",
    HEAD + b"Content-Length: 6\r\n\r\n{\"\xff\":1}",
    HEAD + b"Content-Length: 100\r\n\r\n{\"kind\":",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    os.urandom(512),
)

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE


def tcp(port):
    made = socket.create_connection(("127.0.0.1", port), timeout=5)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def tls(port):
    return context.wrap_socket(tcp(port))


def answered(port, request, patience):
    """Whether an answer to `request` begins within `patience` seconds."""
    try:
        with tls(port) as sock:
            sock.settimeout(patience)
            sock.sendall(request)
            sock.recv(4096)
            return True
    except OSError:
        return False


def drop(sock):
    """Closes with a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def slow_senders(port, until):
    """300 connections that slowly send their head byte by byte. The server closes each after its deadline."""
    held, strikes = [], 0
    while time.monotonic() < until:
        while len(held) < 300 and time.monotonic() < until:
            try:
                held.append(tls(port))
                strikes += 1
            except OSError:
                pass
        for sock in list(held):
            try:
                sock.send(b"P")
            except OSError:
                held.remove(sock)
        time.sleep(0.5)
    return strikes


def idle_connections(port, until):
    """10,000 silent connections, a tenth of them after a handshake."""
    held = []
    for i in range(10_000):
        if time.monotonic() > until:
            break
        try:
            held.append(tls(port) if i % 10 == 0 else tcp(port))
        except OSError:  # evicted
            pass
    count = len(held)
    time.sleep(max(0, until - time.monotonic()))
    return count


def storm(port, until):
    """Connections that are reset at once: before, during and after the handshake."""
    strikes = 0
    hello = b"\x16\x03\x01\x00\xf0\x01\x00\x00\xec\x03\x03" + os.urandom(40)
    while time.monotonic() < until:
        for kind in range(3):
            try:
                sock = tls(port) if kind == 2 else tcp(port)
                if kind == 1:
                    sock.send(hello)
                drop(sock)
            except OSError:
                pass
            strikes += 1
    return strikes


def largest_bodies(port, until):
    """64 clients that repeatedly send bodies of the largest size."""
    body = b'{"kind":"AdmissionReview","x":"' + b"x" * (LARGEST - 64) + b'"}'
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    strikes = itertools.count()

    def client():
        while time.monotonic() < until:
            if answered(port, request, 20):
                next(strikes)

    threads = [threading.Thread(target=client) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return next(strikes)


def half_closed(port, until):
    """Connections whose client stops sending in the middle of a request and waits."""
    held = []
    while time.monotonic() < until and len(held) < 500:
        try:
            held.append(half_sent(port))
        except OSError:
            pass
    time.sleep(max(0, until - time.monotonic()))
    return len(held)


def half_sent(port):
    sock = tcp(port)
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(inside, outside)
    while True:
        try:
            session.do_handshake()
            break
        except ssl.SSLWantReadError:
            sock.sendall(outside.read())
            inside.write(sock.recv(65536) or b"closed")
    session.write(HEAD + b"Content-Length: 100\r\n\r\n{")
    sock.sendall(outside.read())
    sock.shutdown(socket.SHUT_WR)
    return sock


def bad_records(port, until):
    """Invalid TLS data: before a handshake, after it, a second ClientHello, records of the largest length."""
    strikes = 0
    noises = (os.urandom(4096), b"\x16\x03\x03\x00\x05\x01\x00\x00\x01\x00", b"\x17\x03\x03\x41\x00" + os.urandom(0x4100),
              b"\x15\x03\x03\x00\x02\x02\x28", b"\x80\x2e\x01\x00\x02", b"GET / HTTP/1.1\r\n\r\n")
    while time.monotonic() < until:
        for noise in noises:
            for before in (True, False):
                try:
                    with tcp(port) as sock:
                        if not before:
                            # The handshake uses a duplicate descriptor, so the following bytes are sent unencrypted.
                            os.close(context.wrap_socket(sock.dup()).detach())
                        sock.sendall(noise)
                        sock.settimeout(0.2)
                        sock.recv(4096)
                except OSError:
                    pass
                strikes += 1
    return strikes


def bad_requests(port, until):
    """All kinds of malformed requests, as fast as they are answered."""
    strikes = 0
    while time.monotonic() < until:
        for request in BAD_REQUESTS:
            answered(port, request, 0.3)
            strikes += 1
    return strikes


def hostile_graph(services, envs=0, role=b"validate", **members):
    """A well-formed review that causes much work for its size."""
    service = {"componentType": "worker", "extraPodSpec": {"mainContainer": {
        "image": "i", "command": ["python3"], "args": ["-m", "dynamo.vllm"]}}, **members}
    graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment",
             "metadata": {"name": "g", "namespace": "n"},
             "spec": {"envs": [{"name": f"A{i}", "value": "1"} for i in range(envs)],
                      "services": {f"s{i}": service for i in range(services)}}}
    kind = {"group": "nvidia.com", "version": "v1alpha1"}
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "u", "operation": "CREATE", "name": "g", "namespace": "n", "userInfo": {"username": "u"}, "object": graph,
        "kind": {**kind, "kind": "DynamoGraphDeployment"}, "resource": {**kind, "resource": "dynamographdeployments"}}})
    head = HEAD.replace(b"validate-nvidia-com-v1beta1-dynamographdeploymentrequest",
                        role + b"-nvidia-com-v1alpha1-dynamographdeployment")
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body.encode()


def hostile_graphs(port, until):
    """Graphs that expand when rendered: services times variables, services times replicas, the largest number of services."""
    multinode = {"multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "8"}}}
    requests = [hostile_graph(200, 20_000), hostile_graph(100, replicas=1000, **multinode), hostile_graph(99, 50),
                hostile_graph(1, 50_000), hostile_graph(5000)]
    strikes = 0
    while time.monotonic() < until:
        for request in requests:
            strikes += answered(port, request, 20)
    return strikes


def unread_replies(port, until, ends=False):
    """Small graphs whose patches have hundreds of KiB and are never read."""
    request, held = hostile_graph(99, role=b"mutate"), []
    if ends:
        request = request.replace(b"Host: h\r\n", b"Host: h\r\nConnection: close\r\n")
    while time.monotonic() < until:
        try:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.connect(("127.0.0.1", port))
            held.append(context.wrap_socket(sock))
            held[-1].sendall(request)
        except OSError:
            pass
    return held


def kept_replies(port, until):
    """Unread replies for two seconds, and then silence."""
    held = unread_replies(port, time.monotonic() + 2)
    time.sleep(max(0, until - time.monotonic()))
    return held


def last_replies(port, until):
    """Unread replies on connections that end with their reply."""
    return unread_replies(port, until, ends=True)


def abandoned_requests(port, until):
    """Graphs from clients that do not wait for the answer."""
    request, strikes = hostile_graph(99, 50), 0
    while time.monotonic() < until:
        try:
            with tls(port) as sock:
                sock.sendall(request)
            strikes += 1
        except OSError:
            pass
    return strikes


def silent_transfers(port, until):
    """Heads of the longest lists to convert, without bodies."""
    held = []
    while time.monotonic() < until:
        try:
            held.append(tls(port))
            held[-1].sendall(LIST % LONGEST)
        except OSError:
            pass
        time.sleep(0.02)
    return held


def begun_list(port, until, sent):
    """One of the longest lists, which stops after its first bytes."""
    sock = tls(port)
    sock.sendall(LIST % LONGEST + b"x" * sent)
    time.sleep(max(0, until - time.monotonic()))
    return [sock]


def begun_36_bytes(port, until):
    return begun_list(port, until, 36)


def begun_36_mib(port, until):
    return begun_list(port, until, 36 << 20)


def two_halves(port, until):
    """Two lists that exceed the budget together. They are sent as fast as possible except for their last MiB, which is sent
    slowly."""
    length = (LONGEST >> 1) + (1 << 20)
    strikes = itertools.count()

    def client():
        while time.monotonic() < until:
            try:
                with tls(port) as sock:
                    sock.sendall(LIST % length)
                    for sent in range(0, length, len(PIECE)):
                        if sent > length - (2 << 20):
                            time.sleep(0.1)
                        if time.monotonic() > until:
                            break
                        sock.sendall(PIECE)
            except OSError:  # evicted
                pass
            next(strikes)

    threads = [threading.Thread(target=client) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return next(strikes)


# Attacks that keep budgets full as long as the server allows it.
HOLDERS = {attack.__name__: attack for attack in (begun_36_bytes, begun_36_mib, two_halves, kept_replies)}
ATTACKS = {attack.__name__: attack for attack in (slow_senders, idle_connections, storm, largest_bodies, half_closed, bad_records,
                                                  bad_requests, hostile_graphs, unread_replies, last_replies,
                                                  abandoned_requests, silent_transfers)}

if __name__ == "__main__":
    attack, port, seconds = sys.argv[1:]
    # Attackers simulate other machines, so their CPU time must not delay the legitimate clients.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    done = {**ATTACKS, **HOLDERS}[attack](int(port), time.monotonic() + float(seconds))
    print(len(done) if isinstance(done, list) else done)
