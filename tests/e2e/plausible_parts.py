"""Parts of pods as users write them: quantities, probes, volumes, variables, containers, placement. Every function takes a
random.Random and returns a value that the API server accepts."""

CPU = ("1", "4", "500m", "0.5", "2.5", "16", "1e1", "250m", "100000u", "1.", ".5", "+2")
ARCHITECTURES = ("amd64", "arm64")
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PRIORITY_CLASSES = ("inference-high", "batch.low")
RUNTIME_CLASSES = ("nvidia", "kata")


def maybe(rng, chance):
    return rng.random() < chance


def some(rng, choices, least=0, most=3):
    """`least` to `most` of the choices, each at most once, in random order."""
    return rng.sample(choices, min(len(choices), rng.randint(least, most)))


def members(rng, chance, **made):
    """A random subset of the members. Values are functions of rng."""
    return {key: make(rng) for key, make in made.items() if maybe(rng, chance)}


def handler(rng):
    return rng.choice((
        {"httpGet": {"path": "/ready", "port": rng.choice((8000, 8080, "http"))}},
        {"httpGet": {"path": "/v1/models", "port": 8000, "scheme": "HTTPS", "host": "127.0.0.1",
                     "httpHeaders": [{"name": "X-Probe", "value": "kubelet"}]}},
        {"tcpSocket": {"port": rng.choice((9090, "system"))}},
        {"tcpSocket": {"port": 5557, "host": "localhost"}},
        {"exec": {"command": ["sh", "-c", "curl -fsS localhost:8000/live || exit 1"]}},
        {"grpc": {"port": 9003}},
        {"grpc": {"port": 50051, "service": "engine.v1.Health"}},
    ))


def probe(rng, kind="readiness"):
    made = handler(rng)
    made |= members(rng, 0.4, initialDelaySeconds=lambda r: r.choice((0, 5, 300)),
                    periodSeconds=lambda r: r.choice((1, 10, 60)), timeoutSeconds=lambda r: r.choice((1, 30)),
                    failureThreshold=lambda r: r.choice((1, 3, 600)))
    if kind == "readiness":
        made |= members(rng, 0.2, successThreshold=lambda r: r.choice((1, 2, 5)))
    else:
        made |= members(rng, 0.2, successThreshold=lambda r: 1, terminationGracePeriodSeconds=lambda r: r.choice((1, 60)))
    return made


def lifecycle(rng):
    hooks = ({"exec": {"command": ["sh", "-c", "sleep 10"]}}, {"sleep": {"seconds": 5}},
             {"httpGet": {"path": "/drain", "port": 8000}}, {"httpGet": {"port": "http", "path": "/quiesce"}})
    made = {"preStop": rng.choice(hooks)}
    if maybe(rng, 0.3):
        made["postStart"] = {"exec": {"command": ["/bin/true"]}}
    return made


