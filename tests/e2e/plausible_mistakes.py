"""Invalid values and values close to a limit: name -> function (rng, graph) that changes the graph. Some are valid; the API
server decides."""


def service_of(rng, graph, *types):
    services = graph["spec"]["services"]
    fitting = [s for s in services.values() if not types or s.get("componentType") in types]
    return rng.choice(fitting or list(services.values()))


def main_of(rng, graph):
    return service_of(rng, graph)["extraPodSpec"]["mainContainer"]


def limits_of(rng, graph):
    return service_of(rng, graph).setdefault("resources", {}).setdefault("limits", {})


def in_main(**given):
    """A change of members of a main container."""
    return lambda rng, graph: main_of(rng, graph).update(given)


def in_pod(**given):
    return lambda rng, graph: service_of(rng, graph)["extraPodSpec"].update(given)


def in_service(**given):
    return lambda rng, graph: service_of(rng, graph).update(given)


def in_limits(**given):
    return lambda rng, graph: limits_of(rng, graph).update(given)


def in_spec(**given):
    return lambda rng, graph: graph["spec"].update(given)


def named(name):
    return lambda rng, graph: graph["metadata"].update(name=name)


def renamed_service(new):
    def change(rng, graph):
        services = graph["spec"]["services"]
        services[new] = services.pop(rng.choice(sorted(services)))
        graph["spec"].pop("restart", None)
    return change


def container(**given):
    return in_pod(containers=[{"name": "side", "image": "busybox", **given}])


def no_image(rng, graph):
    main_of(rng, graph).pop("image")


def undeclared_claim(rng, graph):
    service_of(rng, graph)["volumeMounts"] = [{"name": "not-declared", "mountPoint": "/x"}]


HTTP = {"httpGet": {"path": "/x", "port": 8000}}
EMPTY = {"emptyDir": {}}

