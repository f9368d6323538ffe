{{/* Service accounts. */}}

{{/* dict: root, name, namespace, component, pullSecrets (YAML of a list), and optionally labels, annotations and noToken. */}}
{{- define "dynamo-operator.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name | quote }}
  namespace: {{ .namespace | toYaml }}
  labels:
    {{- include "dynamo-operator.labels" (list .root .component) | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- include "dynamo-operator.annotations" (list .root .annotations) }}
{{- if .noToken }}
# Only pods that ask for a token get one.
automountServiceAccountToken: false
{{- end }}
{{- with .pullSecrets }}
imagePullSecrets:
  {{- . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The values of the account of the controller or the webhook: (list $ "controllerManager"), as JSON. */}}
{{- define "dynamo-operator.accountValues" -}}
{{ (get (index . 0).Values (index . 1) | default dict).serviceAccount | default dict | toJson }}
{{- end }}

{{/* Its name: (list $ "controllerManager" "controller-manager"), with the end of the name of its Deployment. */}}
{{- define "dynamo-operator.accountName" -}}
{{ (include "dynamo-operator.accountValues" . | fromJson).name | default (printf "%s-%s" (include "dynamo-operator.fullname" (index . 0)) (index . 2)) }}
{{- end }}

{{- define "dynamo-operator.controllerAccount" -}}
{{ include "dynamo-operator.accountName" (list . "controllerManager" "controller-manager") }}
{{- end }}

{{- define "dynamo-operator.webhookAccount" -}}
{{ include "dynamo-operator.accountName" (list . "webhook" "webhook") }}
{{- end }}

{{/* Accounts of pods that are not of the operator, and of the start-up check, a YAML list. Those of planners, endpoint pickers and
     profiling Jobs have the same names in all namespaces. */}}
{{- define "dynamo-operator.accountsOfOthers" -}}
- {{ include "dynamo-operator.fullname" . }}-component
- {{ include "dynamo-operator.fullname" . }}-smoke
- planner-serviceaccount
- epp-serviceaccount
- dgdr-profiling-job
{{- end }}

{{/* "true" if the chart makes it: (list $ "controllerManager"). A value that is absent counts as true. */}}
{{- define "dynamo-operator.makesAccount" -}}
{{ if ne (toString (include "dynamo-operator.accountValues" . | fromJson).create) "false" }}true{{ end }}
{{- end }}

{{/* Pull secrets of the operator's pods, a YAML list; nothing if there are none. Those of `global` may be names. */}}
{{- define "dynamo-operator.pullSecrets" -}}
{{- $secrets := .Values.imagePullSecrets | default list -}}
{{- range (.Values.global).imagePullSecrets -}}
{{- $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) -}}
{{- end -}}
{{- with $secrets | uniq -}}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The Secret with which components pull images; nothing if they need none. */}}
{{- define "dynamo-operator.registrySecret" -}}
{{- $registry := (.Values.dynamo).dockerRegistry | default dict -}}
{{- if $registry.useKubernetesSecret -}}
{{ $registry.existingSecretName | default (printf "%s-regcred" (include "dynamo-operator.fullname" .)) }}
{{- end }}
{{- end }}

{{/* Pull secrets of the accounts of components. */}}
{{- define "dynamo-operator.componentPullSecrets" -}}
{{- $secrets := include "dynamo-operator.pullSecrets" . | fromYamlArray -}}
{{- with include "dynamo-operator.registrySecret" . -}}
{{- $secrets = prepend $secrets (dict "name" .) -}}
{{- end -}}
{{- with $secrets | uniq -}}
{{ toYaml . }}
{{- end }}
{{- end }}
