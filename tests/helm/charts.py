"""Copies of the charts of deploy/helm that can be rendered: third-party dependencies, which no repository of ours holds, are stubs
with the declared name and version. A stub renders one ConfigMap that has all its values, so a test sees what reaches it."""

import shutil
from pathlib import Path

import yaml

CHARTS = Path(__file__).resolve().parents[2] / "deploy/helm"
OPERATOR = "dynamo-operator"
PLATFORM = "dynamo-platform"
STUB = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
  namespace: {{ .Release.Namespace }}
  labels: {test.example.com/stub: {{ .Chart.Name | quote }}}
data:
  values: {{ toJson .Values | quote }}
"""
# `helm template` does not print the notes. A template of the copy renders them into an object.
NOTES = "notes-of-the-test"
NOTES_TEMPLATE = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {NOTES}}}
data:
  notes: {{{{ tpl (.Files.Get "{NOTES}.txt") . | toJson }}}}
"""


def metadata(chart):
    """The Chart.yaml of a chart of deploy/helm."""
    return yaml.safe_load((CHARTS / chart / "Chart.yaml").read_text(encoding="utf-8"))


def third_party():
    """name -> version of the dependencies of the platform chart that are not ours."""
    return {one["name"]: str(one["version"]) for one in metadata(PLATFORM)["dependencies"] if one["name"] != OPERATOR}


def lay(folder, chart=PLATFORM, parent_values=None, notes=True):
    """Copies a chart with its dependencies into `folder`, which must exist, and returns the path of the copy. `parent_values`
    take the place of the chart's default values: so `helm upgrade --reuse-values` does it with those of the release before."""
    target = Path(folder) / chart
    shutil.copytree(CHARTS / chart, target, ignore=shutil.ignore_patterns("charts", "*.tgz"))
    if chart == PLATFORM:
        (target / "charts").mkdir()
        shutil.copytree(CHARTS / OPERATOR, target / "charts" / OPERATOR)
        for name, version in third_party().items():
            stub(target / "charts" / name, name, version)
    if parent_values is not None:
        (target / "values.yaml").write_text(yaml.safe_dump(parent_values), encoding="utf-8")
    if notes:
        text = target / "templates/NOTES.txt"
        (target / f"{NOTES}.txt").write_text(text.read_text(encoding="utf-8"), encoding="utf-8")
        (target / "templates" / f"{NOTES}.yaml").write_text(NOTES_TEMPLATE, encoding="utf-8")
    return target


def stub(folder, name, version):
    """A chart with this name and version."""
    (folder / "templates").mkdir(parents=True)
    about = {"apiVersion": "v2", "name": name, "version": version, "description": "stand-in", "type": "application"}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(about), encoding="utf-8")
    (folder / "values.yaml").write_text("{}\n", encoding="utf-8")
    (folder / "templates/values.yaml").write_text(STUB, encoding="utf-8")


def fullname(release):
    """The prefix of all names of a release."""
    return release if OPERATOR in release else f"{release}-{OPERATOR}"
