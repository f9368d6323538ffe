"""Tests of each condition of deviations.txt, with positive and negative cases."""

import inspect
import unittest

import conditions
from context import Context
from deviations import met, parsed_line
from differences import ABSENT, Difference, parsed
from folding import recording

TWO_HANDLERS = 'Deployment.apps "g-w" is invalid: spec.template.spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type'
LOST = 'Deployment.apps "g-w" is invalid: spec.template.spec.containers[0].volumeMounts[0].name: Not found: "epp-config"'
TWICE = 'PodCliqueSet.grove.io "g" is invalid: spec.template.cliques[0].spec.podSpec.containers[0].env[3]: Duplicate value: {"name":"A"}'
VOLUME_TWICE = 'Deployment.apps "g-w" is invalid: spec.template.spec.volumes[1].name: Duplicate value: "shared-memory"'
LEADER = "spec.leaderWorkerTemplate.leaderTemplate.spec.containers[main]"
WORKER = "spec.leaderWorkerTemplate.workerTemplate.spec"
MAIN = "spec.template.spec.containers[main]"
VLLM = {"command": ["python3"], "args": ["-m", "dynamo.vllm", "--tensor-parallel-size=16"]}
FLAGS = "--distributed-executor-backend mp --nnodes 2 --master-addr L --master-port 29500 --node-rank 0"
MODEL = "dynamo-model-fb68f5a6"  # Qwen/Qwen3-0.6B
GRAPH_OWNS = {"kind": "DynamoGraphDeployment", "name": "g", "blockOwnerDeletion": True, "controller": True}
DISCOVERY = {"nvidia.com/dynamo-discovery-backend": "etcd"}


def pod(**main):
    return {"extraPodSpec": {"mainContainer": main}}


def row(condition, holds, service=None, found=("Deployment", "g-w", "-"), theirs=ABSENT, ours=ABSENT, **more):
    return condition, holds, service or {}, found, theirs, ours, more


def multinode(**service):
    return {"componentType": "worker", "multinode": {"nodeCount": 2}, **service}


def label(key, kind="Deployment"):
    return kind, "g-w", f"metadata.labels[{key}]"


def dumped(name, args, command=("python3",)):
    """A LeaderWorkerSet whose leader and workers have these args."""
    template = {"spec": {"containers": [{"name": "main", "command": list(command), "args": args}]}}
    spec = {"leaderWorkerTemplate": {"leaderTemplate": template, "workerTemplate": template}}
    owners = [{"kind": "DynamoComponentDeployment", "name": "g-w"}]
    return {"kind": "LeaderWorkerSet", "metadata": {"name": name, "ownerReferences": owners}, "spec": spec}


def mounting(secret):
    """A Deployment whose pods mount the Secret."""
    pod_spec = {"containers": [], "volumes": [{"name": "v", "secret": {"secretName": secret}}]}
    owners = [{"kind": "DynamoComponentDeployment", "name": "g-w"}]
    spec = {"template": {"spec": pod_spec}}
    return {"kind": "Deployment", "metadata": {"name": "g-w", "ownerReferences": owners}, "spec": spec}


def sized(args):
    """The user's args with multinode flags on our side and without them on theirs."""
    return {"their_objects": [dumped("g-w-0", args)], "our_objects": [dumped("g-w-0", [*args, *FLAGS.split()])]}


