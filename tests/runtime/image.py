"""Images with the Dynamo runtime: Debian's Python, the packages of requirements-<version>.txt, the model of model.py, the
programs worker.py and planner.py, and nats-server. That of PROFILER also has the profiler, and the folder workspace/. Built once
and kept in the cache by what they are made of. No image registry is asked.

    image.py [VERSION]     builds the image and prints its archive, its size and the time"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]

import model  # noqa: E402

VERSIONS = ("1.0.0", "1.6.1")
PROFILER = "1.0.0-profiler"
# Of the models that aiconfigurator knows, the smallest. Its tokenizer is that of model.py.
PROFILED_MODEL = "Qwen/Qwen3-0.6B"
WORKSPACE = HERE / "workspace"
RELEASE = "bookworm"
PACKAGES = ("python3", "libstdc++6", "nats-server", "dash")
PYTHON = "3.11"
SITE = f"usr/local/lib/python{PYTHON}/dist-packages"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
ABIS = ("cp311", "abi3", "none")
HOME = "opt/dynamo"
# What pods run; only these modules are compiled, because compiling all of them takes a minute.
MODULES = ("dynamo.frontend.main", "dynamo.mocker.main", "dynamo.common.lora")
CONNECTOR = "dynamo.planner.kubernetes_connector"
MODULES_OF_VERSION = {"1.0.0": (CONNECTOR,), PROFILER: (CONNECTOR, "dynamo.profiler.__main__", "bokeh.plotting")}
PROGRAMS = ("worker.py", "planner.py")
USER = "1000:1000"
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/usr/sbin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HF_HOME": f"/{HOME}/hub",
    "HF_HUB_OFFLINE": "1",
    "DYN_LORA_PATH": "/tmp/loras",
}
PASSWD = "root:x:0:0:root:/root:/usr/sbin/nologin\ndynamo:x:1000:1000:dynamo:/tmp:/usr/sbin/nologin\n"
GROUP = "root:x:0:\ndynamo:x:1000:\n"
UNUSED = ("usr/share/doc", "usr/share/locale", "usr/share/man", "usr/share/perl5", "var/cache", "var/log", "var/lib/apt")
COMPILE = """
import importlib, py_compile, sys
sys.dont_write_bytecode = True
for name in sys.argv[1:]:
    importlib.import_module(name)
for module in list(sys.modules.values()):
    source = getattr(module, "__file__", None)
    if source and source.endswith(".py"):
        py_compile.compile(source, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""


class ImageError(Exception):
    """An image could not be built. The message has the output of the program that failed."""


def name_of(version):
    return f"localhost/dynamo-runtime:{version}"


def runtime_image(version):
    """The path of an archive with the image `name_of(version)`. It is built the first time."""
    from node import images

    root = runtime_root(version)
    return images.image_of_root(name_of(version), root, [], env=ENVIRONMENT, user=USER, key=root.name)


def runtime_root(version):
    """The folder with the files of the image. It is built the first time."""
    target = _cache() / f"{version}-{_digest(version)}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".build-", dir=target.parent))
    try:
        root = folder / "root"
        _debian(root)
        _packages(root, HERE / f"requirements-{version}.txt")
        model.write_hub(root / HOME / "hub")
        for program in PROGRAMS:
            shutil.copyfile(HERE / program, root / HOME / program)
        if version == PROFILER:
            _profiler(root)
        _finish(root, [*MODULES, *MODULES_OF_VERSION.get(version, ())])
        root.rename(target)
    except OSError:
        if not target.is_dir():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(folder)
    return target


def _cache():
    root = os.environ.get("DYNAMO_CACHE") or Path.home() / ".cache" / "dynamo-operator"
    return Path(root).resolve() / "runtime"


def _digest(version):
    """Of everything that decides what the image contains."""
    digest = hashlib.sha256(platform.machine().encode())
    names = [f"requirements-{version}.txt", "image.py", "model.py", *PROGRAMS]
    if version == PROFILER:
        names += sorted(str(path.relative_to(HERE)) for path in WORKSPACE.rglob("*") if path.is_file())
    for name in names:
        digest.update(name.encode() + b"\0" + (HERE / name).read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _run(argv, **options):
    run = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options)
    if run.returncode != 0:
        raise ImageError(f"{' '.join(map(str, argv))}: status {run.returncode}\n{run.stdout[-2000:]}{run.stderr[-4000:]}")


def _debian(root):
    """The files of Debian packages, without their maintainer scripts: none of them is needed by Python."""
    _run(["mmdebstrap", "--quiet", "--variant=extract", "--mode=root", "--skip=chroot/mount", f"--include={','.join(PACKAGES)}", RELEASE, root])
    for path in UNUSED:
        shutil.rmtree(root / path, ignore_errors=True)
    (root / "etc/passwd").write_text(PASSWD, encoding="ascii")
    (root / "etc/group").write_text(GROUP, encoding="ascii")
    for folder in ("proc", "sys", "dev", "tmp", "run"):
        (root / folder).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)


def _packages(root, requirements):
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]
    pinned = ["--require-hashes", "--no-deps", "--no-compile", "--only-binary=:all:", "--requirement", requirements]
    python = ["--python-version", PYTHON, "--implementation", "cp"]
    python += [word for abi in ABIS for word in ("--abi", abi)]
    python += [word for platform_ in PLATFORMS for word in ("--platform", platform_)]
    _run([*pip, *pinned, *python, "--target", root / SITE])


def _profiler(root):
    """The command of profiling Jobs is python, in the folder /workspace, from which Python then loads modules, too."""
    (root / "usr/bin/python").symlink_to("python3")
    model.write_hub(root / HOME / "hub", PROFILED_MODEL)
    shutil.copytree(WORKSPACE, root / WORKSPACE.name, ignore=shutil.ignore_patterns("__pycache__"))


def _finish(root, modules):
    """Compiles the modules that pods load. The image has no times, so the compiled files are valid without them."""
    environment = {**ENVIRONMENT, "PYTHONHASHSEED": "0", "PYTHONPATH": f"/{WORKSPACE.name}"}
    _run(["chroot", root, "/usr/bin/python3", "-c", COMPILE, *modules], env=environment)
    shutil.rmtree(root / "tmp")
    (root / "tmp").mkdir(mode=0o1777)
    (root / "tmp").chmod(0o1777)


def main():
    version = sys.argv[1] if len(sys.argv) > 1 else VERSIONS[0]
    started = time.monotonic()
    root = runtime_root(version)
    size = sum(path.lstat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    print(json.dumps({"root": str(root), "megabytes": size >> 20, "seconds": round(time.monotonic() - started, 1)}))


if __name__ == "__main__":
    main()
