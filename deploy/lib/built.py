"""The programs of build/release. DYNAMO_WEBHOOK, DYNAMO_CONTROLLER and DYNAMO_PLUGIN name other builds of them."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build/release/bin"
WEBHOOK = Path(os.environ.get("DYNAMO_WEBHOOK") or BIN / "dynamo-webhook")
CONTROLLER = Path(os.environ.get("DYNAMO_CONTROLLER") or BIN / "dynamo-controller")
PLUGIN = Path(os.environ.get("DYNAMO_PLUGIN") or BIN / "kubectl-dynamo")
