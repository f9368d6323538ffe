"""What deploy/README.md refers to: commands, values, settings, files, messages. Pure functions over its text."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
GUIDE = DEPLOY / "README.md"
# What stands for something of the reader, and what a test puts in its place.
PLACEHOLDERS = {
    "REGISTRY": "registry.example.com", "TAG": "1.2.3", "RELEASE": "mine", "NAMESPACE": "inference", "PASSWORD": "secret", "BASE64": "QUJD",
}  # fmt: skip
# Flags that `helm upgrade` has and `helm template` lacks, or that need a cluster. None has an argument.
OF_A_CLUSTER = ("--install", "--create-namespace", "--reset-then-reuse-values", "--reuse-values", "--no-hooks")
WORD = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
VALUE = re.compile(r"[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)+(?:\[\d+\])?")
# Words with dots that are no values: names of Kubernetes, fields of objects, files.
OTHER_WORDS = re.compile(r".*\.(?:yaml|md|py|crt|key|svc|com|io|txt|json)$|(?:spec|metadata|extraPodSpec|kubernetes)\..*|.*nvidia\.com.*")


def text():
    return GUIDE.read_text(encoding="utf-8")


def section(title):
    """The text below a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text(), re.M | re.S)
    if found is None:
        raise LookupError(title)
    return found[1]


def commands(of):
    """The commands in indented blocks, with continued lines joined."""
    block = "\n".join(line for line in of.splitlines() if line.startswith("    "))
    lines = [line.strip() for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    return [line for line in lines if not line.startswith("#")]


def filled(command):
    """The command with examples in the places that the reader fills."""
    return re.sub(r"\b(?:" + "|".join(PLACEHOLDERS) + r")\b", lambda found: PLACEHOLDERS[found[0]], command)


def renderings(of):
    """(command, arguments) of each command that renders one of the charts: `helm template`, and `helm upgrade` as a template."""
    found = []
    for command in commands(of):
        words = shlex.split(filled(command.split("|")[0].split(">")[0]), comments=True)
        if words[:2] in (["helm", "template"], ["helm", "upgrade"]):
            found.append((command, [word for word in words[2:] if word not in OF_A_CLUSTER]))
    return found


def settings_of(of):
    """Words in backticks, and keys of --set, that look like values of a chart or settings of the configuration file."""
    found = set()
    for word in WORD.findall(of):
        name = re.split(r"[=:]", word)[0]
        if VALUE.fullmatch(name) and not OTHER_WORDS.fullmatch(name):
            found.add(name)
    for _, arguments in renderings(of):
        found |= {after.split("=")[0] for flag, after in zip(arguments, arguments[1:]) if flag == "--set"}
    return found


def known(values, path):
    """Whether a path is one of the default values, or below a map or list without members, whose keys are the user's."""
    for name in re.sub(r"\[\d+\]", "", path).split("."):
        if values in ({}, []):
            return True
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True


def anchors(of):
    """The anchors of the headings of a page."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", of, re.M)}


def links(of):
    """(path, anchor) of each link, both may be empty."""
    return LINK.findall(of)


def paths(of):
    """Words that name files of this repository, from its top or from deploy/. They may have wildcards."""
    words = set(WORD.findall(of)) | {word.strip("'\"") for command in commands(of) for word in command.split()}
    tops = {path.name for path in (*ROOT.iterdir(), *DEPLOY.iterdir()) if path.is_dir()}
    return {word for word in words if "/" in word and re.fullmatch(r"[\w.*/-]+", word) and word.split("/")[0] in tops}


def exists(path):
    """Whether the repository has the path, or a command of it makes it."""
    return path.startswith("build/") or any(next(top.glob(path.rstrip("/")), None) is not None for top in (ROOT, DEPLOY))


def symptoms():
    """Messages in backticks in the first column of the table of symptoms."""
    rows = [line.split("|")[1] for line in section("Troubleshooting").splitlines() if line.startswith("| ") and not line.startswith("| **Log")]
    return [message for row in rows for message in WORD.findall(row)]


def parts(message):
    """The fixed parts of a message."""
    return [part.strip() for part in message.split("…") if len(part.strip(" .")) > 2]


def words_of_the_programs():
    """All texts of the sources and of the controller's guide, with string literals that go over lines joined."""
    found = []
    for folder in ("common", "controller", "webhook", "certs"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".h"):
                found.append(re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8")))
    found.append((ROOT / "controller/README.md").read_text(encoding="utf-8"))
    found += [path.read_text(encoding="utf-8") for path in sorted((DEPLOY / "helm").rglob("*.tpl"))]
    return "\n".join(found)
