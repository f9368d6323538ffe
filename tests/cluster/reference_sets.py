"""Sets of recordings as cases of a cluster, and their comparison with the live objects."""

import copy
import hashlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parent / "reference"
sys.path[:0] = [str(HERE), str(REFERENCE)]

import compare  # noqa: E402
import deviations  # noqa: E402
import folding  # noqa: E402
import ledger as ledgers  # noqa: E402
import record  # noqa: E402
from context import Context  # noqa: E402
from operator_plane import difference  # noqa: E402
from reference_objects import MODEL_SERVICE, Case, templates_of  # noqa: E402

# Set -> a recording that is always played. Here the reference sets a member inside a list that server-side apply treats as one
# value: it looks like a default of the API server.
ALWAYS = {"grove": "r1-026"}


class Set:
    """The recordings of a set, or `size` of them and that of ALWAYS, as cases of a cluster."""

    def __init__(self, name, folder, dice=None, size=None):
        self.name = name
        self.lines = deviations.load(REFERENCE / "deviations.txt")
        self.ledger = ledgers.load(REFERENCE / f"{name}.ledger")
        files = sorted((folder / name).glob("*.json"))
        self.recordings, self.cases = {}, []
        chosen = set(files if size is None else dice.sample(files, size))
        if name in ALWAYS:
            chosen.add(folder / name / f"{ALWAYS[name]}.json")
        for file in sorted(chosen):
            recording = json.loads(file.read_text(encoding="utf-8"))
            documents = record.manifests(folder / "input" / f"{file.stem}.yaml")
            recording["input"] = [one for one in documents if one["kind"] in record.CUSTOM]
            self.recordings[file.stem] = recording
            namespace = name[0] + hashlib.sha1(file.stem.encode()).hexdigest()[:6]
            self.cases.append(Case(recording, documents, namespace))

    def is_denied(self, case):
        """Whether our webhook denies the graph. The ledger then has no children of it."""
        return any(line.startswith(f"{case.name}\tadmission\t") for line in self.ledger)

    def differences(self, case, live):
        """The differences between the reference's children and the live ones: (accepted, not accepted)."""
        recording = self.recordings[case.name]
        uids = [one["metadata"]["uid"] for one in live.values()]
        objects = [record.clean(one, case.namespace, uids) for one in live.values()]
        theirs = folding.recording(json.loads(json.dumps(recording)), hashes=True)
        ours = folding.recording({**recording, "objects": objects}, hashes=True)
        accepted, others = [], []
        for found in compare.differences_of_case(theirs, ours):
            if is_additional_owner(found):
                continue
            context = Context(found, theirs, ours)
            if self.is_denied(case):
                # The reference has failed to deploy the graph, so ours has more children.
                passes = found.path == () and found.direction == "ours" or deviations.met(context, self.lines)
            else:
                in_ledger = self.ledger[ledgers.entry(found, theirs.hashes | ours.hashes)] > 0
                passes = in_ledger and deviations.met(context, self.lines)
            (accepted if passes else others).append((found, context))
        return accepted, others


def is_additional_owner(found):
    """Whether the graph has become an owner of the Service of a model, beside the component that controls it (child-Q6)."""
    is_owner = found.kind == "Service" and found.name.startswith(MODEL_SERVICE) and "ownerReferences" in found.path
    return is_owner and found.direction == "ours" and "controller" not in found.ours


def templates(live):
    """(kind, name, role or clique) -> pod template."""
    return {
        (*key, part): folding.prune(template)
        for key, one in live.items()
        for part, template in templates_of(one).items()
    }


def without_scripts(found):
    """Templates without the texts of scripts that wait for other pods: ours are in other words (dec-18)."""
    folded = copy.deepcopy(found)
    folding.fold_scripts(list(folded.values()))
    return folded


def changed(before, after):
    """The workloads of `before` whose pod templates differ in `after`, and the differences as text."""
    texts = {key[:2]: difference(template, after.get(key)) for key, template in before.items() if template != after.get(key)}
    return set(texts), "\n".join(f"{key}: {text}" for key, text in sorted(texts.items()))
