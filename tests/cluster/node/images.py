"""Images of containers from folders and programs of this machine, as OCI archives with one uncompressed layer. No registry is
asked. Equal contents give equal archives: owners are root, and all times are zero.

    image_of_root("localhost/runtime:1", folder, ["/usr/bin/python3"], env={"LANG": "C.UTF-8"}, user="1000")
    image_of_programs("localhost/tool:1", {"/bin/tool": path}, ["/bin/tool"])

An archive is kept in the cache by the digest of what it is made from. Its name in containerd is part of it."""

import contextlib
import hashlib
import json
import os
import platform
import shutil
import stat
import subprocess
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
BLOCK = tarfile.BLOCKSIZE
KEPT_SECONDS = 7 * 24 * 3600
CA_FILE = Path("/etc/ssl/certs/ca-certificates.crt")
PASSWD = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/nonexistent:/sbin/nologin\n"
GROUP = "root:x:0:\nnonroot:x:65532:\n"


def cache():
    root = os.environ.get("DYNAMO_CACHE") or Path.home() / ".cache" / "dynamo-operator"
    return Path(root).resolve() / "images"


def image_of_root(name, root, entrypoint, env=None, user=None, key=None):
    """The path of an archive whose image `name` has the files of the folder `root`. `key` is a text that stands for the
    contents of the folder; without it all files are read to find out whether the archive is in the cache."""
    root = Path(root)
    config = {
        "Entrypoint": [str(word) for word in entrypoint],
        "Env": [f"{name}={value}" for name, value in (env or {"PATH": "/usr/local/bin:/usr/bin:/bin"}).items()],
        "User": str(user or ""),
        "WorkingDir": "/",
    }
    text = json.dumps([name, config, key or _digest_of(root), platform.machine()])
    target = cache() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.tar"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with open(temporary, "wb") as file:
                _write_archive(file, name, root, config)
            temporary.rename(target)
        finally:
            temporary.unlink(missing_ok=True)
        _forget_old(target)
    os.utime(target)
    return target


def image_of_programs(name, programs, entrypoint, env=None, user="65532"):
    """The path of an archive whose image has `programs` (path in the image -> file of this machine), stripped, with the
    libraries that they load, users, and the certificates of public authorities."""
    with tempfile.TemporaryDirectory(prefix="dynamo-image-") as folder:
        root = Path(folder)
        for target, source in programs.items():
            inside = _copy(source, root, target)
            subprocess.run(["strip", "--strip-all", inside], check=True)
            for library in libraries_of(source):
                _copy(library, root, library)
        for path, text in (("etc/passwd", PASSWD), ("etc/group", GROUP)):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="ascii")
        if CA_FILE.exists():
            _copy(CA_FILE, root, CA_FILE)
        (root / "tmp").mkdir()
        (root / "tmp").chmod(0o1777)
        return image_of_root(name, root, entrypoint, env, user)


def pause_image(name):
    """The path of the archive of the image that holds the namespaces of a pod."""
    with tempfile.TemporaryDirectory(prefix="dynamo-image-") as folder:
        compile_it = ["gcc", "-Os", "-static", "-s", "-Wl,--build-id=none", "-o", f"{folder}/pause", HERE / "pause.c"]
        subprocess.run(compile_it, check=True)
        return image_of_root(name, folder, ["/pause"], user="65535:65535", key=(HERE / "pause.c").read_text(encoding="ascii"))


def libraries_of(program):
    """The paths of the shared libraries that a program loads, and of its loader."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    words = [line.replace("=>", " ").split() for line in listing.splitlines()]
    missing = [line.strip() for line in listing.splitlines() if "not found" in line]
    if missing:
        raise FileNotFoundError(f"{program} loads libraries that are missing: {missing}")
    return sorted({word for line in words for word in line if word.startswith("/")})


def _copy(source, root, target):
    inside = root / str(target).lstrip("/")
    inside.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, inside)
    inside.chmod(0o755)
    return inside


def _entries(root):
    """The paths below a folder, sorted."""
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(folders + files):
            yield Path(folder) / name


def _digest_of(root):
    digest = hashlib.sha256()
    for path in _entries(root):
        about = path.lstat()
        digest.update(f"{path.relative_to(root)}\0{about.st_mode}\0{about.st_size}\0".encode())
        if stat.S_ISLNK(about.st_mode):
            digest.update(os.readlink(path).encode())
        elif stat.S_ISREG(about.st_mode):
            with open(path, "rb") as file:
                while data := file.read(1 << 20):
                    digest.update(data)
    return digest.hexdigest()


class _Hashed:
    """A file that counts and hashes what is written."""

    def __init__(self, file):
        self._file = file
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, data):
        self.digest.update(data)
        self.size += len(data)
        return self._file.write(data)


def _plain(entry):
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry if entry.isreg() or entry.isdir() or entry.issym() or entry.islnk() else None


def _write_layer(file, root):
    """Writes the files of a folder as a tar archive. Returns the digest and the size."""
    hashed = _Hashed(file)
    # A stream needs no seeking, and it does not know hard links of files outside `root`.
    with tarfile.open(fileobj=hashed, mode="w|", format=tarfile.PAX_FORMAT, bufsize=1 << 20) as layer:
        for path in _entries(root):
            layer.add(path, str(path.relative_to(root)), recursive=False, filter=_plain)
    return hashed.digest.hexdigest(), hashed.size


def _header(name, size):
    entry = tarfile.TarInfo(name)
    entry.size = size
    return _plain(entry).tobuf(tarfile.USTAR_FORMAT)


def _write_archive(file, name, root, config):
    """Writes an OCI layout as a tar archive. The header of the layer has its digest and size, so it is written last."""
    file.write(b"\0" * BLOCK)
    digest, size = _write_layer(file, root)
    file.write(b"\0" * (-size % BLOCK))
    end = file.tell()
    file.seek(0)
    file.write(_header(f"blobs/sha256/{digest}", size))
    file.seek(end)

    def add(path, value):
        data = json.dumps(value, sort_keys=True).encode()
        blob = hashlib.sha256(data).hexdigest()
        file.write(_header(path or f"blobs/sha256/{blob}", len(data)) + data + b"\0" * (-len(data) % BLOCK))
        return {"digest": f"sha256:{blob}", "size": len(data)}

    kind = "application/vnd.oci.image"
    where = {"os": "linux", "architecture": ARCHITECTURES[platform.machine()]}
    history = {"rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}, "created": "1970-01-01T00:00:00Z"}
    image = {"mediaType": f"{kind}.config.v1+json", **add(None, {**where, **history, "config": config})}
    layers = [{"mediaType": f"{kind}.layer.v1.tar", "digest": f"sha256:{digest}", "size": size}]
    manifest = {"schemaVersion": 2, "mediaType": f"{kind}.manifest.v1+json", "config": image, "layers": layers}
    listed = {"mediaType": f"{kind}.manifest.v1+json", **add(None, manifest), "platform": where}
    listed["annotations"] = {"io.containerd.image.name": name}
    add("oci-layout", {"imageLayoutVersion": "1.0.0"})
    add("index.json", {"schemaVersion": 2, "mediaType": f"{kind}.index.v1+json", "manifests": [listed]})
    file.write(b"\0" * (2 * BLOCK))


def _forget_old(newest):
    """Removes archives that nobody has used for a week, and what writers that were killed have left."""
    for path in newest.parent.iterdir():
        with contextlib.suppress(OSError):
            if newest.stat().st_mtime - path.stat().st_mtime > KEPT_SECONDS:
                path.unlink()
