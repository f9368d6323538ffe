{{/* JSON: the lists refused and ignored, of {path, answer}, for the values of this chart. */}}
{{- define "dynamo-platform.judgement" -}}
{{ include "dynamo-platform.judge" (list .Values (.Files.Get "files/judged-values.yaml" | fromYamlArray) "") }}
{{- end }}
