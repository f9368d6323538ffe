{{/* The ConfigMap with the configuration. The annotation, like the log of the controller, tells which values have no effect, because the
     notes are not seen by users of Flux, Argo CD and of charts that depend on this one. */}}
{{- define "dynamo-operator.configmap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "dynamo-operator.fullname" . }}-config
  namespace: {{ .Release.Namespace | toYaml }}
  labels:
    {{- include "dynamo-operator.labels" (list . "manager") | nindent 4 }}
  {{- $annotations := dict }}
  {{- with include "dynamo-operator.ignoredPaths" . }}
  {{- $_ := set $annotations "dynamo.nvidia.com/ignored-values" . }}
  {{- end }}
  {{- include "dynamo-operator.annotations" (list . $annotations) }}
data:
  config.yaml: |
    {{- include "dynamo-operator.config" . | nindent 4 }}
{{- end }}
