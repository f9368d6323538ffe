"""The tables in cases/: values, and what the charts make of them. Each file is a list of rows:

    name       what is tested
    chart      dynamo-platform (default) or dynamo-operator
    release, namespace
               by default dynamo-platform and inference-system
    monitoring whether the cluster is said to have the Prometheus operator
    openshift  whether the cluster is said to be one of OpenShift
    only       render it only `plain` or only as `reused`, with the reason in the name
    values     the user's values, or a list of them with the same outcome
    set        for rows of one value: path -> value, instead of `values`
    accepted   facts (facts.py) of what is rendered; {} if only the acceptance matters
    notes      texts that the notes have
    silent     texts that the notes do not have
    ignored    paths of values that have no effect. They are named in the notes and in the annotation of the ConfigMap
    refused    texts of the message, each of them. A path may be written with dots or, as a JSON pointer, with slashes
    wrong      path -> values that are refused, each alone, with a message that names the path

The row is rendered by both Helms, plain and as `helm upgrade --reuse-values` does it after a release of the reference. What is in
`wrong` is only rendered plain, except with DYNAMO_FULL=1."""

import itertools
import re
from pathlib import Path
from typing import NamedTuple

import yaml

import charts
import facts
import render

HERE = Path(__file__).resolve().parent
KEYS = {
    "name", "chart", "release", "namespace", "monitoring", "openshift", "only", "values", "set",
    "accepted", "notes", "silent", "ignored", "refused", "wrong",
}  # fmt: skip
IGNORED = "dynamo.nvidia.com/ignored-values"
LOGGED = "--ignored-values="
MODES = ("plain", "reused")
FULL = render.FULL


class Trial(NamedTuple):
    """One rendering of a row. `refused`: the texts of the expected message; None if the values are accepted."""

    row: dict
    helm: str
    mode: str
    values: dict
    refused: list

    def title(self):
        return f"{self.row['name']} ({self.helm}, {self.mode}): {self.values}"


def nested(path, value):
    """{"a.b": 1} as {"a": {"b": 1}}. A part in double quotes may have dots."""
    parts = [part.strip('"') for part in re.findall(r'"[^"]+"|[^.]+', path)]
    for part in reversed(parts):
        value = {part: value}
    return value


def merged(left, right):
    """The values of both, where those of `right` win. Lists are replaced."""
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return right
    return {**left, **{key: merged(left[key], value) if key in left else value for key, value in right.items()}}


def rows_of(path):
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    for row in rows:
        if unknown := row.keys() - KEYS:
            raise ValueError(f"{path.name}: {row.get('name')}: unknown keys {unknown}")
        if not {"accepted", "refused", "wrong"} & row.keys():
            raise ValueError(f"{path.name}: {row['name']}: nothing is expected")
    return rows


def trials_of(row):
    """All renderings of a row."""
    given = row.get("values", {})
    given = given if isinstance(given, list) else [given]
    for path, value in row.get("set", {}).items():
        given = [merged(one, nested(path, value)) for one in given]
    tried = [(values, row.get("refused")) for values in given] if {"accepted", "refused"} & row.keys() else []
    wrong = []
    for path, values in row.get("wrong", {}).items():
        wrong += [(merged(given[0], nested(path, value)), [path.replace('"', "")]) for value in values]
    chart = row.get("chart", charts.PLATFORM)
    # The values of the release before are those of the platform chart.
    modes = [row["only"]] if "only" in row else MODES if chart == charts.PLATFORM else MODES[:1]
    for (values, refused), helm, mode in itertools.product(tried, render.HELMS, modes):
        yield Trial(row, helm, mode, values, refused)
    for (values, refused), helm, mode in itertools.product(wrong, render.HELMS, modes if FULL else modes[:1]):
        yield Trial(row, helm, mode, values, refused)


