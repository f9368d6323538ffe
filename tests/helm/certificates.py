"""Certificates that have expired, as an operator that was away for long finds them."""

import base64
import subprocess
import tempfile
from pathlib import Path

CONFIGURATION = """[ca]
default_ca = own
[own]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[leaf]
subjectAltName = DNS:{name}
extendedKeyUsage = serverAuth
"""


def expired(secret, name):
    """A certificate for `name` that was valid for a month in 2020, signed by the CA of the Secret whose data are `secret`. Returns
    data of a Secret."""
    with tempfile.TemporaryDirectory(prefix="dynamo-certs-") as folder:
        here = Path(folder)
        for file in ("ca.crt", "ca.key"):
            (here / file).write_bytes(base64.b64decode(secret[file]))
        (here / "index.txt").touch()
        (here / "serial").write_text("2020", encoding="ascii")
        (here / "ca.cnf").write_text(CONFIGURATION.format(name=name), encoding="ascii")

        def openssl(*command):
            subprocess.run(["openssl", *command], cwd=here, check=True, capture_output=True)

        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "tls.key",
                "-subj", "/CN=expired", "-out", "tls.csr")  # fmt: skip
        openssl("ca", "-batch", "-config", "ca.cnf", "-extensions", "leaf", "-cert", "ca.crt", "-keyfile", "ca.key", "-in", "tls.csr",
                "-out", "tls.crt", "-notext", "-startdate", "20200101000000Z", "-enddate", "20200201000000Z")  # fmt: skip
        return {file: base64.b64encode((here / file).read_bytes()).decode() for file in ("tls.crt", "tls.key")}
