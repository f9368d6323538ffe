{{/* The platform chart overrides this template with "dynamo-platform", and then renders what templates/operator.yaml would. */}}
{{- define "dynamo-operator.parent" -}}{{- end }}
