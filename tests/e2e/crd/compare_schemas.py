#!/usr/bin/env python3
"""Compares the structure of deploy/crds with the CRDs of the reference.

Every field of the reference must exist in our CRDs with the same type, format, required, default, enum, bounds, pattern,
list type, map type and CEL rule, and vice versa. Accepted differences are listed with their reason in deviations.txt.
Without ../shared nothing is compared.
"""
import fnmatch
import json
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
OURS = ROOT / "deploy" / "crds"
THEIRS = ROOT.parent / "shared" / "reference" / "crds"
# Texts for users, which have no effect on validation.
IGNORED = {"description", "message"}


def load(directory):
    out = {}
    for path in sorted(directory.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        out[document["spec"]["names"]["kind"]] = document
    return out


def normalise(node):
    """A node in normal form: an enum inside allOf becomes the enum, sets are sorted, {} and [] are absent."""
    out = {k: v for k, v in node.items() if k not in IGNORED and v not in ([], {})}
    for part in out.pop("allOf", []):
        out.setdefault("enum", part["enum"])
    for key in ("enum", "required"):
        if key in out:
            out[key] = sorted(out[key])
    if "x-kubernetes-validations" in out:
        out["x-kubernetes-validations"] = [{k: v for k, v in rule.items() if k not in IGNORED}
                                           for rule in out["x-kubernetes-validations"]]
    return out


def compare(path, theirs, ours, report):
    theirs, ours = normalise(theirs), normalise(ours)
    for key in sorted(theirs.keys() | ours.keys()):
        a, b = theirs.get(key), ours.get(key)
        if key == "properties":
            a, b = a or {}, b or {}
            for name in sorted(a.keys() | b.keys()):
                at = f"{path}.{name}"
                if name not in b:
                    report(at, "missing in ours", "")
                elif name not in a:
                    report(at, "only in ours", "")
                else:
                    compare(at, a[name], b[name], report)
        elif key in ("items", "additionalProperties") and isinstance(a, dict) and isinstance(b, dict):
            compare(path + ("[]" if key == "items" else "{}"), a, b, report)
        elif a != b:
            report(path, key, f"theirs {json.dumps(a)}, ours {json.dumps(b)}")


def compare_kind(kind, theirs, ours, report):
    for key in ("group", "scope", "names"):
        if theirs["spec"][key] != ours["spec"][key]:
            report(kind, key, f"theirs {theirs['spec'][key]}, ours {ours['spec'][key]}")
    if theirs["spec"].get("conversion") != ours["spec"].get("conversion"):
        report(kind, "conversion", "")
    if theirs["metadata"]["name"] != ours["metadata"]["name"]:
        report(kind, "name", "")
    for key in ("helm.sh/resource-policy",):
        if theirs["metadata"]["annotations"].get(key) != ours["metadata"]["annotations"].get(key):
            report(kind, key, "")
    versions = [[v["name"] for v in x["spec"]["versions"]] for x in (theirs, ours)]
    if versions[0] != versions[1]:
        return report(kind, "versions", f"{versions}")
    for a, b in zip(theirs["spec"]["versions"], ours["spec"]["versions"]):
        at = f"{kind}/{a['name']}"
        for key in ("served", "storage", "deprecated", "subresources"):
            if a.get(key, False) != b.get(key, False):
                report(at, key, f"theirs {a.get(key)}, ours {b.get(key)}")
        columns = [[{k: c.get(k) for k in ("name", "type", "jsonPath", "priority")}
                    for c in x.get("additionalPrinterColumns", [])] for x in (a, b)]
        if columns[0] != columns[1]:
            report(at, "additionalPrinterColumns", "")
        compare(at, a["schema"]["openAPIV3Schema"], b["schema"]["openAPIV3Schema"], report)


def deviations():
    """The lines of deviations.txt as (pattern, what, reason)."""
    out = []
    for line in (HERE / "deviations.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, what, reason = (part.strip() for part in line.split("|", 2))
            out.append((pattern, what, reason))
    return out


def main():
    if not THEIRS.is_dir():
        print(f"skipped: our schemas beside the reference's: {THEIRS} is absent")
        return 0
    ours, theirs, accepted = load(OURS), load(THEIRS), deviations()
    used, findings, compared = set(), [], 0

    def report(path, what, detail):
        for entry in accepted:
            if entry[1] == what and fnmatch.fnmatchcase(path, entry[0].replace("[", "[[]")):
                used.add(entry)
                return
        findings.append(f"{path}: {what} {detail}".rstrip())

    if ours.keys() != theirs.keys():
        findings.append(f"kinds differ: {sorted(ours.keys() ^ theirs.keys())}")
    for kind in sorted(ours.keys() & theirs.keys()):
        compare_kind(kind, theirs[kind], ours[kind], report)
        compared += 1
    for entry in accepted:
        if entry not in used and entry[1] != "object":
            findings.append(f"deviations.txt: nothing differs any more: {' | '.join(entry[:2])}")
    for finding in findings:
        print(finding)
    sizes = {k: len(json.dumps(v, separators=(",", ":"))) for k, v in ours.items()}
    print(f"{compared} kinds compared, {len(used)} accepted deviations, {len(findings)} findings, "
          f"largest CRD {max(sizes.values())} bytes")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
