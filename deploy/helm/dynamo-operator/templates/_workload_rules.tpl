{{/* The rules of pods that use the Kubernetes API. Names and rules are those of the Go operator's chart. Rules about resources without
     namespace are in ClusterRoles only, where they take effect with a ClusterRoleBinding of the administrator. */}}
{{- define "dynamo-operator.plannerRules" -}}
- apiGroups: [nvidia.com]
  resources: [dynamocomponentdeployments, dynamographdeployments]
  verbs: [get, list, create, update, patch]
- apiGroups: [nvidia.com]
  resources: [dynamographdeploymentscalingadapters/scale]
  verbs: [patch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch]
- apiGroups: [nvidia.com]
  resources: [dynamoworkermetadatas]
  verbs: [get, list, watch, create, update, patch, delete]
{{- end }}

{{- define "dynamo-operator.eppRules" -}}
- apiGroups: [inference.networking.x-k8s.io]
  resources: [inferencepools, inferenceobjectives, inferencemodelrewrites]
  verbs: [get, list, watch]
- apiGroups: [inference.networking.k8s.io]
  resources: [inferencepools]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch]
- apiGroups: [nvidia.com]
  resources: [dynamoworkermetadatas]
  verbs: [get, list, watch, create, update, patch, delete]
{{- end }}

{{- define "dynamo-operator.eppClusterRules" -}}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}

{{- define "dynamo-operator.profilingRules" -}}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create, update, patch, delete]
- apiGroups: [nvidia.com]
  resources: [dynamographdeploymentrequests]
  verbs: [get]
- apiGroups: [nvidia.com]
  resources: [dynamographdeployments]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, create, delete]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- end }}

{{- define "dynamo-operator.profilingClusterRules" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch]
{{- end }}