GANG = ("PodCliqueSet", "g", "spec.template.cliques[w-wkr].spec.minAvailable")
LEADERS = ("PodCliqueSet", "g", "spec.template.cliques[w-ldr].spec.minAvailable")
PICKER = ("Deployment", "g-w", f"{MAIN}.env[DYN_NAMESPACE].value")
PROBE = f"{MAIN}.livenessProbe"
EXEC = pod(livenessProbe={"exec": {"command": ["true"]}})
HTTP = pod(livenessProbe={"httpGet": {"port": 9090}})
ROWS = [
    row("label_of_the_service", True, {"labels": {"a": "b"}}, label("a"), ours="b"),
    row("label_of_the_service", False, {"labels": {"a": "b"}}, label("a"), ours="c"),
    row("label_of_the_service", False, {}, label("a"), ours="b"),
    row("operators_label_set_by_user", True, {"labels": {"nvidia.com/x": "u"}}, label("nvidia.com/x"), "u", "o"),
    row("operators_label_set_by_user", False, {"labels": {"nvidia.com/y": "u"}}, label("nvidia.com/x"), "u", "o"),
    row("metadata_of_the_ingress", True, {"ingress": {"labels": {"a": "b"}}}, label("a", "Ingress"), ours="b"),
    row("metadata_of_the_ingress", False, {"ingress": {"annotations": {"a": "b"}}}, label("a", "Ingress"), ours="b"),
    row("metrics_by_service", True, {"annotations": {"nvidia.com/enable-metrics": "false"}}, label("x"), "true"),
    row("metrics_by_service", False, {}, label("x"), "true"),
    row("refused_by_grove", True, multinode(replicas=0), ("admission", "", "-"), "admitted", "denied spec.services[w].replicas"),
    row("refused_by_grove", False, multinode(replicas=1), ("admission", "", "-"), "admitted", "denied spec.services[w].replicas"),
    row("refused_by_grove", False, {"replicas": 0}, ("admission", "", "-"), "admitted", "denied spec.services[w].replicas"),
    row("refused_by_grove", False, {"extraPodSpec": {"schedulerName": "x"}}, ("admission", "", "-"), "admitted",
        "denied spec.services[w].extraPodSpec.schedulerName"),
    row("picker_of_a_generation", True, {"componentType": "epp"}, PICKER, "n-g", "n-g-0123abcd"),
    row("picker_of_a_generation", False, {"componentType": "epp"}, PICKER, "n-g", "n-h-0123abcd"),
    row("picker_of_a_generation", False, {"componentType": "frontend"}, PICKER, "n-g", "n-g-0123abcd"),
    row("workers_of_a_gang", True, {"multinode": {"nodeCount": 4}}, GANG, 1, 3),
    row("workers_of_a_gang", False, {"multinode": {"nodeCount": 4}}, GANG, 1, 2),
    row("workers_of_a_gang", False, {"multinode": {"nodeCount": 4}}, LEADERS, 1, 3),
    row("with_checkpoint", True, {"checkpoint": {"enabled": True}}),
    row("with_checkpoint", False, {"checkpoint": {"enabled": False}}),
    row("checkpoint_job", True, {"checkpoint": {"enabled": True}}),
    row("checkpoint_job", False),
    row("another_handler_given", True, EXEC, ("Deployment", "g-w", f"{PROBE}.httpGet"), {"path": "/live"}),
    row("another_handler_given", False, EXEC, ("Deployment", "g-w", f"{PROBE}.exec"), {"command": ["true"]}),
    row("another_handler_given", False, {}, ("Deployment", "g-w", f"{PROBE}.httpGet"), {"path": "/live"}),
    row("handler_given", True, HTTP, ("Deployment", "g-w", f"{PROBE}.httpGet.port"), "system", 9090),
    row("handler_given", True, HTTP, ("Deployment", "g-w", f"{PROBE}.httpGet.path"), "/live"),
    row("handler_given", False, HTTP, ("Deployment", "g-w", f"{PROBE}.httpGet.port"), "system", 8080),
    row("handler_given", False, EXEC, ("Deployment", "g-w", f"{PROBE}.httpGet.port"), "system", 9090),
    row("zero_given", True, pod(livenessProbe={"failureThreshold": 0}), ("Deployment", "g-w", f"{PROBE}.failureThreshold"), 15, 3),
    row("zero_given", False, pod(livenessProbe={"failureThreshold": 1}), ("Deployment", "g-w", f"{PROBE}.failureThreshold"), 15, 3),
    row("zero_given", True, {"extraPodSpec": {"terminationGracePeriodSeconds": 0}},
        ("Deployment", "g-w", "spec.template.spec.terminationGracePeriodSeconds"), 60, 0),
    row("zero_given", False, {}, ("Deployment", "g-w", "spec.template.spec.terminationGracePeriodSeconds"), 60, 0),
    row("rejected_for_two_handlers", True, failures={"g-w": TWO_HANDLERS}),
    row("rejected_for_two_handlers", False, failures={"g-other": TWO_HANDLERS}),
    row("every_component_failed", True, {"modelRef": {"name": "Qwen/Qwen3-0.6B"}}, ("Service", MODEL, "-"), failures={"g-w": TWO_HANDLERS}),
    row("every_component_failed", False, {"modelRef": {"name": "Qwen/Qwen3-0.6B"}}, ("Service", MODEL, "-")),
    row("every_component_failed", False, {"modelRef": {"name": "other"}}, ("Service", MODEL, "-"), failures={"g-w": TWO_HANDLERS}),
    row("variables_deduplicated", True, theirs=[{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}],
        ours=[{"name": "A", "value": "1"}, {"name": "B"}]),
    row("variables_deduplicated", False, theirs=[{"name": "A", "value": "1"}, {"name": "A"}], ours=[{"name": "A", "value": "3"}]),
    row("variables_deduplicated", False, theirs=[{"name": "A"}, {"name": "A"}, {"name": "B"}], ours=[{"name": "A"}]),
    row("variables_deduplicated", False, theirs=[{"name": "A"}, {"name": "B"}], ours=[{"name": "A"}]),
    row("rejected_for_duplicate_variable", True, failures={"g": TWICE}),
    row("rejected_for_duplicate_variable", False, failures={"g": TWO_HANDLERS}),
    row("cache_at_default_path", True, {"volumeMounts": [{"name": "c", "useAsCompilationCache": True}]},
        ("Deployment", "g-w", f"{MAIN}.env[VLLM_CACHE_ROOT]"), ours={"name": "VLLM_CACHE_ROOT", "value": "/root/.cache/vllm"}),
    row("cache_at_default_path", False, {"volumeMounts": [{"name": "c", "useAsCompilationCache": True, "mountPoint": "/c"}]},
        ("Deployment", "g-w", f"{MAIN}.env[VLLM_CACHE_ROOT]"), ours={"name": "VLLM_CACHE_ROOT", "value": "/root/.cache/vllm"}),
    row("variable_of_the_graph", True, {"envs": [{"name": "A", "value": "1"}]}, ours={"name": "A", "value": "1"}),
    row("variable_of_the_graph", False, {"envs": [{"name": "A", "value": "1"}]}, ours={"name": "A", "value": "2"}),
    row("duplicate_variable", True, {"checkpoint": {"enabled": True}}, theirs=[{"name": "A"}, {"name": "A"}], ours=[{"name": "A"}]),
    row("duplicate_variable", False, theirs=[{"name": "A"}, {"name": "A"}], ours=[{"name": "A"}]),
    row("only_requests_gpu", True, {"resources": {"requests": {"gpu": "2"}}}, ("Deployment", "g-w", f"{MAIN}.resources.limits[nvidia.com/gpu]"), ours="2"),
    row("only_requests_gpu", False, {"resources": {"requests": {"gpu": "2"}, "limits": {"gpu": "1"}}},
        ("Deployment", "g-w", f"{MAIN}.resources.limits[nvidia.com/gpu]"), ours="2"),
    row("only_requests_gpu", False, {"resources": {"requests": {"gpu": "2"}}}, ("Deployment", "g-w", f"{MAIN}.resources.limits[nvidia.com/gpu]"), ours="3"),
    row("no_gpu_limit", True, multinode(), failures={"g-w": "failed to sync the LeaderWorkerSet: gpu"}),
    row("no_gpu_limit", False, multinode(resources={"limits": {"gpu": "1"}}), failures={"g-w": "failed to sync the LeaderWorkerSet: gpu"}),
    row("main_container_renamed", True, pod(name="engine")),
    row("main_container_renamed", False, pod(name="main")),
    row("epp_with_own_volumes", True, {"componentType": "epp", "extraPodSpec": {"volumes": [{"name": "a"}]}},
        ("Deployment", "g-w", "spec.template.spec.volumes[epp-config]"), ours={}),
    row("epp_with_own_volumes", False, {"componentType": "epp"}, ("Deployment", "g-w", "spec.template.spec.volumes[epp-config]"), ours={}),
    row("epp_with_own_volumes", False, {"extraPodSpec": {"volumes": [{"name": "a"}]}}, ("Deployment", "g-w", "spec.template.spec.volumes[epp-config]"), ours={}),
    row("epp_with_own_mounts", True, {"componentType": "epp", **pod(volumeMounts=[{"name": "a"}])}, ("Deployment", "g-w", f"{MAIN}.volumeMounts[hf-cache]"), ours={}),
    row("epp_with_own_mounts", False, {"componentType": "epp"}, ("Deployment", "g-w", f"{MAIN}.volumeMounts[hf-cache]"), ours={}),
    row("rejected_for_missing_volume", True, failures={"g-w": LOST}),
    row("rejected_for_missing_volume", False, failures={"g-w": LOST.replace("epp-config", "scratch")}),
    row("duplicates_left_out", True, {}, ("Deployment", "g-w", "spec.template.spec.volumes"), [{"name": "a"}, {"name": "a", "x": 1}], [{"name": "a", "x": 1}]),
    row("duplicates_left_out", False, {}, ("Deployment", "g-w", "spec.template.spec.volumes"), [{"name": "a"}, {"name": "b"}], [{"name": "a"}]),
    row("duplicates_left_out", False, {}, ("Deployment", "g-w", "spec.template.spec.volumes"), [{"name": "a"}, {"name": "a"}, {"name": "b"}], [{"name": "a"}]),
    row("own_shared_memory", True, pod(volumeMounts=[{"name": "a", "mountPath": "/dev/shm"}])),
    row("own_shared_memory", False, pod(volumeMounts=[{"name": "a", "mountPath": "/data"}])),
    row("rejected_for_duplicates", True, failures={"g-w": VOLUME_TWICE}),
    row("rejected_for_duplicates", False, failures={"g-w": TWO_HANDLERS}),
    row("own_account", True, {"extraPodSpec": {"serviceAccountName": "me"}}, theirs="planner-serviceaccount", ours="me"),
    row("own_account", False, {"extraPodSpec": {"serviceAccountName": "me"}}, theirs="planner-serviceaccount", ours="you"),
    row("own_account", False, {}, theirs="planner-serviceaccount", ours="you"),
    row("secret_not_mounted", True, {}, ("Secret", "key", "-"), {}, our_objects=[mounting("other")]),
    row("secret_not_mounted", False, {}, ("Secret", "key", "-"), {}, our_objects=[mounting("key")]),
    row("no_planner", True, {"componentType": "worker"}, ("ServiceAccount", "planner-serviceaccount", "-"), {}),
    row("no_planner", False, {"componentType": "planner"}, ("ServiceAccount", "planner-serviceaccount", "-"), {}),
    row("no_planner", False, {"componentType": "worker"}, ("ServiceAccount", "g-k8s-service-discovery", "-"), {}),
    row("discovery_by_service", True, {"annotations": DISCOVERY}, label("x")),
    row("discovery_by_service", False, {"annotations": DISCOVERY}, label("x"), annotations=DISCOVERY),
    row("discovery_by_service", False, {}, label("x"), annotations=DISCOVERY),
    row("discovery_by_service", True, {}, label("x"), annotations={"nvidia.com/dynamo-discovery-backend": "consul"}),
    row("discovery_by_any_service", True, {"annotations": DISCOVERY}, ("Role", "g-k8s-service-discovery-role", "-")),
    row("discovery_by_any_service", False, {"annotations": DISCOVERY}, ("Role", "planner", "-")),
    row("discovery_in_command", True, {"annotations": DISCOVERY}, theirs="a -x DYN_DISCOVERY_BACKEND -x B", ours="a -x B"),
    row("discovery_in_command", False, {"annotations": DISCOVERY}, theirs="a -x DYN_DISCOVERY_BACKEND -x B", ours="a -x C"),
    row("secret_of_a_registry", True, {}, ("Deployment", "g-w", "spec.template.spec.imagePullSecrets[found]"), ours={"name": "found"}),
    row("secret_of_a_registry", False, {"extraPodSpec": {"imagePullSecrets": [{"name": "mine"}]}},
        ("Deployment", "g-w", "spec.template.spec.imagePullSecrets[mine]"), theirs={"name": "mine"}),
    row("standalone_component", True, {"serviceName": "w"}, kind="DynamoComponentDeployment"),
    row("standalone_component", False),
    row("graph_owns_the_model", True, {}, ("Service", MODEL, "metadata.ownerReferences[g]"), ours=GRAPH_OWNS),
    row("graph_owns_the_model", False, {}, ("Service", MODEL, "metadata.ownerReferences[g]"), ours={**GRAPH_OWNS, "controller": False}),
    row("graph_owns_the_model", True, {"serviceName": "w"}, ("Service", MODEL, "metadata.ownerReferences[g]"), kind="DynamoComponentDeployment",
        ours={"kind": "DynamoComponentDeployment", "name": "g"}),
    row("graph_owns_the_model", False, {}, ("Service", MODEL, "metadata.ownerReferences[h]"), ours={**GRAPH_OWNS, "name": "h"}),
    row("graph_owns_the_model", True, {}, ("Service", MODEL, "metadata.ownerReferences[ANY]"), {"kind": "DynamoComponentDeployment", "name": "ANY"}),
    row("graph_owns_the_model", False, {}, ("Service", "g-w", "metadata.ownerReferences[ANY]"), {"kind": "DynamoComponentDeployment", "name": "ANY"}),
    row("epp_without_discovery", True, {"componentType": "epp"}, ("Service", "g-w", "-"), ours={}, annotations=DISCOVERY),
    row("epp_without_discovery", False, {"componentType": "epp"}, ("Service", "g-w", "-"), ours={}),
    row("not_a_frontend", True, {"componentType": "worker"}, ("Ingress", "g-w", "-"), {}),
    row("not_a_frontend", False, {"componentType": "frontend"}, ("Ingress", "g-w", "-"), {}),
    row("no_component_type", True, {}, ("Service", "g-w", "spec.selector[x]"), "y"),
    row("no_component_type", False, {"componentType": "worker"}, ("Service", "g-w", "spec.selector[x]"), "y"),
    row("service_name_with_dashes", True, {}, ("Ingress", "g.1-w", "spec"), "g.1-w", "g-1-w", graph="g.1"),
    row("service_name_with_dashes", False, {}, ("Ingress", "g.1-w", "spec"), "g.1-w", "other", graph="g.1"),
    row("dotted_graph", True, {}, ("Service", "g-1-w", "-"), ours={}, graph="g.1"),
    row("dotted_graph", False, {}, ("Service", "g-w", "-"), ours={}),
    row("replicas_beside_multinode", True, multinode(replicas=3), ("Deployment", "g-w", "spec.replicas"), 1, 3),
    row("replicas_beside_multinode", False, multinode(replicas=3), ("Deployment", "g-w", "spec.replicas"), 1, 4),
    row("replicas_beside_multinode", False, {"replicas": 3}, ("Deployment", "g-w", "spec.replicas"), 1, 3),
    row("worker_without_own_time", True, {"componentType": "decode"}, ("Deployment", "g-w", "spec.minReadySeconds"), ours=5),
    row("worker_without_own_time", False, {"componentType": "decode"}, ("Deployment", "g-w", "spec.minReadySeconds"), ours=6),
    row("worker_without_own_time", False, {"componentType": "frontend"}, ("Deployment", "g-w", "spec.minReadySeconds"), ours=5),
    row("worker_without_own_time", False,
        {"componentType": "worker", "annotations": {"nvidia.com/deployment-strategy": "Recreate"}},
        ("Deployment", "g-w", "spec.minReadySeconds"), ours=5),
    row("replica_of_multinode", True, multinode(replicas=3), ("PodGroup", "g-w-HASH-2", "-"), ours={}),
    row("replica_of_multinode", False, multinode(replicas=2), ("PodGroup", "g-w-HASH-2", "-"), ours={}),
    row("replica_of_multinode", False, {"replicas": 3}, ("PodGroup", "g-w-HASH-2", "-"), ours={}),
    row("command_corrected", True, multinode(), ("LeaderWorkerSet", "g-w-0", f"{LEADER}.args[3]"), "$LWS_LEADER_ADDRESS:29500", "$(LWS_LEADER_ADDRESS):29500"),
    row("command_corrected", False, multinode(), ("PodCliqueSet", "g", "spec.template.cliques[w-ldr].spec.podSpec.containers[main].args[3]"),
        "$LWS_LEADER_ADDRESS:29500", "$(LWS_LEADER_ADDRESS):29500"),
    row("command_corrected", True, multinode(), ("LeaderWorkerSet", "g-w-0", f"{WORKER}.containers[main].args[0]"),
        "x --rank $(( 2 * $(LWS_WORKER_INDEX) )) y", "x --rank $(( 2 * LWS_WORKER_INDEX )) y"),
    row("command_corrected", False, multinode(), ("LeaderWorkerSet", "g-w-0", f"{WORKER}.containers[main].args[0]"),
        "x --rank $(( 2 * $(LWS_WORKER_INDEX) )) y", "x --rank $(( 3 * LWS_WORKER_INDEX )) y"),
    row("command_corrected", True, multinode(**pod(command=["python3"], args=["-m", "dynamo.vllm", "it's"])), ("PodCliqueSet", "g",
        "spec.template.cliques[w-wkr].spec.podSpec.containers[main].args[0]"), "exec python3 -m dynamo.vllm \"it'\"'\"'s\" --x", "exec python3 -m dynamo.vllm \"it's\" --x"),
    row("command_corrected", True, multinode(**pod(command=["python3"], args=["-m", "dynamo.vllm", "$(A)b"])), ("PodCliqueSet", "g",
        "spec.template.cliques[w-wkr].spec.podSpec.containers[main].args[0]"), 'exec python3 -m dynamo.vllm "\\$(A)b" --x', 'exec python3 -m dynamo.vllm "$(A)b" --x'),
    row("command_corrected", True, multinode(**pod(command=["python3"], args=["-m", "dynamo.vllm", "a;b"])), ("PodCliqueSet", "g",
        "spec.template.cliques[w-wkr].spec.podSpec.containers[main].args[0]"), "exec python3 -m dynamo.vllm a;b --x", 'exec python3 -m dynamo.vllm "a;b" --x'),
    row("command_corrected", True, multinode(), ("PodCliqueSet", "g", "spec.template.cliques[w-ldr].spec.podSpec.containers[main].args[0]"),
        f"python3 -m dynamo.vllm --served-model-name my-vllm {FLAGS}", f"python3 -m dynamo.vllm {FLAGS} --served-model-name my-vllm"),
    row("command_corrected", True, multinode(**pod(command=["sh", "-c"], args=["python3 -m dynamo.vllm --x"])), ("PodCliqueSet", "g",
        "spec.template.cliques[w-ldr].spec.podSpec.containers[main].args[0]"),
        'ray start --head --port=6379 && sh -c "python3 -m dynamo.vllm --x" --distributed-executor-backend ray',
        'ray start --head --port=6379 && sh -c "python3 -m dynamo.vllm --distributed-executor-backend ray --x"'),
    row("command_corrected", True, multinode(**pod(command=["sh", "-c"], args=["python3 -m dynamo.trtllm --x 'y'"])), ("PodCliqueSet", "g",
        "spec.template.cliques[w-ldr].spec.podSpec.containers[main].args[0]"),
        "bash -c 'trtllm-llmapi-launch python3 -m dynamo.trtllm --x 'y''", "bash -c 'trtllm-llmapi-launch python3 -m dynamo.trtllm --x '\"'\"'y'\"'\"''"),
    row("command_corrected", False, multinode(), ("LeaderWorkerSet", "g-w-0", f"{LEADER}.args[0]"), "a", "b"),
    row("command_corrected", False, {}, ("LeaderWorkerSet", "g-w-0", f"{LEADER}.args[0]"), "$LWS_LEADER_ADDRESS", "$(LWS_LEADER_ADDRESS)"),
    row("sizes_in_other_notation", True, multinode(**pod(**VLLM)), ("LeaderWorkerSet", "g-w-0", f"{LEADER}.args"), **sized(VLLM["args"])),
    row("sizes_in_other_notation", False, multinode(**pod(**VLLM)), ("LeaderWorkerSet", "g-w-0", f"{LEADER}.args"), **sized(["other"])),
    row("sizes_in_other_notation", False, multinode(**pod(command=["python3"], args=["-m", "dynamo.vllm"])), ("LeaderWorkerSet", "g-w-0", f"{LEADER}.args"),
        **sized(["-m", "dynamo.vllm"])),
    row("sizes_in_other_notation", True, multinode(**pod(**VLLM)), ("LeaderWorkerSet", "g-w-0", f"{WORKER}.containers[main].args"),
        their_objects=[dumped("g-w-0", VLLM["args"])], our_objects=[dumped("g-w-0", ["ray start --address=$A:6379 --block"], ["/bin/sh", "-c"])]),
    row("sizes_in_other_notation", False, multinode(**pod(**VLLM)), ("LeaderWorkerSet", "g-w-0", f"{LEADER}.args"),
        their_objects=[dumped("g-w-0", VLLM["args"])], our_objects=[dumped("g-w-0", ["ray start --address=$A:6379 --block"], ["/bin/sh", "-c"])]),
    row("gpus_by_request", True, multinode(resources={"requests": {"gpu": "8"}}, **pod(**VLLM)),
        ("LeaderWorkerSet", "g-w-0", f"{LEADER}.args"), **sized(VLLM["args"])),
    row("gpus_by_request", False, multinode(resources={"limits": {"gpu": "8"}}, **pod(**VLLM)),
        ("LeaderWorkerSet", "g-w-0", f"{LEADER}.args"), **sized(VLLM["args"])),
    row("gpus_by_custom_limit", True, multinode(resources={"limits": {"custom": {"nvidia.com/gpu": "4"}}}), theirs="a -n 0 -H b", ours="a -n 8 -H b"),
    row("gpus_by_custom_limit", False, multinode(resources={"limits": {"custom": {"nvidia.com/gpu": "4"}}}), theirs="a -n 0 -H b", ours="a -n 4 -H b"),
    row("leader_without_port", True, multinode(), ("LeaderWorkerSet", "g-w-0", f"{WORKER}.initContainers[wait-for-leader-mp]"), {}, our_objects=[dumped("g-w-0", ["x"])]),
    row("leader_without_port", False, multinode(), ("LeaderWorkerSet", "g-w-0", f"{WORKER}.initContainers[wait-for-leader-mp]"), {},
        our_objects=[dumped("g-w-0", ["--master-port"])]),
    row("image_of_the_main_container", True, pod(image="i"), theirs="side", ours="i"),
    row("image_of_the_main_container", False, pod(image="i"), theirs="side", ours="j"),
    row("leader_address_expanded", True, theirs="SCRIPT $LWS_LEADER_ADDRESS 29500", ours="SCRIPT $(LWS_LEADER_ADDRESS) 29500"),
    row("leader_address_expanded", False, theirs="SCRIPT $LWS_LEADER_ADDRESS 29500", ours="SCRIPT $(LWS_LEADER_ADDRESS) 29501"),
    row("deployment_config_unreadable", True, {"envs": [{"name": "DYN_DEPLOYMENT_CONFIG", "value": "["}]}),
    row("deployment_config_unreadable", True, {"envs": [{"name": "DYN_DEPLOYMENT_CONFIG", "valueFrom": {}}]}),
    row("deployment_config_unreadable", False, {"envs": [{"name": "DYN_DEPLOYMENT_CONFIG", "value": "{}"}]}),
    row("denied_at_admission", True, {}, ("admission", "", "-"), "admitted, then failed", "denied spec.services[w].volumeMounts[0].mountPoint"),
    row("denied_at_admission", False, {}, ("admission", "", "-"), "admitted, then failed", "denied"),
    row("denied_at_admission", False, {}, ("admission", "", "-"), "admitted", "denied spec.services[w].volumeMounts[0].mountPoint"),
    row("epp_plugin_without_weight", True, {"eppConfig": {"config": {"plugins": [{"type": "a"}]}}}, ("admission", "", "-"), "denied spec", "admitted"),
    row("epp_plugin_without_weight", False, {"eppConfig": {"config": {"plugins": [{"weight": 1}]}}}, ("admission", "", "-"), "denied spec", "admitted"),
]


