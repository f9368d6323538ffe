"""Objects for differential.py: generated from the schemas, and written by hand.

Every case is a dict: name (unique), kind, version, object; status=True when it is a write of the status
subresource; strict=True when unknown members must be refused; old for an update.
"""
import copy
import itertools

# Pods are walked completely in the graph. Other kinds repeat the same types, so they are only walked to this depth.
PODS = {"extraPodSpec", "podTemplateSpec", "profilingJob", "autoscaling"}
POD_DEPTH = 2
UNLIMITED = 99
WRONG = {"string": 5, "integer": "five", "number": "five", "boolean": "true", "object": [], "array": {}}
TIMES = ["2026-01-02T03:04:05.123+01:00", "2026-01-02", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05z"]
PATTERN_TEXTS = ["1Gi", "0", "-1", "+.5e3", "", "1GB", "ten", " 1", "a_,:b", "A:", "x/y", "X/y", "-a", "a-"]


def is_quantity(node):
    return node.get("x-kubernetes-int-or-string")


def enum_of(node):
    for part in [node, *node.get("allOf", [])]:
        if "enum" in part:
            return part["enum"]
    return None


def sample(node):
    """A small valid value."""
    if is_quantity(node):
        return 1
    if enum_of(node):
        return enum_of(node)[0]
    kind = node.get("type")
    if kind == "object":
        value = {name: sample(node["properties"][name]) for name in node.get("required", [])}
        if node.get("x-kubernetes-embedded-resource"):
            value.update(apiVersion="v1", kind="Pod")
        return value
    if kind == "array":
        return []
    if kind == "string":
        if node.get("format") == "date-time":
            return "2026-01-02T03:04:05Z"
        return "Aa" if node.get("pattern") or node.get("minLength") else "a"
    if kind in ("integer", "number"):
        return max(1, node.get("minimum", 1))
    return True if kind == "boolean" else {}


def variants(node):
    """(label, value) of valid and invalid values for a node."""
    kind = node.get("type")
    yield "sample", sample(node)
    yield "null", None
    if is_quantity(node):
        yield from ((f"quantity {v!r}", v) for v in ["1Gi", "ten", "", -1, 1.5, 2.0, True, {}])
        return
    if kind in WRONG:
        yield "wrong type", WRONG[kind]
    for value in enum_of(node) or []:
        yield f"enum {value!r}", value
    if kind == "string":
        yield "empty", ""
        yield "odd text", "No Such Value"
        if "pattern" in node:
            yield from ((f"pattern {t!r}", t) for t in PATTERN_TEXTS)
        if "maxLength" in node:
            yield "longest", "a" * node["maxLength"]
            yield "too long", "a" * (node["maxLength"] + 1)
        if node.get("format") == "date-time":
            yield from ((f"time {text}", text) for text in TIMES)
    if kind in ("integer", "number"):
        for value in (0, -1, 1, 2, 2**31, 2**63 - 1, 1.5, 2.0, 1e19):
            yield f"number {value}", value
        if "minimum" in node:
            yield "minimum", node["minimum"]
            yield "below", node["minimum"] - 1
    if kind == "array":
        yield from array_variants(node)
    if kind == "object":
        yield "unknown member", {**sample(node), "noSuchMember": 1}
        if "additionalProperties" in node:
            inner = sample(node["additionalProperties"])
            yield "one value", {"a": inner}
            yield "null value", {"a": None}
            if "maxProperties" in node:
                yield "most", {f"k{i}": copy.deepcopy(inner) for i in range(node["maxProperties"])}
                yield "too many", {f"k{i}": copy.deepcopy(inner) for i in range(node["maxProperties"] + 1)}
        for name in node.get("required", []):
            value = sample(node)
            del value[name]
            yield f"without {name}", value
    if kind is None:
        yield "text", "x"
        yield "list", [1, None]


def array_variants(node):
    item = sample(node["items"])
    yield "one item", [item]
    yield "null item", [None]
    yield "wrong item", [WRONG.get(node["items"].get("type"), True)]
    yield "twins", [item, copy.deepcopy(item)]
    if node.get("x-kubernetes-list-type") == "map" and isinstance(item, dict):
        other = copy.deepcopy(item)
        key = node["x-kubernetes-list-map-keys"][0]
        other[key] = 2 if isinstance(item.get(key), int) else "other"
        yield "two keys", [item, other]
        yield "three twins", [item, other, copy.deepcopy(item), copy.deepcopy(other), copy.deepcopy(item)]
    if "maxItems" in node:
        yield "most items", [copy.deepcopy(item) for _ in range(node["maxItems"])]
        yield "too many items", [copy.deepcopy(item) for _ in range(node["maxItems"] + 1)]


def walk(node, steps, pod_depth, depth=UNLIMITED):
    """(steps, node) of every node below `node`; steps are ("field", name), ("key",) or ("item",)."""
    yield steps, node
    if depth == 0:
        return
    for name, child in node.get("properties", {}).items():
        below = min(depth - 1, pod_depth) if name in PODS else depth - 1
        yield from walk(child, steps + [("field", name)], pod_depth, below)
    if "additionalProperties" in node:
        yield from walk(node["additionalProperties"], steps + [("key",)], pod_depth, depth)
    if "items" in node:
        yield from walk(node["items"], steps + [("item",)], pod_depth, depth)


def place(root, steps, value):
    """A sample of `root` with `value` at `steps`."""
    if not steps:
        return value
    kind, *name = steps[0]
    if kind == "key":
        return {"a": place(root["additionalProperties"], steps[1:], value)}
    if kind == "item":
        return [place(root["items"], steps[1:], value)]
    out = sample(root)
    out[name[0]] = place(root["properties"][name[0]], steps[1:], value)
    return out


def path_of(steps):
    return "".join({"field": "." + (s[1] if len(s) > 1 else ""), "key": "{}", "item": "[]"}[s[0]]
                   for s in steps).lstrip(".")


def header(kind, version):
    metadata = {"name": "x", "namespace": "default"}
    return {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": metadata}


def systematic(crds):
    for kind, crd in sorted(crds.items()):
        for version in crd["spec"]["versions"]:
            root = version["schema"]["openAPIV3Schema"]
            for part in ("spec", "status"):
                if part in root["properties"]:
                    yield from part_cases(kind, version["name"], root, part)


def part_cases(kind, version, root, part):
    schema = root["properties"][part]
    seen = set()
    for steps, node in walk(schema, [], UNLIMITED if kind == "DynamoGraphDeployment" else POD_DEPTH):
        # Probes, selectors and containers occur many times, so each of their nodes is only used once.
        signature = repr(steps[-2:]) + repr(sorted(node.items()))
        if len(steps) > 5 and signature in seen:
            continue
        seen.add(signature)
        for label, value in variants(node):
            if not steps and value is None and part == "status":
                continue
            obj = header(kind, version)
            obj[part] = place(schema, steps, value)
            case = {"name": f"{kind}/{version} {part}.{path_of(steps)} {label}".replace(". ", " "),
                    "kind": kind, "version": version, "object": obj}
            if part == "status":
                obj["spec"] = sample(root["properties"]["spec"])
                case["status"] = True
            yield case
            if label == "unknown member":
                yield {**case, "name": case["name"] + " strict", "strict": True}


def by_hand():
    def dgd(name, **spec):
        return {"name": "hand: " + name, "kind": "DynamoGraphDeployment", "version": "v1alpha1",
                "object": {**header("DynamoGraphDeployment", "v1alpha1"), "spec": spec}}

    def service(name, **fields):
        return dgd(name, services={"a": fields})

    claim = {"name": "c", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "m"}
    for count in range(4):
        for names in itertools.combinations(["size", "storageClass", "volumeAccessMode"], count):
            for create in (True, False, None):
                pvc = {k: v for k, v in claim.items() if k not in names}
                pvc["create"] = create
                yield dgd(f"claim create={create} without {names}", pvcs=[pvc])
    yield dgd("claim with empty storage class", pvcs=[{**claim, "storageClass": ""}])
    yield dgd("claim with null size", pvcs=[{**claim, "size": None}])
    identity = {"model": "m", "backendFramework": "vllm"}
    identities = [None, {}, identity, {"model": "m"}, {**identity, "model": ""}]
    for enabled, ref, ident in itertools.product([True, False, None], [None, "", "x"], identities):
        checkpoint = {"enabled": enabled, "checkpointRef": ref, "identity": ident}
        yield service(f"checkpoint {checkpoint}", checkpoint=checkpoint)
    ports = [[{"containerPort": 80}, {"containerPort": 80}],
             [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}],
             [{"containerPort": 80}, {"containerPort": 80, "protocol": None}],
             [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
             [{"containerPort": 80}, {"containerPort": 81}]]
    for i, value in enumerate(ports):
        yield service(f"ports {i}", extraPodSpec={"mainContainer": {"ports": value}})
    yield service("containers without name", extraPodSpec={"containers": [{"image": "x"}]})
    yield service("extraPodSpec without containers", extraPodSpec={"tolerations": [{"key": "a"}]})
    yield service("containers null", extraPodSpec={"containers": None})
    yield dgd("services null", services=None)
    yield dgd("service null", services={"a": None})
    yield dgd("old seed field", services={"a": {}}, dynamoGraph="x")
    yield from metadata_cases()
    yield from embedded_objects()
    yield from template_metadata()


def metadata_cases():
    kinds = (("DynamoGraphDeployment", "v1alpha1"), ("DynamoModel", "v1alpha1"),
             ("DynamoCheckpoint", "v1alpha1"), ("DynamoGraphDeploymentRequest", "v1beta1"))
    variants_of_metadata = {
        "no name": {}, "generateName": {"generateName": "g-"},
        "null time": {"name": "x", "creationTimestamp": None},
        "number as label": {"name": "x", "labels": {"a": 1}},
        "null label": {"name": "x", "labels": {"a": None}},
        "labels as list": {"name": "x", "labels": []}, "number as name": {"name": 5}}
    for kind, version in kinds:
        case = {"kind": kind, "version": version}
        full = {**header(kind, version), "spec": minimal_spec(kind)}
        yield {**case, "name": f"hand: {kind} without spec", "object": header(kind, version)}
        for label, metadata in variants_of_metadata.items():
            yield {**case, "name": f"hand: {kind} metadata {label}", "object": {**full, "metadata": metadata}}
        yield {**case, "name": f"hand: {kind} unknown metadata", "strict": True,
               "object": {**full, "metadata": {"name": "x", "label": {}}}}


def embedded_objects():
    for label, value in {
            "empty": {}, "no kind": {"apiVersion": "v1"}, "full": {"apiVersion": "v1", "kind": "P"},
            "empty kind": {"apiVersion": "v1", "kind": ""}, "bad kind": {"apiVersion": "v1", "kind": "-"},
            "digit kind": {"apiVersion": "v1", "kind": "9a"}, "long": {"apiVersion": "v1", "kind": "a" * 64},
            "slashes": {"apiVersion": "a/b/c", "kind": "P"}, "number": {"apiVersion": 1, "kind": "P"},
            "null": {"apiVersion": None, "kind": "P"}, "slash": {"apiVersion": "/", "kind": "P"},
            "null metadata": {"apiVersion": "v1", "kind": "P", "metadata": None},
            "list metadata": {"apiVersion": "v1", "kind": "P", "metadata": []},
            "label": {"apiVersion": "v1", "kind": "P", "metadata": {"labels": {"a": 1}}},
            "extra": {"apiVersion": "v1", "kind": "P", "any": None, "spec": {"x": [None]}}}.items():
        spec = {"model": "m", "overrides": {"dgd": value}}
        kind, version = "DynamoGraphDeploymentRequest", "v1beta1"
        yield {"name": f"hand: overrides.dgd {label}", "kind": kind, "version": version,
               "object": {**header(kind, version), "spec": spec}}


def template_metadata():
    """Labels of pod templates, which our CRDs keep and the reference drops (ctl-Q33). Both accept them."""
    spec = minimal_spec("DynamoCheckpoint")
    spec["job"]["podTemplateSpec"] = {"metadata": {"labels": {"a": "b"}}}
    for strict in (False, True):
        kind, version = "DynamoCheckpoint", "v1alpha1"
        yield {"name": f"hand: template labels strict={strict}", "kind": kind, "version": version,
               "strict": strict, "object": {**header(kind, version), "spec": spec}}


def minimal_spec(kind):
    return {"DynamoGraphDeployment": {"services": {"a": {}}},
            "DynamoModel": {"modelName": "m", "baseModelName": "m"},
            "DynamoCheckpoint": {"identity": {"model": "m", "backendFramework": "vllm"},
                                 "job": {"podTemplateSpec": {}}},
            "DynamoGraphDeploymentRequest": {"model": "m"}}[kind]


def transitions():
    """Updates of a stored checkpoint: (label, change of its spec)."""
    def change(label, function):
        spec = minimal_spec("DynamoCheckpoint")
        function(spec)
        return {"name": f"update: {label}", "kind": "DynamoCheckpoint", "version": "v1alpha1",
                "object": {**header("DynamoCheckpoint", "v1alpha1"), "spec": spec}, "update": True}

    yield change("nothing", lambda s: None)
    yield change("job", lambda s: s["job"].update(backoffLimit=9))
    yield change("default written out", lambda s: s["identity"].update(tensorParallelSize=1))
    yield change("null member", lambda s: s["identity"].update(dtype=None))
    yield change("dtype", lambda s: s["identity"].update(dtype="fp8"))
    yield change("model", lambda s: s["identity"].update(model="n"))
    yield change("tensorParallelSize", lambda s: s["identity"].update(tensorParallelSize=2))
    yield change("extraParameters", lambda s: s["identity"].update(extraParameters={"a": "b"}))
    yield change("identity gone", lambda s: s.pop("identity"))
    case = change("spec gone", lambda s: None)
    case["object"].pop("spec")
    yield case
