{{/* Service accounts. */}}

{{/* dict: root, name, namespace, component, pullSecrets (YAML of a list), and optionally labels, annotations and noToken. */}}
{{- define "dynamo-operator.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
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

{{/* The Secret with which components pull images; nothing if they need none. */}}
{{- define "dynamo-operator.registrySecret" -}}
{{- $registry := (.Values.dynamo).dockerRegistry | default dict -}}
{{- if $registry.useKubernetesSecret -}}
{{ $registry.existingSecretName | default (printf "%s-regcred" (include "dynamo-operator.fullname" .)) }}
{{- end }}
{{- end }}

{{/* Pull secrets of the accounts of components. */}}
{{- define "dynamo-operator.componentPullSecrets" -}}
{{- $secrets := .Values.imagePullSecrets | default list -}}
{{- with include "dynamo-operator.registrySecret" . -}}
{{- $secrets = prepend $secrets (dict "name" .) -}}
{{- end -}}
{{- with $secrets | uniq -}}
{{ toYaml . }}
{{- end }}
{{- end }}
