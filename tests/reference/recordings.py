"""The recordings of the reference: those of generated inputs are in this folder. Those of the product's example manifests
are not part of the repository and may exist beside it."""

import json
import lzma
import pathlib
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
ARCHIVES = HERE / "recordings"
EXAMPLES = HERE.parents[2] / "shared/reference"
SETS = ("lws", "grove")
GENERATED = "r1-"  # how names of generated inputs begin


def unpack(name, folder):
    """Unpacks an archive into `folder` and returns the path of its content."""
    # Python has safe extraction filters since a release of 3.11.
    careful = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
        archive.extractall(folder, **careful)
    return pathlib.Path(folder, name)


def reviews():
    """The recorded reviews, each as {"path", "req", "res"}. "res" is the reference's answer."""
    with lzma.open(ARCHIVES / "reviews.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def have_examples():
    return (EXAMPLES / "input").is_dir() and (EXAMPLES / "golden").is_dir()


def example_inputs():
    return [path for path in sorted((EXAMPLES / "input").glob("*.yaml")) if not path.name.startswith(GENERATED)]


def example_answers(name):
    return [path for path in sorted((EXAMPLES / "golden" / name).glob("*.json")) if not path.name.startswith(GENERATED)]