MISTAKES = {
    "image absent": no_image,
    "image with blank": in_main(image=" nginx:1 "),
    "image empty": in_main(image=""),
    "port name long": in_main(ports=[{"name": "metrics-prometheus", "containerPort": 9100}]),
    "port number": in_main(ports=[{"containerPort": 70000}]),
    "port name twice": in_main(ports=[{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]),
    "host port": in_main(ports=[{"containerPort": 8443, "hostPort": 8443}]),
    "host network port": in_pod(hostNetwork=True, containers=[{"name": "p", "image": "i", "ports": [{"containerPort": 80, "hostPort": 81}]}]),
    "probe two handlers": in_main(readinessProbe={**HTTP, "tcpSocket": {"port": 1}}),
    "probe no handler": in_main(livenessProbe={"periodSeconds": 5}),
    "probe success": in_main(livenessProbe={**HTTP, "successThreshold": 2}),
    "probe path": in_main(readinessProbe={"httpGet": {"path": "ready", "port": 8000}}),
    "probe port name": in_main(readinessProbe={"httpGet": {"path": "/x", "port": "HTTP_PORT"}}),
    "probe negative": in_main(readinessProbe={**HTTP, "initialDelaySeconds": -1}),
    "probe grace of readiness": in_main(readinessProbe={**HTTP, "terminationGracePeriodSeconds": 5}),
    "service probe empty": in_service(livenessProbe={}),
    "sleep too long": in_main(lifecycle={"preStop": {"sleep": {"seconds": 4000}}}),
    "cpu limit below request": in_service(resources={"requests": {"cpu": "4"}, "limits": {"cpu": "2"}}),
    "gpu request without limit": in_service(resources={"requests": {"gpu": "2"}}),
    "gpu mismatch": in_service(resources={"requests": {"gpu": "2"}, "limits": {"gpu": "1"}}),
    "gpu fraction": in_limits(gpu="0.5"),
    "memory GB": in_limits(memory="16GB"),
    "memory blank": in_limits(memory="16 Gi"),
    "cpu negative": in_limits(cpu="-1"),
    "cpu words": in_limits(cpu="two"),
    "memory milli": in_limits(memory="512m"),
    "custom without domain": in_limits(custom={"gpus": "1"}),
    "custom huge pages": in_limits(custom={"hugepages-2Mi": "3Mi"}),
    "gpuType odd": in_limits(gpu="1", gpuType="nvidia.com/"),
    "main limit number": in_main(resources={"limits": {"nvidia.com/gpu": "1500m"}}),
    "env name": in_main(env=[{"name": "A=B", "value": "1"}]),
    "env name blank": in_main(env=[{"name": "A B", "value": "1"}]),
    "env two sources": in_main(env=[{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]),
    "env no source": in_main(env=[{"name": "A", "valueFrom": {}}]),
    "env field": in_main(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}}]),
    "env key empty": in_service(envs=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": ""}}}]),
    "env key odd": in_service(envs=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "a/b"}}}]),
    "graph env name": in_spec(envs=[{"name": "", "value": "1"}]),
    "graph env duplicate": in_spec(envs=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
    "secret name": in_service(envFromSecret="My_Secret"),
    "secret empty": in_service(envFromSecret=""),
    "volume twice": in_pod(volumes=[{"name": "v", **EMPTY}, {"name": "v", **EMPTY}]),
    "volume two sources": in_pod(volumes=[{"name": "v", **EMPTY, "hostPath": {"path": "/x"}}]),
    "volume no source": in_pod(volumes=[{"name": "v"}]),
    "volume name": in_pod(volumes=[{"name": "model_cache", **EMPTY}]),
    "volume name long": in_pod(volumes=[{"name": "v" * 64, **EMPTY}]),
    "volume name of ours": in_pod(volumes=[{"name": "shared-memory", **EMPTY}]),
    "volume mode": in_pod(volumes=[{"name": "v", "secret": {"secretName": "s", "defaultMode": 644}}]),
    "volume path": in_pod(volumes=[{"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "../k"}]}}]),
    "volume claim unnamed": in_pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": ""}}]),
    "mount without volume": in_main(volumeMounts=[{"name": "nowhere", "mountPath": "/n"}]),
    "mount of shm": in_main(volumeMounts=[{"name": "shared-memory", "mountPath": "/dev/shm"}]),
    "mount twice": container(volumeMounts=[{"name": "w", "mountPath": "/n"}, {"name": "w", "mountPath": "/n"}]),
    "mount claim undeclared": undeclared_claim,
    "mount claim no point": in_service(volumeMounts=[{"name": "model-cache"}]),
    "sidecar named main": in_pod(containers=[{"name": "main", "image": "i"}]),
    "sidecar name": in_pod(containers=[{"name": "My_Sidecar", "image": "i"}]),
    "sidecar no image": in_pod(containers=[{"name": "s"}]),
    "init and sidecar": in_pod(containers=[{"name": "s", "image": "i"}], initContainers=[{"name": "s", "image": "i"}]),
    "init probe": in_pod(initContainers=[{"name": "s", "image": "i", "readinessProbe": HTTP}]),
    "init restart": in_pod(initContainers=[{"name": "s", "image": "i", "restartPolicy": "OnFailure"}]),
    "toleration operator": in_pod(tolerations=[{"key": "gpu", "operator": "Exists", "value": "true"}]),
    "toleration seconds": in_pod(tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}]),
    "toleration effect": in_pod(tolerations=[{"key": "gpu", "effect": "NoRun"}]),
    "affinity no terms": in_pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}),
    "affinity weight": in_pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "preference": {}}]}}),
    "affinity values": in_pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "a", "operator": "In"}]}]}}}),
    "anti-affinity key": in_pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {}, "topologyKey": ""}]}}),
    "node selector value": in_pod(nodeSelector={"gpu": "H100 80GB"}),
    "spread skew": in_pod(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]),
    "spread domains": in_pod(topologySpreadConstraints=[
        {"maxSkew": 1, "minDomains": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]),
    "dns none": in_pod(dnsPolicy="None"),
    "dns servers": in_pod(dnsConfig={"nameservers": ["1.1.1.1", "8.8.8.8", "9.9.9.9", "1.0.0.1"]}),
    "dns policy": in_pod(dnsPolicy="ClusterFirstWithHost"),
    "host alias": in_pod(hostAliases=[{"ip": "10.0.0.300", "hostnames": ["x"]}]),
    "restart policy": in_pod(restartPolicy="Never"),
    "grace negative": in_pod(terminationGracePeriodSeconds=-1),
    "deadline": in_pod(activeDeadlineSeconds=600),
    "run as user": in_pod(securityContext={"runAsUser": -1}),
    "privileged no escalation": in_main(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
    "seccomp localhost": in_main(securityContext={"seccompProfile": {"type": "Localhost"}}),
    "sysctl name": in_pod(securityContext={"sysctls": [{"name": "net..x", "value": "1"}]}),
    "sysctl host network": in_pod(hostNetwork=True, securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}),
    "host pid share": in_pod(hostPID=True, shareProcessNamespace=True),
    "service account name": in_pod(serviceAccountName="My_Account"),
    "label value": in_service(labels={"team": "ml team"}),
    "label key": in_service(labels={"-x": "y"}),
    "pod label value": in_service(extraPodMetadata={"labels": {"x": "a" * 64}}),
    "pod annotation key": in_service(extraPodMetadata={"annotations": {"a/b/c": "x"}}),
    "component type": in_service(componentType="my worker"),
    "sub type": in_service(subComponentType="Pre fill"),
    "shm zero": in_service(sharedMemory={"size": "0"}),
    "shm empty": in_service(sharedMemory={}),
    "shm negative": in_service(sharedMemory={"size": "-1Gi"}),
    "ingress host": in_service(componentType="frontend", ingress={"enabled": True, "host": "My_Host", "ingressControllerClassName": "nginx"}),
    "ingress no host": in_service(ingress={"enabled": True}),
    "ingress url": in_service(componentType="frontend", ingress={"enabled": True, "host": "https://x.example.com", "ingressControllerClassName": "nginx"}),
    "ingress class": in_service(componentType="frontend", ingress={"enabled": True, "host": "x", "ingressControllerClassName": "Nginx"}),
    "ingress wildcard": in_service(componentType="frontend", ingress={"enabled": True, "host": "*", "hostSuffix": "example.com", "ingressControllerClassName": "n"}),
    "ingress label": in_service(componentType="frontend", ingress={"enabled": True, "host": "x", "labels": {"a": "b c"}, "ingressControllerClassName": "n"}),
    "claim size": in_spec(pvcs=[{"name": "c", "create": True, "size": "0", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}]),
    "claim negative": in_spec(pvcs=[{"name": "c", "create": True, "size": "-5Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}]),
    "claim mode": in_spec(pvcs=[{"name": "c", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "RWX"}]),
    "claim class": in_spec(pvcs=[{"name": "c", "create": True, "size": "1Gi", "storageClass": "Fast_SSD", "volumeAccessMode": "ReadWriteOnce"}]),
    "claim name": in_spec(pvcs=[{"name": "Model_Cache", "create": False}]),
    "claim without class": in_spec(pvcs=[{"name": "c", "create": True, "size": "1Gi"}]),
    "claim twice": in_spec(pvcs=[{"name": "c"}, {"name": "c"}]),
    "claim name dots": lambda rng, graph: (
        in_spec(pvcs=[{"name": "hf.hub"}])(rng, graph), service_of(rng, graph).update(volumeMounts=[{"name": "hf.hub", "mountPoint": "/c"}])),
    "claim name 64": lambda rng, graph: (
        in_spec(pvcs=[{"name": "c" * 64}])(rng, graph),
        service_of(rng, graph).update(volumeMounts=[{"name": "c" * 64, "mountPoint": "/c"}])),
    "graph name digit": named("3b-model"),
    "graph name dots": named("llama.3.1-70b"),
    "graph name upper": named("MyGraph"),
    "graph name long": named("g" * 46),
    "graph name very long": named("g" * 64),
    "graph name 40": named("g" * 40),
    "service name underscore": renamed_service("my_worker"),
    "service name dot": renamed_service("worker.v2"),
    "service name blank": renamed_service("My Worker"),
    "service name long": renamed_service("W" + "o" * 43),
    "service name 63": renamed_service("w" * 63),
    "service name edge": renamed_service("decode-"),
    "service names by case": lambda rng, graph: graph["spec"]["services"].update(
        {name: {"extraPodSpec": {"mainContainer": {"image": "i"}}} for name in ("twin", "Twin")}),
    "replicas negative": in_service(replicas=-1),
    "node count": in_service(multinode={"nodeCount": 1}),
    "node count of frontend": in_service(multinode={"nodeCount": 2}),
    "framework mismatch": lambda rng, graph: (graph["spec"].update(backendFramework="sglang"), service_of(rng, graph, "worker").update(
        componentType="worker"), service_of(rng, graph, "worker")["extraPodSpec"]["mainContainer"].update(command=["python3", "-m", "dynamo.vllm"])),
    "framework unknown": in_spec(backendFramework="tensorrt"),
    "checkpoint no identity": in_service(checkpoint={"enabled": True}),
    "checkpoint ref": in_service(checkpoint={"enabled": True, "checkpointRef": "My_Ref"}),
    "epp without config": in_service(componentType="epp"),
    "epp replicas": in_service(componentType="epp", replicas=2, eppConfig={"configMapRef": {"name": "c", "key": "k"}}),
    "epp key": in_service(componentType="epp", replicas=1, multinode=None, eppConfig={"configMapRef": {"name": "c", "key": "a b"}}),
    "epp map name": in_service(componentType="epp", replicas=1, multinode=None, eppConfig={"configMapRef": {"name": "C_c", "key": "k"}}),
    "model without name": in_service(modelRef={"name": ""}),
    "model of blanks": in_service(modelRef={"name": "my model, v2 (final)"}),
    "restart no id": in_spec(restart={"id": ""}),
    "restart order": in_spec(restart={"id": "1", "strategy": {"order": ["Nobody"]}}),
    "restart id long": in_spec(restart={"id": "x" * 300}),
    "sidecar image empty": in_service(frontendSidecar={"image": ""}),
    "strategy": in_service(annotations={"nvidia.com/deployment-rolling-update-max-surge": "25 %"}),
    "surge percent": in_service(annotations={"nvidia.com/deployment-rolling-update-max-unavailable": "150%"}),
    "surge zero": in_service(annotations={"nvidia.com/deployment-rolling-update-max-surge": "0",
                                          "nvidia.com/deployment-rolling-update-max-unavailable": "0"}),
    "executor": lambda rng, graph: graph["metadata"].setdefault("annotations", {}).update(
        {"nvidia.com/vllm-distributed-executor-backend": "mpi"}),
    "origin version": lambda rng, graph: graph["metadata"].setdefault("annotations", {}).update(
        {"nvidia.com/dynamo-operator-origin-version": "latest"}),
    "queue": lambda rng, graph: graph["metadata"].setdefault("annotations", {}).update({"nvidia.com/kai-scheduler-queue": "my queue"}),
    "no services": in_spec(services={}),
    "claims unknown": in_service(resources={"claims": [{"name": "gpu-claim"}]}),
    "pod claim": in_pod(resourceClaims=[{"name": "g", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}]),
    "scheduler name": in_pod(schedulerName="My Scheduler"),
    "pull secret": in_pod(imagePullSecrets=[{"name": ""}]),
    "host name": in_pod(hostname="node_1"),
    "ephemeral container": in_pod(ephemeralContainers=[{"name": "debug", "image": "busybox"}]),
    "trtllm nodes": in_service(multinode={"nodeCount": 5000}),
    "replicas many": in_service(replicas=100000),
    "user list wrong type": in_main(args="--model x"),
}
