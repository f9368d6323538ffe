"""Plausible values of the required fields of the schema, for misuse_changes.py."""

HANDLERS = ("httpGet", "tcpSocket", "grpc", "exec", "sleep")
# Field -> the fields of which its object needs one and may have only one.
ALTERNATIVES = {
    "livenessProbe": HANDLERS,
    "readinessProbe": HANDLERS,
    "startupProbe": HANDLERS,
    "preStop": HANDLERS,
    "postStart": HANDLERS,
    "env": ("value", "valueFrom"),
    "envs": ("value", "valueFrom"),
    "valueFrom": ("fieldRef", "configMapKeyRef", "secretKeyRef", "resourceFieldRef", "fileKeyRef"),
    "envFrom": ("configMapRef", "secretRef"),
    "eppConfig": ("config", "configMapRef"),
    "volumes": (
        "emptyDir", "configMap", "secret", "downwardAPI", "projected", "persistentVolumeClaim", "ephemeral", "hostPath", "nfs",
        "csi", "iscsi", "fc", "image", "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "flexVolume",
        "flocker", "gcePersistentDisk", "gitRepo", "glusterfs", "photonPersistentDisk", "portworxVolume", "quobyte", "rbd",
        "scaleIO", "storageos", "vsphereVolume",
    ),
    "sources": ("configMap", "secret", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"),
    "resourceClaims": ("resourceClaimName", "resourceClaimTemplateName"),
}  # fmt: skip
# Field -> fields of its object that the API server requires although the schema does not.
NEEDED = {
    "containers": ("image",),
    "initContainers": ("image", "restartPolicy"),
    "configMapKeyRef": ("name",),
    "secretKeyRef": ("name",),
    "configMapRef": ("name",),
    "secretRef": ("name",),
    "configMap": ("name",),
    "secret": ("secretName", "name"),
    "downwardAPI": ("items",),
    "items": ("fieldRef",),
    "projected": ("sources",),
    "clusterTrustBundle": ("name",),
    "imagePullSecrets": ("name",),
    "fc": ("targetWWNs", "lun"),
    "glusterfs": ("endpoints", "path"),
    "storageos": ("volumeName",),
    "scaleIO": ("volumeName",),
    "flocker": ("datasetName",),
    "matchLabelKeys": ("extra",),
    "mismatchLabelKeys": ("extra",),
    "image": ("reference",),
    "ephemeral": ("volumeClaimTemplate",),
    "spec": ("accessModes", "resources"),
    "resources": ("requests",),
    "nodeSelectorTerms": ("matchExpressions",),
    "preference": ("matchExpressions",),
    "serviceAccountToken": ("path",),
    "hostAliases": ("hostnames",),
    "httpGet": ("path",),
    "exec": ("command",),
    "tolerations": ("key", "operator", "effect"),
    "resourceFieldRef": ("containerName",),
    "exitCodes": ("values",),
    "restartPolicyRules": ("exitCodes",),
}
TEXTS = {
    "name": "extra",
    "image": "busybox:1",
    "mountPath": "/extra",
    "mountPoint": "/extra",
    "devicePath": "/dev/extra",
    "path": "extra",
    "key": "extra",
    "fieldPath": "metadata.name",
    "resource": "limits.cpu",
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "ScheduleAnyway",
    "operator": "Exists",
    "ip": "10.0.0.9",
    "conditionType": "example.com/ready",
    "type": "Resource",
    "action": "Restart",
    "scheme": "HTTP",
    "server": "10.0.0.9",
    "driver": "driver.example.com",
    "diskURI": "https://example.com/disk",
    "effect": "NoExecute",
    "containerName": "main",
    "kind": "PersistentVolumeClaim",
    "targetPortal": "10.0.0.9:3260",
    "iqn": "iqn.2001-04.com.example:disk1",
    "restartPolicy": "Always",
    "keyType": "ED25519",
    "signerName": "example.com/signer",
    "pluginRef": "scorer",
    "hostnames": "extra.local",
    "accessModes": "ReadWriteOnce",
    "registry": "registry:7861",
    "resourceName": "cpu",
    "metrics": "cpu",
}
# (field, field of its object) -> text
TEXTS_OF = {
    ("seccompProfile", "type"): "RuntimeDefault",
    ("appArmorProfile", "type"): "RuntimeDefault",
    ("policies", "type"): "Pods",
    ("target", "type"): "Utilization",
    ("volumeMounts", "name"): "scratch",
    ("hostPath", "path"): "/extra",
    ("nfs", "path"): "/extra",
    ("httpGet", "path"): "/extra",
    ("exitCodes", "operator"): "In",
    ("sysctls", "name"): "kernel.shm_rmid_forced",
    ("resizePolicy", "restartPolicy"): "NotRequired",
    ("resizePolicy", "resourceName"): "cpu",
    ("httpHeaders", "name"): "X-Extra",
}
# Keys of maps.
KEYS = {"requests": "storage", "limits": "storage", "matchLabels": "tier", "nodeSelector": "kubernetes.io/arch"}
# Fields that are refused as a whole.
CLOSED = {"ephemeralContainers"}


def sample_text(name, owner=""):
    return TEXTS_OF.get((owner, name)) or TEXTS.get(name, "extra")


def needed_of(name, schema):
    """The fields of a plausible object: those that are required, and one alternative."""
    known = schema.get("properties", {})
    needed = [*schema.get("required", []), *(one for one in NEEDED.get(name, ()) if one in known)]
    return dict.fromkeys(needed + [one for one in ALTERNATIVES.get(name, ()) if one in known][:1])
