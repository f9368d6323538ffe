"""buildah with a storage of its own, which is removed at the end."""

import dataclasses
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

ANY = {"default": [{"type": "insecureAcceptAnything"}]}


@dataclasses.dataclass
class Image:
    """`id`: in the storage. `size`, `compressed`: bytes of the layer."""

    arch: str
    id: str
    digest: str
    size: int
    compressed: int


# Every runtime reads gzip.
SMALLEST = ("--compression-format=gzip", "--compression-level=9")


class Storage:
    def __init__(self, folder):
        self._folder = Path(folder)

    def __enter__(self):
        self._folder.mkdir(parents=True)
        # Debian's policy file is in a package that buildah only recommends.
        (self._folder / "policy.json").write_text(json.dumps(ANY), encoding="ascii")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self._folder, ignore_errors=True)

    def _buildah(self, *words):
        own = ["--root", self._folder / "images", "--runroot", self._folder / "run", "--storage-driver", "vfs"]
        run = subprocess.run(["buildah", *own, *words], check=True, capture_output=True, text=True)
        return run.stdout.strip()

    def commit(self, root, arch, labels, created):
        """Makes an image of a folder. `created`: seconds since 1970."""
        container = self._buildah("from", f"--arch={arch}", "scratch")
        self._buildah("copy", container, root, "/")
        flags = [word for name, value in labels.items() for word in ("--label", f"{name}={value}")]
        self._buildah("config", "--user=65532:65532", "--workingdir=/", f"--arch={arch}", "--os=linux", *flags, container)
        policy = f"--signature-policy={self._folder / 'policy.json'}"
        image = self._buildah("commit", "--quiet", policy, f"--timestamp={created}", container)
        archive = self._folder / f"{arch}.tar"
        self._push(image, archive)
        size = sum(path.lstat().st_size for path in Path(root).rglob("*") if path.is_file())
        manifest = _manifest(archive)
        return Image(arch, image, digest_of(archive), size, sum(layer["size"] for layer in manifest["layers"]))

    def write(self, images, name, archive):
        """Writes the images as one OCI archive. Two or more of them get an index."""
        if len(images) == 1:
            self._push(images[0].id, archive, name)
            return
        self._buildah("manifest", "create", name)
        for image in images:
            self._buildah("manifest", "add", name, f"oci-archive:{self._folder / image.arch}.tar")
        archive.unlink(missing_ok=True)
        policy = f"--signature-policy={self._folder / 'policy.json'}"
        self._buildah("manifest", "push", "--all", policy, name, f"oci-archive:{archive}:{name}")

    def _push(self, image, archive, name=None):
        archive.unlink(missing_ok=True)
        policy = f"--signature-policy={self._folder / 'policy.json'}"
        self._buildah("push", "--quiet", *SMALLEST, policy, image, f"oci-archive:{archive}" + (f":{name}" if name else ""))


def digest_of(archive):
    """The digest of what an OCI archive holds: of the image, or of the index of images."""
    return _index(archive)["manifests"][0]["digest"]


def _index(archive):
    with tarfile.open(archive) as file:
        return json.load(file.extractfile("index.json"))


def _manifest(archive):
    with tarfile.open(archive) as file:
        return json.load(file.extractfile("blobs/sha256/" + digest_of(archive).removeprefix("sha256:")))