def context_of(service, found, theirs, ours, more):
    """A difference in a graph with one service `w`, or in a component without a graph."""
    kind, graph = more.get("kind", "DynamoGraphDeployment"), more.get("graph", "g")
    spec = service if kind == "DynamoComponentDeployment" else {"services": {"w": service}}
    manifest = {"kind": kind, "metadata": {"name": graph, "annotations": more.get("annotations", {})}, "spec": spec}
    failed = [
        {"kind": "DynamoComponentDeployment", "metadata": {"name": name}, "status": {"conditions": [{"message": f"Failed to reconcile: {message}"}]}}
        for name, message in more.get("failures", {}).items()
    ]
    sides = [recording({"case": "c", "apply": [], "objects": more.get(key, []) + extra, "input": [manifest]})
             for key, extra in (("their_objects", failed), ("our_objects", []))]
    kind, name, path = found
    return Context(Difference("c", kind, name, parsed(path), theirs, ours), *sides)


class Conditions(unittest.TestCase):
    def test_table(self):
        for condition, holds, service, found, theirs, ours, more in ROWS:
            with self.subTest(condition=condition, service=service, found=found, theirs=theirs, ours=ours):
                context = context_of(service, found, theirs, ours, more)
                self.assertIs(getattr(conditions, condition)(context), holds)

    def test_each_condition_has_positive_and_negative_rows(self):
        functions = {name for name, item in vars(conditions).items() if inspect.isfunction(item) and not name.startswith("_")}
        functions -= {"nodes_of"}
        for holds in (True, False):
            self.assertEqual(functions - {name for name, expected, *_ in ROWS if expected is holds}, set(), f"have no row with the result {holds}")


