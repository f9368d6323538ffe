"""The files of a translation unit, determined from its #include lines without a build.

A header of this repository is named from the root or is in the folder of the file. For any other name every header of the
repository with that ending counts. Preprocessor conditions are ignored. So the closure may have more files than the
compiler reads, but never fewer.
"""

import functools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)


@functools.lru_cache(maxsize=None)
def headers():
    listed = ["git", "ls-files", "-co", "--exclude-standard", "--", "*.h"]
    return subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@functools.lru_cache(maxsize=None)
def named(path):
    """The files of this repository and the other headers that a file includes."""
    ours, others = [], []
    for quoted, angled in INCLUDE.findall(path.read_text(encoding="utf-8")):
        beside, from_root = path.parent / quoted, ROOT / quoted
        found = [each.resolve() for each in (beside, from_root) if quoted and each.is_file()][:1]
        if quoted and not found:
            found = [ROOT / name for name in headers() if name.endswith("/" + quoted)]
        ours += found
        if not found:
            others.append(quoted or angled)
    return ours, others


def closure(path):
    """Every file of this repository that the compiler reads for `path`, including itself, and all other headers that these
    include."""
    seen, todo, others = set(), [path.resolve()], set()
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        ours, foreign = named(file)
        todo += ours
        others.update(foreign)
    return seen, others