def variable(rng, name):
    sources = (
        {"value": rng.choice(("1", "", "INFO", "a b", "$(POD_NAME)-x", "{\"a\": 1}", "http://x:80/?q=%20"))},
        {"valueFrom": {"secretKeyRef": {"name": "hf-token-secret", "key": "HF_TOKEN"}}},
        {"valueFrom": {"secretKeyRef": {"name": "s3.keys", "key": "access_key", "optional": True}}},
        {"valueFrom": {"configMapKeyRef": {"name": "tuning", "key": "nccl.debug"}}},
        {"valueFrom": {"fieldRef": {"fieldPath": rng.choice((
            "status.hostIP", "spec.nodeName", "metadata.labels['team']", "status.podIPs",
            "metadata.annotations['example.com/x']", "spec.serviceAccountName"))}}},
        {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.uid"}}},
        {"valueFrom": {"resourceFieldRef": {"resource": rng.choice(("limits.memory", "requests.memory")), "divisor": "1Mi"}}},
        {"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "main", "divisor": "1m"}}},
    )
    return {"name": name, **rng.choice(sources)}


def variables(rng):
    names = ("HF_TOKEN", "NCCL_DEBUG", "UCX_TLS", "VLLM_LOGGING_LEVEL", "my.dotted-name", "PYTHONUNBUFFERED", "_X",
             "DYN_LOG", "DYN_NAMESPACE", "POD_UID", "CUDA_VISIBLE_DEVICES", "lower", "HF_HOME", "1ST", "A-B")
    return [variable(rng, name) for name in some(rng, names, 0, 5)]


def env_from(rng):
    return some(rng, ({"secretRef": {"name": "api-keys"}}, {"configMapRef": {"name": "common", "optional": True}},
                      {"prefix": "S3_", "secretRef": {"name": "s3"}}, {"prefix": "a.b-", "configMapRef": {"name": "c"}}), 1, 3)


def volume_sources(rng):
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": rng.choice(("10Gi", "1T"))}}}
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600, "audience": "vault"}}
    return (
        {"emptyDir": {}}, {"emptyDir": {"sizeLimit": "2Gi"}}, {"emptyDir": {"medium": "Memory"}},
        {"emptyDir": {"medium": "HugePages-2Mi"}},
        {"hostPath": {"path": "/mnt/nvme"}}, {"hostPath": {"path": "/dev/infiniband", "type": "Directory"}},
        {"configMap": {"name": "engine-configs", "defaultMode": 0o755, "items": [{"key": "a.yaml", "path": "x/a.yaml", "mode": 0o400}]}},
        {"configMap": {"name": "chat-templates", "optional": True}},
        {"secret": {"secretName": "tls-bundle", "defaultMode": 256}},
        {"persistentVolumeClaim": {"claimName": "datasets", "readOnly": True}},
        {"nfs": {"server": "10.0.0.7", "path": "/export/models", "readOnly": True}},
        {"csi": {"driver": "secrets-store.csi.k8s.io", "readOnly": True, "volumeAttributes": {"secretProviderClass": "vault"}}},
        {"ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"tier": "scratch"}}, "spec": claim}}},
        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}, {
            "path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu", "divisor": "1m"}}]}},
        {"projected": {"sources": [token, {"configMap": {"name": "kube-root-ca.crt"}}, {"downwardAPI": {"items": [
            {"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}, {"secret": {"name": "extra", "optional": True}}]}},
        {"image": {"reference": "registry.example.com/models/llama:1", "pullPolicy": "IfNotPresent"}},
    )


def volumes(rng):
    names = ("scratch", "models-nfs", "configs", "hf-home", "certs", "dump", "data-0", "tmp", "v" * 63)
    sources = volume_sources(rng)
    return [{"name": name, **rng.choice(sources)} for name in some(rng, names, 0, 4)]


def mounts(rng, names, root):
    made = []
    for i, name in enumerate(names):
        mount = {"name": name, "mountPath": f"{root}/{rng.choice(('a', 'b.c', 'model cache'))}{i}"}
        mount |= members(rng, 0.2, readOnly=lambda r: True, mountPropagation=lambda r: r.choice(("None", "HostToContainer")))
        mount |= rng.choice(({}, {}, {"subPath": "x/y"}, {"subPathExpr": "$(POD_NAME)"}))
        made.append(mount)
    return made


def amounts(rng, gpus=False):
    """The resources of a plain container."""
    made = {"requests": {"cpu": rng.choice(("100m", "0.25", "1e-1")), "memory": rng.choice(("64Mi", "100M", "0.1Gi"))}}
    if maybe(rng, 0.5):
        made["limits"] = {"cpu": rng.choice(("1", "1500m", 2)), "memory": rng.choice(("1Gi", "2e9", "1500Mi"))}
    if gpus and maybe(rng, 0.5):
        made.setdefault("limits", {})["nvidia.com/gpu"] = rng.choice(("1", 2, "4"))
    if maybe(rng, 0.2):
        made.setdefault("limits", {})["ephemeral-storage"] = "20Gi"
    return made


def container_security(rng):
    return rng.choice((
        {"runAsUser": 1000, "runAsGroup": 0}, {"privileged": True}, {"runAsNonRoot": True, "runAsUser": 65532},
        {"capabilities": {"add": ["IPC_LOCK", "SYS_PTRACE"], "drop": ["ALL"]}},
        {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "seccompProfile": {"type": "RuntimeDefault"}},
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "profiles/a.json"}},
        {"appArmorProfile": {"type": "Unconfined"}}, {"procMount": "Default"},
    ))


def pod_security(rng):
    return rng.choice((
        {}, {"fsGroup": 2000, "fsGroupChangePolicy": "OnRootMismatch"}, {"runAsUser": 0, "supplementalGroups": [44, 109]},
        {"sysctls": [{"name": "net.ipv4.ip_local_port_range", "value": "1024 65535"}]},
        {"runAsNonRoot": True, "runAsUser": 1001, "seccompProfile": {"type": "RuntimeDefault"}},
        {"seLinuxOptions": {"level": "s0:c123,c456"}},
    ))


def sidecar(rng, name, volume_names):
    made = {"name": name, "image": rng.choice(("busybox:1.36", "registry.example.com:5000/a/b@sha256:" + "0" * 64, "otel/collector"))}
    made |= members(rng, 0.3, command=lambda r: ["sh", "-c", "sleep infinity"], args=lambda r: ["--verbose"], env=variables_plain,
                    envFrom=env_from, resources=amounts, securityContext=container_security, readinessProbe=probe,
                    livenessProbe=lambda r: probe(r, "liveness"), startupProbe=lambda r: probe(r, "startup"),
                    lifecycle=lifecycle, imagePullPolicy=lambda r: r.choice(("Always", "Never", "IfNotPresent")),
                    ports=lambda r: [{"containerPort": 4317}, {"name": "otlp-http", "containerPort": 4318, "protocol": "TCP"}],
                    volumeMounts=lambda r: mounts(r, some(r, volume_names), "/mnt"), tty=lambda r: True,
                    terminationMessagePolicy=lambda r: "FallbackToLogsOnError", workingDir=lambda r: "/srv")
    return made


def variables_plain(rng):
    """Variables without a resourceFieldRef to another container."""
    return [entry for entry in variables(rng) if "resourceFieldRef" not in entry.get("valueFrom", {})]


def init_container(rng, name, volume_names):
    made = {"name": name, "image": "amazon/aws-cli:2", "command": ["sh", "-c", "aws s3 sync s3://models /models"]}
    made |= members(rng, 0.3, env=variables_plain, resources=amounts, securityContext=container_security,
                    volumeMounts=lambda r: mounts(r, some(r, volume_names), "/mnt"))
    if maybe(rng, 0.25):  # a sidecar that starts first
        made["restartPolicy"] = "Always"
        made |= members(rng, 0.5, startupProbe=lambda r: probe(r, "startup"), readinessProbe=probe, lifecycle=lifecycle)
    return made


def tolerations(rng):
    return some(rng, (
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, {"operator": "Exists"},
        {"key": "dedicated", "operator": "Equal", "value": "inference", "effect": "NoExecute", "tolerationSeconds": 300},
        {"key": "dedicated", "value": "llm"}, {"key": "spot", "operator": "Exists", "effect": "PreferNoSchedule"}), 1, 3)


def node_affinity(rng):
    needs = some(rng, ({"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-H100-80GB-HBM3", "NVIDIA-H200"]},
                       {"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["80000"]},
                       {"key": "node.kubernetes.io/lifecycle", "operator": "NotIn", "values": ["spot"]},
                       {"key": "cordoned", "operator": "DoesNotExist"}), 1, 3)
    made = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": needs}]}}
    if maybe(rng, 0.4):
        made["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": rng.choice((1, 50, 100)), "preference": {
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-node-3"]}]}}]
    return made


def pod_term(rng):
    made = {"topologyKey": rng.choice((HOST, ZONE, "example.com/rack"))}
    made["labelSelector"] = rng.choice(({"matchLabels": {"app": "llm"}}, {}, {"matchExpressions": [
        {"key": "nvidia.com/dynamo-component-type", "operator": "In", "values": ["worker", "decode"]}]}))
    made |= members(rng, 0.3, namespaces=lambda r: ["other-team"], namespaceSelector=lambda r: {})
    if made["labelSelector"] and maybe(rng, 0.2):
        made["matchLabelKeys"] = ["pod-template-hash"]
    return made


def pod_affinity(rng):
    return rng.choice(({"requiredDuringSchedulingIgnoredDuringExecution": [pod_term(rng)]}, {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": rng.randint(1, 100), "podAffinityTerm": pod_term(rng)}]}))


def spread(rng):
    first = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "llm"}}}
    first |= members(rng, 0.3, minDomains=lambda r: 2, nodeTaintsPolicy=lambda r: "Honor", nodeAffinityPolicy=lambda r: "Ignore",
                     matchLabelKeys=lambda r: ["pod-template-hash"])
    second = {"maxSkew": 3, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}
    return some(rng, (first, second), 1, 2)


def dns(rng):
    return rng.choice((
        {"dnsPolicy": "ClusterFirstWithHostNet"}, {"dnsPolicy": "Default"},
        {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.0.0.10", "fd00::1"], "searches": ["svc.cluster.local", "corp.example.com."]}},
        {"dnsConfig": {"options": [{"name": "ndots", "value": "2"}, {"name": "single-request-reopen"}]}}))


def placement(rng):
    """Members of a pod spec about scheduling."""
    made = members(
        rng, 0.18, tolerations=tolerations, nodeSelector=lambda r: {"kubernetes.io/arch": r.choice(ARCHITECTURES), "pool": ""},
        topologySpreadConstraints=spread, securityContext=pod_security, priorityClassName=lambda r: r.choice(PRIORITY_CLASSES),
        schedulerName=lambda r: r.choice(("kai-scheduler", "my-scheduler")), hostIPC=lambda r: True,
        serviceAccountName=lambda r: r.choice(("llm-runner", "sa.with.dots")), automountServiceAccountToken=lambda r: False,
        enableServiceLinks=lambda r: False, imagePullSecrets=lambda r: [{"name": "ngc-secret"}, {"name": "docker.io"}],
        terminationGracePeriodSeconds=lambda r: r.choice((0, 30, 3600)), runtimeClassName=lambda r: r.choice(RUNTIME_CLASSES),
        hostAliases=lambda r: [{"ip": "10.1.2.3", "hostnames": ["etcd", "nats.internal"]}], restartPolicy=lambda r: "Always",
        shareProcessNamespace=lambda r: True, subdomain=lambda r: "workers", preemptionPolicy=lambda r: "Never",
        schedulingGates=lambda r: [{"name": "example.com/quota"}], nodeName=lambda r: "gpu-node-1", setHostnameAsFQDN=lambda r: False,
        os=lambda r: {"name": "linux"}, hostUsers=lambda r: True)
    if "schedulingGates" in made or "preemptionPolicy" in made:
        made.pop("nodeName", None)
    if "preemptionPolicy" in made:  # must equal the one of the priority class
        made.pop("priorityClassName", None), made.update(preemptionPolicy="PreemptLowerPriority")
    affinity = members(rng, 0.15, nodeAffinity=node_affinity, podAffinity=pod_affinity, podAntiAffinity=pod_affinity)
    if affinity:
        made["affinity"] = affinity
    if maybe(rng, 0.2):
        made |= dns(rng)
    if maybe(rng, 0.12):
        made["hostNetwork"] = True
    return made
