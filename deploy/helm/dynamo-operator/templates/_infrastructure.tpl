{{/* Addresses of NATS and etcd. Values of the platform chart are in .Platform, if that chart renders. */}}

{{- define "dynamo-operator.domain" -}}
{{ .Release.Namespace }}.svc.{{ .Values.kubernetesClusterDomain | default "cluster.local" }}
{{- end }}

{{/* "true" if the operator uses the NATS server of the platform chart. The switch of later versions, global.nats.install, has
     precedence over nats.enabled of both charts. */}}
{{- define "dynamo-operator.bundledNats" -}}
{{- $global := ((.Values.global).nats).install -}}
{{- $own := (.Values.nats).enabled -}}
{{- if kindIs "bool" $global -}}
{{- if $global }}true{{ end -}}
{{- else if get . "Platform" -}}
{{- if and .Platform.nats (ne (toString $own) "false") }}true{{ end -}}
{{- else if eq (toString $own) "true" }}true{{ end -}}
{{- end }}

{{- define "dynamo-operator.natsAddress" -}}
{{- if .Values.natsAddr -}}
{{ .Values.natsAddr }}
{{- else if include "dynamo-operator.bundledNats" . -}}
nats://{{ .Release.Name }}-nats.{{ include "dynamo-operator.domain" . }}:4222
{{- end }}
{{- end }}

{{- define "dynamo-operator.etcdAddress" -}}
{{- if .Values.etcdAddr -}}
{{ .Values.etcdAddr }}
{{- else if eq (toString ((.Values.global).etcd).install) "true" -}}
{{ .Release.Name }}-etcd.{{ include "dynamo-operator.domain" . }}:2379
{{- end }}
{{- end }}

{{/* Whether a scheduler is used: the name in `global`. Nothing: the controller detects it. */}}
{{- define "dynamo-operator.scheduler" -}}
{{- $switch := get ((index . 0).Values.global | default dict) (index . 1) | default dict -}}
{{- if or (eq (toString $switch.install) "true") (eq (toString $switch.enabled) "true") -}}
true
{{- else if kindIs "bool" $switch.enabled -}}
false
{{- end }}
{{- end }}
