"""The errors in the reference's command lines for multinode services, and the corrected command lines.

The rules are implemented here independently of the renderer, so that the renderer is not compared with itself.
"""

import itertools
import re

FRAMEWORKS = ("vllm", "sglang", "trtllm")
SIZES = ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size")
SHORT_SIZES = ("-tp", "-pp", "-dp")
RAY = "--distributed-executor-backend ray"
# The flags that an operator adds for several nodes.
ADDED = re.compile(
    r"--distributed-executor-backend mp --nnodes .*?--master-port \d+(?: --node-rank (?:\$\(\(.*?\)\)|\S+))?(?: --headless)?"
    r"|--data-parallel-hybrid-lb .*?--data-parallel-rpc-port \d+"
    r"|--dist-init-addr \S+ --nnodes \d+ --node-rank (?:\$\(\(.*?\)\)|\S+)"
)
REFERENCE = r"\$\([A-Za-z_][-A-Za-z0-9_.]*\)"  # expanded by the kubelet


def _items(container):
    return [item for key in ("command", "args") for item in container.get(key) or []]


def reference_quote(text):
    """Quotes an argument for a shell like the reference."""
    if not re.search(r"[ \t\n'\"\\{}\[\]$`!]", text):
        return text
    for char in '\\"$`':
        text = text.replace(char, "\\" + char)
    return '"' + text.replace("'", "'\"'\"'") + '"'


def shell_quote(text, inside_single_quotes=False):
    """Quotes an argument correctly: metacharacters are quoted, references for the kubelet stay, quotes are balanced."""
    if re.fullmatch(REFERENCE, text) or not re.search(r"[ \t\n'\"\\{}\[\]$`!;&|<>()*?~#]", text):
        return text

    def escaped(part):
        part = re.sub(r'([\\"$`])', r"\\\1", part)
        return part.replace("'", "'\"'\"'") if inside_single_quotes else part

    parts = re.split(f"({REFERENCE})", text)
    return '"' + "".join(part if i % 2 else escaped(part) for i, part in enumerate(parts)) + '"'


def _requoted(text, container):
    """Quotes each argument of the user correctly."""
    single = "bash -c '" in text
    for key in ("command", "args"):
        items = container.get(key) or []
        wrong, right = (
            " ".join(quote(item) for item in items) for quote in (reference_quote, lambda i: shell_quote(i, single))
        )
        if items and wrong != right:
            text = text.replace(wrong, right, 1)
    if single:  # a shell's text in quotes, which stays unchanged
        for item in container.get("args") or []:
            if "'" in item:
                text = text.replace(item, item.replace("'", "'\"'\"'"))
    return text


def _with_leaders_address(text, _):
    """No shell reads these arguments, so only the kubelet's form is expanded."""
    return text.replace("$LWS_LEADER_ADDRESS", "$(LWS_LEADER_ADDRESS)")


def _with_rank(text, _):
    """The kubelet would expand `$((` up to the first `)`, so the arithmetic must have the shell's variable."""
    return re.sub(r"\$\(\( (\d+) \* \$\(LWS_WORKER_INDEX\) \)\)", r"$(( \1 * LWS_WORKER_INDEX ))", text)


def _with_flags_at_module(text, _):
    """The flags must follow `-m dynamo.<framework>`, once per segment."""
    found = ADDED.search(text)
    if not found:
        return text
    flags = found[0]
    bare = text.replace(f" {flags}", "")
    module = r"(python[0-9.]*\s[^|&;]*?-m\s+dynamo\.(?:vllm|sglang)[^\s|&;]*)"
    return re.sub(module, lambda match: f"{match[1]} {flags}", bare)


def _with_ray_inside(text, container):
    """The flag for Ray must be in the text that a shell runs, not after it."""
    if not text.startswith("ray start") or not text.endswith(RAY):
        return text
    start = text.partition("&& ")[0] + "&& "
    module = r"(python[0-9.]*\s[^|&;]*?-m\s+dynamo\.vllm[^\s|&;]*)"
    lists = {key: list(container.get(key) or []) for key in ("command", "args")}
    for items in lists.values():
        for i, item in enumerate(items):
            changed = re.sub(module, lambda match: f"{match[1]} {RAY}", item)
            if changed != item:
                items[i] = changed
                return start + " ".join(" ".join(shell_quote(item) for item in items) for items in lists.values())
    return text


def corrections(text, container, is_leader_worker_set):
    """All forms of a command line after one or several corrections."""
    known = [_requoted, _with_flags_at_module, _with_ray_inside]
    if is_leader_worker_set:
        known += [_with_leaders_address, _with_rank]
    forms = set()
    for count in range(1, len(known) + 1):
        for chosen in itertools.combinations(known, count):
            form = text
            for correct in chosen:
                form = correct(form, container)
            forms.add(form)
    return forms - {text}


def has_other_sizes(container):
    """Whether a parallel size is in a notation that the reference does not read: `--flag=value`, a short form, or in
    the command."""
    words = " ".join(_items(container)).split()
    for word in words:
        name, equals, _ = word.partition("=")
        if name in SHORT_SIZES or (name in SIZES and equals):
            return True
    return any(flag in " ".join(container.get("command") or []).split() for flag in SIZES)


def stripped(container):
    """The words of a container's command line without multinode flags and without a wrapping shell."""
    if not isinstance(container, dict):
        return None
    text = " ".join(_items(container))
    text = ADDED.sub("", text).replace(RAY, "")
    text = re.sub(r"^(?:(?:/bin/)?sh -c )?(?:ray start --head --port=\d+ && )?(?:(?:/bin/)?sh -c )?(?:exec )?", "", text)
    return re.sub(r"\s+", " ", text.replace('"', "").replace("\\", "")).strip()


def is_ray_worker(container):
    """Whether a container only joins the leader's Ray cluster instead of running the user's command."""
    return bool(re.fullmatch(r"/bin/sh -c ray start --address=\S+:6379 --block", " ".join(_items(container))))
