"""The files of the image: the programs, stripped; what they load of Debian packages, with the licences of these packages and their
names, where scanners look for them; the licences of what is compiled into the programs; the CRDs; users; the certificates of public
authorities. There is no shell, and no program of another project."""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import programs
import release
import sbom

ROOT = Path(__file__).resolve().parents[2]
# What the programs load; what these packages depend on comes by itself.
PACKAGES = (
    "ca-certificates libc6 libfmt9 libgcc-s1 libprometheus-cpp-core1.0 libre2-9 libspdlog1.10 libssl3 libstdc++6 libyaml-cpp0.7 libzstd1"
).split()
USER = 65532
PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/nonexistent:/sbin/nologin\n"
GROUP = f"root:x:0:\nnonroot:x:{USER}:\n"


class ContentError(Exception):
    """The image cannot be made. The message is for the user."""


def write(root, arch):
    """Writes the files of the image into the new folder `root`. Returns the bill of materials, an SPDX document."""
    root.mkdir(parents=True)
    built = programs.build(arch)
    for program in built:
        _copy(program, root / program.name, 0o755)
        subprocess.run([programs.tool(arch, "strip"), "--strip-all", root / program.name], check=True)
    with tempfile.TemporaryDirectory(prefix="dynamo-debian-") as folder:
        debian = Debian(Path(folder) / "root", arch)
        for library in debian.loaded_by([root / program.name for program in built]):
            _copy(debian.root / library.lstrip("/"), root / library.lstrip("/"), 0o755)
        _text(root / "etc/ssl/certs/ca-certificates.crt", debian.authorities())
        packages = debian.packages_of(root)
        for package in packages:
            _text(root / "var/lib/dpkg/status.d" / package.name, package.control)
            _text(root / "usr/share/doc" / package.name / "copyright", debian.licence(package.name))
        headers = debian.headers()
        for name in release.WITH_NOTICE:
            _text(root / "usr/share/doc" / name / "copyright", debian.notice(name))
    _text(root / "etc/passwd", PASSWD)
    _text(root / "etc/group", GROUP)
    _copy(ROOT / "LICENSE", root / "usr/share/doc/dynamo-operator/copyright")
    for crd in sorted((ROOT / "deploy/crds").glob("*.yaml")):
        _copy(crd, root / "opt/dynamo-operator/crds" / crd.name)
    return sbom.document(release.version(), arch, packages, headers, [(program.name, _digest(root / program.name)) for program in built])


class Debian:
    """The unpacked packages of an architecture. Nothing of them is run."""

    def __init__(self, root, arch):
        self.root = root
        self.arch = arch
        # The programs of another architecture are compiled with headers of that one.
        packages = PACKAGES if arch == release.native() else [*PACKAGES, *release.HEADERS]
        programs.unpack(root, arch, packages, "--skip=cleanup/apt")
        self.archives = sorted((root / "var/cache/apt/archives").glob("*.deb"))

    def loaded_by(self, files):
        """The paths of the libraries that the programs load, and of their loader, sorted."""
        found, waiting = {}, [Path(file) for file in files]
        while waiting:
            about = subprocess.run(["readelf", "-dl", waiting.pop()], check=True, capture_output=True, text=True).stdout
            # The loader's name comes first: libraries also need it, by its name alone.
            for path in re.findall(r"program interpreter: (.+)\]", about) + re.findall(r"\(NEEDED\).*\[(.+)\]", about):
                name = Path(path).name
                if name not in found:
                    found[name] = path if path != name else self._path(name)
                    waiting.append(self.root / found[name].lstrip("/"))
        return sorted(found.values())

    def _path(self, library):
        for folder in ("/usr/lib", "/lib"):
            path = f"{folder}/{programs.TRIPLETS[self.arch]}/{library}"
            if (self.root / path.lstrip("/")).exists():
                return path
        raise ContentError(f"no package of {', '.join(PACKAGES)} has {library}")

    def authorities(self):
        files = sorted((self.root / "usr/share/ca-certificates").rglob("*.crt"))
        return "".join(file.read_text(encoding="ascii").strip() + "\n" for file in files)

    def licence(self, package):
        return (self.root / "usr/share/doc" / package / "copyright").read_text(encoding="utf-8")

    def headers(self):
        """The packages whose headers the programs are compiled with."""
        if self.arch == release.native():
            return [sbom.Package(_status_of(name)) for name in release.HEADERS]
        return [one for one in map(_package, self.archives) if one.name in release.HEADERS]

    def notice(self, package):
        """The licence of such a package."""
        return release.notices()[package] if self.arch == release.native() else self.licence(package)

    def packages_of(self, image):
        """The packages whose files are in the folder `image`, and those that the certificates and licences are of."""
        ours = {str(path.relative_to(image)) for path in image.rglob("*") if path.is_file()}
        found = []
        for archive in self.archives:
            listing = subprocess.run(["dpkg-deb", "--contents", archive], check=True, capture_output=True, text=True).stdout
            names = {line.split(" ./", 1)[1].split(" -> ")[0] for line in listing.splitlines() if " ./" in line}
            package = _package(archive)
            if {name.removeprefix("usr/") for name in names} & {name.removeprefix("usr/") for name in ours} or package.name == "ca-certificates":
                found.append(package)
        return found


def _package(archive):
    return sbom.Package(subprocess.run(["dpkg-deb", "--field", archive], check=True, capture_output=True, text=True).stdout)


def _status_of(package):
    """What dpkg knows of a package of this machine."""
    return subprocess.run(["dpkg-query", "--status", package], check=True, capture_output=True, text=True).stdout


def _copy(source, target, mode=0o644):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def _text(target, text):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
