#!/usr/bin/env python3
"""Compares the renderings of the manifests in this folder by `kubectl dynamo render` with the recorded ones.

tests/golden/check.py [BINARY]; DYNAMO_REGENERATE=1 rewrites the recorded renderings.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RECORD = re.compile(r"\.(grove|lws|deployment)\.yaml$")
SETTINGS = ("config.yaml", "facts.yaml")
MAX_DIFF_LINES = 60


def render(binary: str, manifest: pathlib.Path, pathway: str) -> str:
    """The children as YAML; errors of rendering fail the test."""
    command = [binary, "render", "-f", manifest.name, "-n", "demo", "--pathway", pathway, "--config", "config.yaml",
               "--facts", "facts.yaml"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"golden: {manifest.name} on {pathway}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main() -> int:
    binary = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/kubectl-dynamo").resolve())
    regenerate = os.environ.get("DYNAMO_REGENERATE") == "1"
    recorded = {path for path in HERE.glob("*.yaml") if RECORD.search(path.name)}
    manifests = [path for path in sorted(HERE.glob("*.yaml")) if path not in recorded and path.name not in SETTINGS]
    seen = set()
    wrong = 0
    for manifest in manifests:
        pathways = re.search(r"^# pathways: (.+)$", manifest.read_text(), re.MULTILINE)
        if pathways is None:
            sys.exit(f'golden: {manifest.name} has no "# pathways:" line')
        for pathway in pathways[1].split():
            record = manifest.with_suffix(f".{pathway}.yaml")
            seen.add(record)
            got = render(binary, manifest, pathway)
            if regenerate:
                record.write_text(got)
                continue
            wanted = record.read_text() if record.exists() else ""
            if got == wanted:
                continue
            wrong += 1
            diff = list(difflib.unified_diff(wanted.splitlines(), got.splitlines(), record.name, "rendered", lineterm="", n=6))
            print("\n".join(diff[:MAX_DIFF_LINES]))
            if len(diff) > MAX_DIFF_LINES:
                print(f"... and {len(diff) - MAX_DIFF_LINES} more lines")
    for record in sorted(recorded - seen):
        if regenerate:
            record.unlink()
        else:
            wrong += 1
            print(f"{record.name} has no manifest")
    print(f"golden: {len(seen)} renderings of {len(manifests)} manifests, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
