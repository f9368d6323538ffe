"""Builds Go programs that only some tests need, each module once, into a cache of its own. So only those who need a program
build it, and a change of its module leaves what else is built valid. How it builds is in `build`.

DYNAMO_CACHE  cache root, default ~/.cache/dynamo-operator"""

import argparse
import hashlib
import importlib.machinery
import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
GO_FOLDER = "/usr/local/go/bin"


def find_go():
    """Adds the folder of Go's own installer to PATH if no Go is there. It is often missing in root's PATH."""
    if not shutil.which("go") and shutil.which("go", path=GO_FOLDER):
        os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:{GO_FOLDER}"


def load_builder():
    """The functions of `build`, whose name is no name of a Python module."""
    find_go()
    loader = importlib.machinery.SourceFileLoader("control_plane_build", str(HERE / "build"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def cache_dir(module, ldflags, folder=HERE):
    """<cache root>/<module>/<digest of everything that decides what is built>. `folder` has the folder modules/."""
    root = os.environ.get("DYNAMO_CACHE") or Path.home() / ".cache" / "dynamo-operator"
    digest = hashlib.sha256(f"{platform.system()}/{platform.machine()} {ldflags}".encode())
    for name in ("go.mod", "go.sum"):
        digest.update(name.encode() + b"\0" + (folder / "modules" / module / name).read_bytes() + b"\0")
    return Path(root).resolve() / module / digest.hexdigest()[:16]


def build(folder, programs, jobs):
    """Builds what is missing of `programs`: name -> (Go package, flags of the linker). Each has the module of its name in modules/ of
    `folder`. Returns the paths. Raises RuntimeError with a message for the user."""
    builder = load_builder()
    builder.HERE = folder
    builder.BINARIES = {name: (name, package, flags) for name, (package, flags) in programs.items()}
    paths = [cache_dir(name, flags, folder) / "bin" / name for name, (_, flags) in programs.items()]
    try:
        for path in paths:
            builder.build_missing(path.parent, [path.name], jobs)
    except builder.BuildError as error:
        raise RuntimeError(str(error)) from None
    return paths


def sources(module, package):
    """The folder with the sources of `package`, a module that `module`/go.mod names and that a build has downloaded."""
    find_go()
    command = ["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", package]
    folder = subprocess.run(command, cwd=module, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    if not folder:
        raise RuntimeError(f"the module cache does not have {package}, which {module}/go.mod names")
    return Path(folder)


def main(documentation, module, packages, ldflags):
    """A command `build [--print] [--jobs N]`. `module`: a folder of modules/; `packages`: program -> Go package; `ldflags`: flags
    of the linker, as a function of the builder. Returns the exit status."""
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="print the directory that holds the binaries")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parallel compilers, default: cores")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    builder = load_builder()
    flags = ldflags(builder)
    builder.BINARIES = {name: (module, package, flags) for name, package in packages.items()}
    folder = cache_dir(module, flags) / "bin"
    try:
        builder.build_missing(folder, list(builder.BINARIES), options.jobs)
    except builder.BuildError as error:
        builder.say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    print(folder) if options.print else builder.say(f"binaries in {folder}")
    return 0
