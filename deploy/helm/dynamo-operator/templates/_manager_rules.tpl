{{/* What the controller does with custom resources and their children: in all namespaces, or in the one that it manages. It lists all
     these kinds as soon as the API server serves them, so no value switches a rule off (inst-Q35). */}}
{{- define "dynamo-operator.managerRules" -}}
# Scaling adapters change the replicas of a graph; a rolling update records its workers in an annotation.
- apiGroups: [nvidia.com]
  resources: [dynamographdeployments]
  verbs: [get, list, watch, create, patch]
- apiGroups: [nvidia.com]
  resources: [dynamocomponentdeployments]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [nvidia.com]
  resources: [dynamographdeploymentscalingadapters]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [nvidia.com]
  resources: [dynamocheckpoints]
  verbs: [get, list, watch, create, patch]
- apiGroups: [nvidia.com]
  resources: [dynamomodels]
  verbs: [list, watch, patch]
- apiGroups: [nvidia.com]
  resources: [dynamographdeploymentrequests]
  verbs: [get, list, watch, patch]
- apiGroups: [nvidia.com]
  resources:
    - dynamographdeployments/status
    - dynamocomponentdeployments/status
    - dynamographdeploymentscalingadapters/status
    - dynamocheckpoints/status
    - dynamomodels/status
    - dynamographdeploymentrequests/status
  verbs: [patch]
# Where the plugin OwnerReferencesPermissionEnforcement is on, as in OpenShift, owner references that block the
# deletion of the owner require this.
- apiGroups: [nvidia.com]
  resources:
    - dynamographdeployments/finalizers
    - dynamocomponentdeployments/finalizers
    - dynamocheckpoints/finalizers
    - dynamographdeploymentrequests/finalizers
  verbs: [update]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [leaderworkerset.x-k8s.io]
  resources: [leaderworkersets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [scheduling.volcano.sh]
  resources: [podgroups]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [grove.io]
  resources: [podcliquesets]
  verbs: [list, watch, create, patch, delete]
# Grove creates these objects.
- apiGroups: [grove.io]
  resources: [podcliques, podcliquescalinggroups]
  verbs: [list, watch]
- apiGroups: [grove.io]
  resources: [podcliques/scale, podcliquescalinggroups/scale]
  verbs: [patch]
- apiGroups: [""]
  resources: [services, configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, create]
# Pods of graphs and Jobs; in gpu.exporterNamespaces of the configuration also DCGM exporters. Adapters are loaded only
# into pods whose owners lead to a graph.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [apps]
  resources: [replicasets, statefulsets]
  verbs: [get]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [networking.istio.io]
  resources: [virtualservices]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [inference.networking.k8s.io]
  resources: [inferencepools]
  verbs: [get, list, watch, create, patch, delete]
# Accounts of graphs. Only garbage collection deletes them, but the plugin OwnerReferencesPermissionEnforcement
# requires `delete` of those who add an owner. A RoleBinding to another role is deleted and created again.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, list, watch, create, patch, delete]
# The Roles of discovery have these rules. RBAC lets an account only grant what it has.
- apiGroups: [""]
  resources: [endpoints]
  verbs: [get, list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch]
- apiGroups: [nvidia.com]
  resources: [dynamoworkermetadatas]
  verbs: [get, list, watch, create, update, patch, delete]
# Image pull secrets, selected by their type. RBAC cannot limit a list to a type.
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch]
# The SSH keys of TensorRT-LLM on several nodes.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
# Why pods of LeaderWorkerSets and Jobs cannot be created. RBAC cannot limit a list to a reason.
- apiGroups: [""]
  resources: [events]
  verbs: [list, watch]
{{- end }}
