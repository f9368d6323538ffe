{{/* Names and labels. */}}

{{- define "dynamo-operator.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 47 | trimSuffix "-" }}
{{- end }}

{{/* The prefix of all names. The longest name of a Service, with 16 more characters, has 63. A Service has no dots in its name, but a
     release may have. */}}
{{- define "dynamo-operator.fullname" -}}
{{- $name := include "dynamo-operator.name" . -}}
{{- $long := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{ .Values.fullnameOverride | default ($long | replace "." "-") | trunc 47 | trimSuffix "-" }}
{{- end }}

{{/* The namespace that the operator manages, or of a cluster-wide one its own. */}}
{{- define "dynamo-operator.targetNamespace" -}}
{{- $restriction := .Values.namespaceRestriction | default dict -}}
{{ ternary ($restriction.targetNamespace | default .Release.Namespace) .Release.Namespace (eq $restriction.enabled true) }}
{{- end }}

{{/* "true" for an operator of one namespace. */}}
{{- define "dynamo-operator.restricted" -}}
{{ if (.Values.namespaceRestriction).enabled }}true{{ end }}
{{- end }}

{{/* "true" if cluster-scoped objects are rendered. A value that is absent counts as true. */}}
{{- define "dynamo-operator.clusterScoped" -}}
{{ if ne (toString (.Values.rbac).clusterScoped) "false" }}true{{ end }}
{{- end }}

{{/* The prefix of cluster-scoped objects of which each namespace with an operator has its own. */}}
{{- define "dynamo-operator.namespacedName" -}}
{{ include "dynamo-operator.fullname" . }}-{{ .Release.Namespace }}
{{- end }}

{{- define "dynamo-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "dynamo-operator.name" . | toYaml }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
{{- end }}

{{/* The labels of the pods of the controller by which its Deployment and Services select them. */}}
{{- define "dynamo-operator.controllerSelector" -}}
control-plane: controller-manager
{{ include "dynamo-operator.selectorLabels" . }}
{{- end }}

{{/* Those of the webhook. No other pod of the release has them. */}}
{{- define "dynamo-operator.webhookSelector" -}}
app.kubernetes.io/component: webhook
{{ include "dynamo-operator.selectorLabels" . }}
{{- end }}

{{/* Labels of an object: (list $ "component"). Those of the chart have precedence over those of the user. */}}
{{- define "dynamo-operator.labels" -}}
{{- $root := index . 0 -}}
{{- $labels := dict "app.kubernetes.io/component" (index . 1) "app.kubernetes.io/created-by" "dynamo-operator" -}}
{{- $_ := set $labels "app.kubernetes.io/part-of" "dynamo-operator" -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- $_ := set $labels "app.kubernetes.io/version" $root.Chart.AppVersion -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $labels = merge $labels (include "dynamo-operator.selectorLabels" $root | fromYaml) -}}
{{ include "dynamo-operator.texts" (merge $labels ($root.Values.commonLabels | default dict)) }}
{{- end }}

{{/* A map of texts as YAML. Null counts as absent. */}}
{{- define "dynamo-operator.texts" -}}
{{- $present := dict -}}
{{- range $name, $text := . -}}
{{- if not (kindIs "invalid" $text) -}}{{- $_ := set $present $name $text -}}{{- end -}}
{{- end -}}
{{ toYaml $present }}
{{- end }}

{{/* Annotations of an object, a member of its metadata with two spaces before: (list $ $more). Nothing if there are none. */}}
{{- define "dynamo-operator.annotations" -}}
{{- $root := index . 0 -}}
{{- with include "dynamo-operator.texts" (merge dict (index . 1 | default dict) ($root.Values.commonAnnotations | default dict)) | fromYaml }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{/* Metadata of an object in the namespace of the release: (list $ NAME COMPONENT). */}}
{{- define "dynamo-operator.metadata" -}}
{{- $root := index . 0 -}}
metadata:
  name: {{ index . 1 | toYaml }}
  namespace: {{ $root.Release.Namespace | toYaml }}
  labels:
    {{- include "dynamo-operator.labels" (list $root (index . 2)) | nindent 4 }}
  {{- include "dynamo-operator.annotations" (list $root nil) }}
{{- end }}
