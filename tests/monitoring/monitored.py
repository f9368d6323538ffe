"""What the tests share: the dashboards, the alerts, a Prometheus."""

import importlib.machinery
import importlib.util
import json
import re
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "deploy/monitoring"
sys.path[:0] = [str(ROOT / "deploy/lib"), str(ROOT / "tests/cluster")]

from control_plane import free_port  # noqa: E402
from install import Program  # noqa: E402

DASHBOARDS = ("operator-dashboard.json", "graphs-dashboard.json")
# How Prometheus' configuration calls the namespace of the operator, as a ServiceMonitor does.
NAMESPACE = "dynamo-system"


def generator():
    """The module of deploy/monitoring/generate."""
    loader = importlib.machinery.SourceFileLoader("generate", str(MONITORING / "generate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("generate", loader))
    loader.exec_module(module)
    return module


def dashboard(file):
    return json.loads((MONITORING / file).read_text(encoding="utf-8"))


def panels(file):
    """The panels without rows."""
    return [panel for panel in dashboard(file)["panels"] if panel["type"] != "row"]


def expressions(file):
    """(title of the panel, PromQL) of all queries, with all values of the variables."""
    found = []
    for panel in panels(file):
        for target in panel["targets"]:
            found.append((panel["title"], re.sub(r"\$(namespace|resource_type)\b", ".*", target["expr"])))
    return found


def alerts():
    """All rules of alerts.yaml."""
    groups = yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def selectors(expression):
    """The series that an expression selects: (metric, {label: value} of its equality matchers)."""
    found = []
    for metric, matchers in re.findall(r"\b((?:[a-z]+_)+[a-z]+)\b(?:\{([^}]*)\})?", expression):
        if metric in ("sort_desc", "histogram_quantile", "min_over_time", "resource_type", "error_type"):
            continue
        found.append((metric, dict(re.findall(r'(\w+)="([^"]*)"', matchers))))
    return found


def samples(text):
    """Metric -> label sets of the samples in a scraped text."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? \S+", line)
        if match:
            found.setdefault(match[1], []).append(dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or "")))
    return found


class Prometheus(Program):
    """Debian's Prometheus. It scrapes `targets` (job -> port) every second with honorLabels and evaluates alerts.yaml."""

    def __init__(self, directory, targets):
        super().__init__(directory, "prometheus")
        self._targets = targets
        self._data = tempfile.TemporaryDirectory()

    def start(self):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/api/v1/"
        jobs = [
            {
                "job_name": job,
                "honor_labels": True,
                "static_configs": [{"targets": [f"127.0.0.1:{target}"], "labels": {"namespace": NAMESPACE}}],
            }
            for job, target in self._targets.items()
        ]
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(MONITORING / "alerts.yaml")],
            "scrape_configs": jobs,
        }
        file = self.directory / "prometheus.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        argv = ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={self._data.name}", "--log.format=json"]
        self._spawn([*argv, f"--web.listen-address=127.0.0.1:{port}"], "Server is ready to receive web requests.")

    def close(self):
        self.stop()
        self._data.cleanup()

    def get(self, path, **parameters):
        """The data of an answer. An error of Prometheus is an HTTPError."""
        url = self.url + path + "?" + urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(url, timeout=30) as answer:
            document = json.load(answer)
        if document["status"] != "success" or document.get("warnings"):
            raise AssertionError(f"{url}: {document}")
        return document["data"]

    def query(self, expression):
        """The answer to an instant query: a list of (labels, value), without values that are no number."""
        results = self.get("query", query=expression)["result"]
        found = [(one["metric"], float(one["value"][1])) for one in results]
        return [(labels, value) for labels, value in found if value == value]
