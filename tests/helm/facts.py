"""Facts about rendered objects, as the files in cases/ state them: `SUBJECT: EXPECTED` or `SUBJECT -> PATH: EXPECTED`.

A subject is `KIND NAME`, where the name may have `*`, `config` for the configuration file, or `values of NAME` for the values that
reach a third-party chart. In names, {F} is the prefix of all names, {R} the release and {NS} its namespace.

    Deployment {F}-webhook -> spec.template.spec.containers[name=webhook].image: example.com/a:1
    ServiceAccount * -> metadata.labels["app.kubernetes.io/part-of"]: dynamo-operator
    Secret {F}-regcred: absent

A path may have `[*]`, for each item of a list, and `[member=value]`. The expected value holds for each value that path and subject
lead to, and there must be one. Other expectations than a value: `absent`, `present`, and maps with one of the keys `contains`,
`lacks` (of a list or a text), `matches` (a regular expression), `pull_secret` (server, username and password of a file of Docker)
and `count` (of objects)."""

import base64
import fnmatch
import json
import re

import yaml

STEP = re.compile(r'\[\*\]|\["([^"]+)"\]|\[(\w+)=([^\]]+)\]|\[(\d+)\]|\.?([^.\[]+)')


def values_at(value, path):
    """All values to which the path leads. A member that is null is absent."""
    found = [value]
    for every, quoted, member, wanted, index, plain in ((m.group(0), *m.groups()) for m in STEP.finditer(path)):
        following = []
        for one in found:
            if every == "[*]":
                following += one if isinstance(one, list) else []
            elif member:
                following += [item for item in one if str(item.get(member)) == wanted] if isinstance(one, list) else []
            elif index:
                following += one[int(index):int(index) + 1] if isinstance(one, list) else []
            elif isinstance(one, dict):
                following.append(one.get(quoted or plain))
        found = [one for one in following if one is not None]
    return found


def subjects(rendered, subject, names):
    """The values that the subject of a fact stands for."""
    if subject == "config":
        return [yaml.safe_load(rendered.find("ConfigMap", names["F"] + "-config")["data"]["config.yaml"])]
    if subject.startswith("values of "):
        found = rendered.find("ConfigMap", f"{names['R']}-{subject.removeprefix('values of ')}")
        return [json.loads(found["data"]["values"])] if found else []
    kind, _, pattern = subject.partition(" ")
    return [o for o in rendered.objects if o["kind"] == kind and fnmatch.fnmatchcase(o["metadata"]["name"], pattern)]


def wrong(rendered, facts, names):
    """One line for each fact that does not hold."""
    lines = []
    for statement, expected in facts.items():
        text = statement
        for name, replacement in names.items():
            text = text.replace(f"{{{name}}}", replacement)
        subject, _, path = text.partition(" -> ")
        found = subjects(rendered, subject, names)
        values = [value for one in found for value in (values_at(one, path) if path else [one])]
        if complaint := _complaint(expected, values, whole=not path):
            lines.append(f"{text}: {complaint}")
    return lines


def _complaint(expected, values, whole):
    shown = f"{len(values)} objects" if whole else json.dumps(values)[:500]
    if expected == "absent":
        return f"absent expected, found {shown}" if values else ""
    if isinstance(expected, dict) and expected.keys() == {"count"}:
        return "" if len(values) == expected["count"] else f"{expected['count']} expected, found {shown}"
    if not values:
        return "absent"
    if expected == "present" or all(_holds(expected, value) for value in values):
        return ""
    return f"{json.dumps(expected)} expected, found {shown}"


def _holds(expected, value):
    if isinstance(expected, dict) and len(expected) == 1:
        ((how, what),) = expected.items()
        if how == "contains":
            return what in value
        if how == "lacks":
            return what not in value
        if how == "matches":
            return re.search(what, str(value)) is not None
        if how == "pull_secret":
            entry = json.loads(base64.b64decode(value))["auths"][what["server"]]
            name, _, password = base64.b64decode(entry["auth"]).decode().partition(":")
            wanted = (what["username"], what["password"])
            return (name, password) == wanted and (entry["username"], entry["password"]) == wanted
    return value == expected
