"""Which files a translation unit of ours is made of, read from the #include lines: nothing has to be built for it.

Headers of ours are named from the root of the repository or stand beside the file; of a name that is neither, every
header of ours with that end counts. Conditions are not looked at. So the closure may hold more than the compiler reads,
never less.
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
    """The files of ours and the headers of others that a file names."""
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
    """Every file of ours that the compiler reads for `path`, itself included; and the headers of others named there."""
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
