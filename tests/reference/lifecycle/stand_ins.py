"""The pods behind the EndpointSlices of a scenario with LoRA endpoints. The recorded scenarios have slices without pods,
and our operator asks only pods of graphs (decision ctl-Q80)."""

OWNER = "stand-in"
POD = {"schedulingGates": [{"name": "lifecycle.test/stand-in"}], "containers": [{"name": "main", "image": "img:1"}]}


def is_stand_in(item):
    """Whether the object, or what an Event is about, belongs to the stand-ins. Recordings do not have them."""
    if any(owner["name"] == OWNER for owner in item["metadata"].get("ownerReferences") or []):
        return True
    name = (item.get("involvedObject") or item["metadata"]).get("name", "")
    return name.split(".")[0].startswith(OWNER)


def component():
    """What the pods belong to: a component without pods of its own."""
    main = {"image": "img:1", "command": ["python3"], "args": ["-m", "dynamo.vllm"]}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoComponentDeployment",
        "metadata": {"name": OWNER},
        "spec": {
            "backendFramework": "vllm",
            "componentType": "worker",
            "serviceName": OWNER,
            "replicas": 0,
            "extraPodSpec": {"mainContainer": main},
        },
    }


def pods_of(endpoint_slice, owner):
    """(pod, status) for each endpoint with a pod. `owner`: the metadata of the component."""
    reference = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoComponentDeployment",
        "name": owner["name"],
        "uid": owner["uid"],
        "controller": True,
    }
    for endpoint in endpoint_slice["endpoints"]:
        address, target = endpoint["addresses"][0], endpoint.get("targetRef") or {}
        if target.get("kind") == "Pod":
            metadata = {"name": target["name"], "ownerReferences": [reference]}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": POD}
            yield pod, {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
