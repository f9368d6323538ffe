{{/* The operator's part of this chart. */}}

{{/* Tells the operator's chart that this one renders configuration, controller and webhook, and judges all values. */}}
{{- define "dynamo-operator.parent" -}}dynamo-platform{{- end }}

{{/* Values of this chart for templates of the operator's chart. */}}
{{- define "dynamo-platform.facts" -}}
nats: {{ ne (toString (.Values.nats).enabled) "false" }}
natsUnset: {{ and (kindIs "invalid" ((.Values.global).nats).install) (ne (toString (.Values.nats).enabled) "false") }}
ignored: {{ (include "dynamo-platform.judgement" . | fromJson).ignored | default list | toJson }}
{{- end }}
