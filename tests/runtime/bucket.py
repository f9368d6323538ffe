"""A bucket of object storage, as far as the downloader of adapters asks for it: ListObjectsV2 with a prefix, and objects. Ends
when its standard input does. The object SLOW takes SECONDS.

    bucket.py ADDRESS PORT SECONDS"""

import http.server
import os
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

BUCKET = "adapters"
FILES = {"adapter_config.json": b'{"peft_type": "LORA", "r": 8}', "adapter_model.safetensors": b"no weights"}
OBJECTS = {f"{folder}/{name}": data for folder in ("quick", "slow") for name, data in FILES.items()}
SLOW = "slow/adapter_model.safetensors"
TIME = "2026-01-01T00:00:00.000Z"


def listing(prefix):
    entries = [
        f"<Contents><Key>{escape(key)}</Key><LastModified>{TIME}</LastModified><Size>{len(data)}</Size></Contents>"
        for key, data in OBJECTS.items()
        if key.startswith(prefix)
    ]
    inside = f"<Name>{BUCKET}</Name><IsTruncated>false</IsTruncated>{''.join(entries)}"
    return f"<?xml version='1.0'?><ListBucketResult>{inside}</ListBucketResult>".encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seconds = 0.0

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        bucket, _, key = url.path.removeprefix("/").partition("/")
        found = OBJECTS.get(key) if key else listing(urllib.parse.parse_qs(url.query).get("prefix", [""])[0])
        if bucket != BUCKET:
            found = None
        if key == SLOW:
            time.sleep(self.seconds)
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Length", str(len(found or b"")))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, *_):
        pass


def main():
    address, port, seconds = sys.argv[1:]
    Handler.seconds = float(seconds)
    server = http.server.ThreadingHTTPServer((address, int(port)), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
