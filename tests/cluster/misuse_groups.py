"""Which refusals name the changed field, and which changes may be made at once."""

import copy
import json
import re

from misuse_changes import put, text_of

PATH = re.compile(r"spec(?:\.[\w/-]+|\[[^\]]*\])*")


def plain_path(text):
    """A field path with dots only."""
    return re.sub(r"\[['\"]?([^\]]*?)['\"]?\]", r".\1", text)


def named_paths(answer):
    """The field paths that a refusal names."""
    causes = (answer.get("details") or {}).get("causes") or []
    found = [cause["field"] for cause in causes if cause.get("field", "").startswith("spec")]
    found += PATH.findall(answer.get("message", ""))
    return {plain_path(one) for one in found} - {"spec"}


def within(path, parent):
    return (path + ".").startswith(parent + ".")


def names_the_field(change, answer):
    """Whether a refusal names the field, a part of it, its object or another field of that object; or a part of what was
    created for the change."""
    wanted = plain_path(text_of(change.path))
    parent = wanted.rpartition(".")[0]
    made = [plain_path(text_of(path)) for path, _ in change.above]
    for one in named_paths(answer):
        if within(one, wanted) or parent in (one, one.rpartition(".")[0]):
            return True
        if any(within(one, path) or within(path, one) and one.count(".") >= path.count(".") - 1 for path in made):
            return True
    return False


def names_a_field_of(manifest, answer):
    """Whether a refusal names a field that the manifest sets: the one that the change contradicts."""

    def has(value, path):
        if not path:
            return True
        if isinstance(value, dict):
            return any(has(value[key], path[len(key) + 1 :]) for key in value if within(path, key))
        if isinstance(value, list):
            index, _, rest = path.partition(".")
            return index.isdigit() and int(index) < len(value) and has(value[int(index)], rest)
        return False

    # The named field itself may be absent: it may be the one that is required.
    return any(has(manifest, one.rpartition(".")[0]) for one in named_paths(answer))


def steps(change):
    """The steps of a change: path -> value."""
    return {**dict(change.above), change.path: change.value}


def compatible(one, other):
    """Whether both changes may be made at once: neither changes what the other changes or creates, unless both create the
    same."""
    return not conflicts(steps(one), dict(other.above), other.path) and not conflicts(steps(other), dict(one.above), one.path)


def conflicts(changed, created, path):
    for step, value in changed.items():
        for inner in (*created, path):
            both = step in created and created[step] == value and step != path
            if inner[: len(step)] == step and not both:
                return True
    return False


def combined(manifest, group):
    """The manifest with all changes of the group."""
    changed = copy.deepcopy(manifest)
    done = {}
    for change in group:
        for path, value in change.above:
            if path not in done:
                put(changed, path, copy.deepcopy(value))
                done[path] = value
    for change in group:
        put(changed, change.path, copy.deepcopy(change.value))
    return changed


def grouped(changes, size, dice):
    """The changes in groups of at most `size`."""
    groups = []
    for change in dice.sample(changes, len(changes)):
        for group in groups[-40:]:
            if len(group) < size and all(compatible(change, one) for one in group):
                group.append(change)
                break
        else:
            groups.append([change])
    return groups


def described_group(group):
    return "; ".join(map(str, group))


def key_of(spec):
    return json.dumps(spec, sort_keys=True)
