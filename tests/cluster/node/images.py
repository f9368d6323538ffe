"""Images of containers from folders and programs of this machine, as OCI archives with one uncompressed layer. No registry is
asked. Equal contents give equal archives: owners are root, and all times are zero.

    image_of_root("localhost/runtime:1", folder, ["/usr/bin/python3"], env={"LANG": "C.UTF-8"}, user="1000")
    image_of_programs("localhost/tool:1", {"/bin/tool": path}, ["/bin/tool"])

An archive is kept in the cache by the digest of what it is made from. Its name in containerd is part of it."""

import contextlib
import fnmatch
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
PYTHON = "/usr/bin/python3"
# Of Python's standard library: what no pod of a test needs.
SUPERFLUOUS = ("__pycache__", "config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tkinter")
CA_FILE = Path("/etc/ssl/certs/ca-certificates.crt")
PASSWD = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/nonexistent:/sbin/nologin\n"
GROUP = "root:x:0:\nnonroot:x:65532:\n"


def cache():
    root = os.environ.get("DYNAMO_CACHE") or Path.home() / ".cache" / "dynamo-operator"
    return Path(root).resolve() / "images"


def image_of_root(name, root, entrypoint, env=None, user=None, key=None):
    """The path of an archive whose image `name` has the files of the folder `root`. `key` is a text that stands for the
    contents of the folder; without it all files are read to find out whether the archive is in the cache."""
    return _kept(key or _digest_of(Path(root)), name, _config(entrypoint, env, user), lambda _: Path(root))


def image_of_programs(name, programs, entrypoint, env=None, user="65532", folders=None):
    """The path of an archive whose image has `programs` (path in the image -> file of this machine), stripped, with the
    libraries that they load, users, and the certificates of public authorities; and `folders` (path in the image -> folder of
    this machine), with the libraries that their shared objects load."""
    folders = folders or {}
    listing = [path for folder in folders.values() for path in _entries(folder) if not _is_superfluous(path.relative_to(folder))]
    modules = [path for path in listing if path.suffix == ".so"]
    libraries = sorted(libraries_of([*programs.values(), *modules]))
    key = [sorted((target, _file_digest(source)) for target, source in programs.items())]
    key += [sorted((path, _file_digest(path)) for path in libraries), sorted(folders), PASSWD, GROUP]
    key += [(str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in listing]

    def make(root):
        for target, source in folders.items():
            shutil.copytree(source, root / target.lstrip("/"), symlinks=True, ignore=shutil.ignore_patterns(*SUPERFLUOUS))
        for target, source in programs.items():
            subprocess.run(["strip", "--strip-all", _copy(source, root, target)], check=True)
        for library in libraries:
            _copy(library, root, library)
        for path, text in (("etc/passwd", PASSWD), ("etc/group", GROUP)):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="ascii")
        if CA_FILE.exists():
            _copy(CA_FILE, root, CA_FILE)
        (root / "tmp").mkdir()
        (root / "tmp").chmod(0o1777)
        return root

    return _kept(json.dumps(key), name, _config(entrypoint, env, user), make)


def python_image(name, folders=None, script=()):
    """The path of an archive with Debian's Python, its standard library, and more folders. The image runs `script`."""
    ask = [PYTHON, "-c", "import os, sys, sysconfig; print(os.path.realpath(sys.executable), sysconfig.get_path('stdlib'))"]
    program, library = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()
    return image_of_programs(name, {PYTHON: program}, [PYTHON, *script], folders={library: library, **(folders or {})})


def pause_image(name):
    """The path of the archive of the image that holds the namespaces of a pod."""
    source = HERE / "pause.c"

    def make(root):
        command = ["gcc", "-Os", "-static", "-s", "-Wl,--build-id=none", "-o", root / "pause", source]
        subprocess.run(command, check=True)
        return root

    return _kept(source.read_text(encoding="ascii"), name, _config(["/pause"], None, "65535:65535"), make)


def libraries_of(programs):
    """The paths of the shared libraries that programs load, and of the loader."""
    run = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False)
    if run.returncode != 0 and "not a dynamic executable" not in run.stdout + run.stderr:
        raise FileNotFoundError(run.stderr)
    lines = run.stdout.splitlines()
    missing = [line.strip() for line in lines if "not found" in line]
    if missing:
        raise FileNotFoundError(f"{programs} load libraries that are missing: {missing}")
    # With several programs, the name of each stands before its list, at the beginning of the line.
    words = [line.replace("=>", " ").split() for line in lines if line[:1].isspace()]
    return {word for line in words for word in line if word.startswith("/")}


def _config(entrypoint, env, user):
    variables = env or {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    return {
        "Entrypoint": [str(word) for word in entrypoint],
        "Env": [f"{name}={value}" for name, value in variables.items()],
        "User": str(user or ""),
        "WorkingDir": "/",
    }


def _kept(key, name, config, make):
    """The path of the archive in the cache. If it is not there, `make` gets an empty folder and returns the root."""
    text = json.dumps([key, name, config, platform.machine()])
    target = cache() / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.tar"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".image-", dir=target.parent) as folder:
            root = Path(folder) / "root"
            root.mkdir()
            with open(Path(folder) / "archive", "wb") as file:
                _write_archive(file, name, make(root), config)
            (Path(folder) / "archive").rename(target)
        _forget_old(target)
    os.utime(target)
    return target


def _is_superfluous(path):
    return any(fnmatch.fnmatch(part, pattern) for part in path.parts for pattern in SUPERFLUOUS)


def _file_digest(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()


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
            digest.update(_file_digest(path).encode())
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
                shutil.rmtree(path) if path.is_dir() else path.unlink()
