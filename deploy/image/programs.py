"""The release programs of an architecture. Those of another one are made by Debian's cross compiler, in a folder with Debian's
libraries of that architecture."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy/lib"))
from release import native, setup  # noqa: E402

TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
EMULATORS = {"arm64": "qemu-aarch64-static"}
NAMES = ("dynamo-controller", "dynamo-webhook")
RELEASE = "bookworm"
# The headers and libraries of SETUP_PACKAGES in deploy/lib/setup.
LIBRARIES = (
    "catch2 libboost1.81-dev libc6-dev libcli11-dev libfmt-dev libre2-dev libspdlog-dev libssl-dev "
    "libstdc++-12-dev libyaml-cpp-dev libzstd-dev prometheus-cpp-dev rapidjson-dev"
).split()


def tool(arch, name):
    """The program of the binutils for files of the architecture."""
    return name if arch == native() else f"{TRIPLETS[arch]}-{name}"


def unpack(root, arch, packages, *options):
    """Unpacks Debian packages, and those that they depend on, into the new folder `root`. Nothing of them is run."""
    # What runs in the folder would need mounts. One that stayed would be emptied when the folder is removed.
    command = ["mmdebstrap", "--quiet", "--variant=extract", "--mode=root", "--skip=chroot/mount", *options, f"--architectures={arch}"]
    subprocess.run([*command, f"--include={','.join(packages)}", RELEASE, root], check=True, capture_output=True, text=True)


def build(arch, names=NAMES):
    """Builds the programs and returns their paths."""
    if arch == native():
        setup("build_release", *names)
        return [ROOT / "build/release/bin" / name for name in names]
    setup("install_packages", arch)
    return _cross_build(arch, ROOT / "build" / f"release-{arch}", names, "-DDYNAMO_TESTS=OFF")


def build_tests(arch, names):
    """Builds unit tests for another architecture. Returns their paths, and the command that runs one of them here."""
    setup("install_packages", f"{arch}-test")
    paths = _cross_build(arch, ROOT / "build" / f"tests-{arch}", names, "-DDYNAMO_TESTS=ON")
    return paths, [EMULATORS[arch], "-L", sysroot(arch)]


def _cross_build(arch, folder, names, *options):
    environment = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1"}
    setup("build_release", "dynamo-crdgen")
    options = (*options, f"-DDYNAMO_CRDGEN={ROOT / 'build/release/bin/dynamo-crdgen'}")
    subprocess.run(["cmake", "--preset", "release", "-B", folder, *options, *_cross(arch)], cwd=ROOT, check=True, env=environment)
    subprocess.run(["cmake", "--build", folder, "--target", *names], cwd=ROOT, check=True, env=environment)
    return [folder / "bin" / name for name in names]


def _cross(arch):
    root = sysroot(arch)
    triplet = TRIPLETS[arch]
    modes = [f"-DCMAKE_FIND_ROOT_PATH_MODE_{kind}=ONLY" for kind in ("LIBRARY", "INCLUDE", "PACKAGE")]
    return [
        "-DCMAKE_SYSTEM_NAME=Linux",
        f"-DCMAKE_SYSTEM_PROCESSOR={triplet.split('-', maxsplit=1)[0]}",
        f"-DCMAKE_CXX_COMPILER={triplet}-g++",
        f"-DCMAKE_LIBRARY_ARCHITECTURE={triplet}",
        f"-DCMAKE_SYSROOT={root}",
        "-DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER",
        *modes,
    ]


def sysroot(arch):
    """The folder with the headers and libraries of the architecture. It is made the first time."""
    digest = hashlib.sha256(" ".join(LIBRARIES).encode()).hexdigest()[:8]
    root = ROOT / "build" / f"sysroot-{arch}-{digest}"
    if not root.exists():
        new = root.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        unpack(new, arch, LIBRARIES)
        new.rename(root)
    return root
