{{/* Parts of roles and bindings. */}}

{{/* Head of an object of RBAC: (list $ KIND NAME COMPONENT NAMESPACE), with an empty namespace if it has none. */}}
{{- define "dynamo-operator.rbacHead" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ index . 1 }}
metadata:
  name: {{ index . 2 | toYaml }}
  {{- with index . 4 }}
  namespace: {{ . | toYaml }}
  {{- end }}
  labels:
    {{- include "dynamo-operator.labels" (list (index . 0) (index . 3)) | nindent 4 }}
  {{- include "dynamo-operator.annotations" (list (index . 0) nil) }}
{{- end }}

{{/* Role and account of a binding: (list $ KIND ROLE ACCOUNT NAMESPACE-OF-THE-ACCOUNT). */}}
{{- define "dynamo-operator.binds" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ index . 1 }}
  name: {{ index . 2 | toYaml }}
subjects:
  - kind: ServiceAccount
    name: {{ index . 3 | quote }}
    namespace: {{ index . 4 | toYaml }}
{{- end }}

{{/* The same for the account of the controller: (list $ KIND ROLE). */}}
{{- define "dynamo-operator.bindsController" -}}
{{- $root := index . 0 -}}
{{ include "dynamo-operator.binds" (list $root (index . 1) (index . 2) (include "dynamo-operator.controllerAccount" $root) $root.Release.Namespace) }}
{{- end }}