class Lines(unittest.TestCase):
    def meets(self, text, service, found, theirs=ABSENT, ours=ABSENT):
        return bool(met(context_of(service, found, theirs, ours, {}), [parsed_line("here", text)]))

    def test_one_line_covers_all_pod_templates(self):
        text = "Pod spec.containers[main].image changed pod-Q1 # why"
        for kind, path in (
            ("Deployment", "spec.template"),
            ("Job", "spec.template"),
            ("LeaderWorkerSet", "spec.leaderWorkerTemplate.leaderTemplate"),
            ("LeaderWorkerSet", "spec.leaderWorkerTemplate.workerTemplate"),
        ):
            self.assertTrue(self.meets(text, {}, (kind, "g-w", f"{path}.spec.containers[main].image"), "a", "b"), kind)
        self.assertTrue(self.meets(text, {}, ("PodCliqueSet", "g", "spec.template.cliques[w].spec.podSpec.containers[main].image"), "a", "b"))
        self.assertTrue(self.meets(text, pod(name="engine"), ("Deployment", "g-w", "spec.template.spec.containers[engine].image"), "a", "b"))
        self.assertFalse(self.meets(text, {}, ("Deployment", "g-w", "spec.template.spec.containers[side].image"), "a", "b"))

    def test_directions_are_matched(self):
        text = "Deployment spec.replicas ours pod-Q1 # why"
        self.assertTrue(self.meets(text, {}, ("Deployment", "g-w", "spec.replicas"), ours=1))
        self.assertFalse(self.meets(text, {}, ("Deployment", "g-w", "spec.replicas"), theirs=1))
        self.assertFalse(self.meets(text, {}, ("Deployment", "g-w", "spec.replicas"), 1, 2))

    def test_a_star_matches_one_segment(self):
        text = "Ingress metadata.* ours pod-Q1 # why"
        self.assertTrue(self.meets(text, {}, ("Ingress", "g-w", "metadata.generateName"), ours="a"))
        self.assertFalse(self.meets(text, {}, ("Ingress", "g-w", "metadata.labels[a]"), ours="a"))


if __name__ == "__main__":
    unittest.main()