class Table:
    """Renders trials with copies of the charts below `folder`."""

    def __init__(self, folder):
        self._charts = {}
        for chart in (charts.OPERATOR, charts.PLATFORM):
            place = folder / "plain"
            place.mkdir(exist_ok=True)
            self._charts[chart, "plain"] = charts.lay(place, chart)
        (folder / "reused").mkdir()
        before = yaml.safe_load((HERE / "values-of-the-reference.yaml").read_text(encoding="utf-8"))
        self._charts[charts.PLATFORM, "reused"] = charts.lay(folder / "reused", charts.PLATFORM, before)

    def render(self, trial):
        row = trial.row
        chart = self._charts[row.get("chart", charts.PLATFORM), trial.mode]
        flags = (*(render.MONITORING if row.get("monitoring") else ()), *(render.OPENSHIFT if row.get("openshift") else ()))
        return render.template(trial.helm, chart, trial.values, **_place(row), flags=flags)


def _place(row):
    return {"release": row.get("release", "dynamo-platform"), "namespace": row.get("namespace", "inference-system")}


def complaints(trial, rendered):
    """What is not as the row says; empty if all is."""
    if trial.refused is not None:
        if not rendered.refusal:
            return "accepted, but must be refused"
        missing = [text for text in trial.refused if not says(rendered.refusal, text)]
        return f"the refusal does not say {missing}:\n{rendered.refusal}" if missing else ""
    if rendered.refusal:
        return f"refused: {rendered.refusal}"
    place = _place(trial.row)
    prefix = charts.fullname(place["release"])
    lines = facts.wrong(rendered, trial.row["accepted"], {"F": prefix, "R": place["release"], "NS": place["namespace"]})
    lines += [f"the notes do not say {text!r}" for text in trial.row.get("notes", ()) if not says(rendered.notes, text)]
    lines += [f"the notes say {text!r}" for text in trial.row.get("silent", ()) if says(rendered.notes, text)]
    if "ignored" in trial.row:
        lines += _ignored(trial.row["ignored"], rendered, prefix)
    return "\n".join(lines + ([f"notes:\n{rendered.notes}"] if any("the notes" in line for line in lines) else []))


def _ignored(expected, rendered, prefix):
    """What is wrong with the values without effect: the annotation, the notes and the argument of the controller name exactly these."""
    config = rendered.find("ConfigMap", f"{prefix}-config")
    told = (config or {"metadata": {}})["metadata"].get("annotations", {}).get(IGNORED, "")
    named = told.split(", ") if told else []
    lines = [f"the annotation does not name {path}: {told!r}" for path in expected if path not in named]
    lines += [f"the annotation names {path} more than once" for path in set(named) if named.count(path) > 1]
    lines += [f"the notes do not name {path}" for path in expected if path not in rendered.notes]
    if more := set(named) - set(expected):
        lines.append(f"the annotation names values that have an effect, or are at their default: {sorted(more)}")
    controller = rendered.find("Deployment", f"{prefix}-controller-manager")
    logged = [one for one in controller["spec"]["template"]["spec"]["containers"][0]["args"] if one.startswith(LOGGED)]
    if logged != [LOGGED + told] * bool(told):
        lines.append(f"the controller is to log {logged}, the annotation is {told!r}")
    return lines


def says(text, wanted):
    """Whether the text has the words, in any case, over line ends. A path may be without the name of the chart, because Helm 3 names
    that apart, and with slashes, because Helm 4 writes JSON pointers. Of an unknown key both name the place first."""
    flat = " ".join(text.split()).lower()
    wanted = wanted.lower()
    short = wanted.removeprefix("dynamo-operator.")
    place, _, key = short.rpartition(".")
    if re.search(rf"- {re.escape(place or '(root)')}: additional property {re.escape(key)} is not", flat):
        return True
    if re.search(rf"at '/?{re.escape(place.replace('.', '/'))}': additional properties [^-]*'{re.escape(key)}'", flat):
        return True
    if not short:
        raise ValueError(f"every text has {wanted!r}")
    # Whole words: the key `manager` is not in `controllerManager`.
    forms = (wanted, short, short.replace(".", "/"))
    return any(re.search(rf"(?<![\w-]){re.escape(form)}(?![\w-])", flat) for form in forms)
