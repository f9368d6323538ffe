"""What deploy/kustomize builds, and its generator."""

import importlib.machinery
import importlib.util
import os
from pathlib import Path

import yaml

import render

ROOT = Path(__file__).resolve().parents[2]
KUSTOMIZE = ROOT / "deploy/kustomize"


def generator():
    """The module of deploy/kustomize/generate."""
    loader = importlib.machinery.SourceFileLoader("kustomize_generate", str(KUSTOMIZE / "generate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def key(item):
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def built(cluster, folder):
    """The objects of a folder by kind, namespace and name."""
    found = [item for item in yaml.load_all(cluster.kubectl("kustomize", folder).stdout, Loader=render.LOADER) if item]
    return {key(item): item for item in found}


def overlay(folder, base, components, **more):
    """Writes an overlay of deploy/kustomize into `folder`, which must exist, and returns the folder."""
    paths = [os.path.relpath(KUSTOMIZE / path, folder.resolve()) for path in (base, *components)]
    body = {"resources": paths[:1], "components": paths[1:], **more}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    return folder
