{{/* What is before the path of a value of this chart, if another chart has it. */}}
{{- define "dynamo-platform.valuePrefix" -}}
{{- range rest (splitList "/charts/" (trimSuffix "/templates" .Template.BasePath)) -}}{{ . }}.{{- end -}}
{{- end }}

{{/* JSON: the lists refused and ignored, of {path, answer}, for the values of this chart. */}}
{{- define "dynamo-platform.judgement" -}}
{{- $judged := include "dynamo-platform.judge" (list .Values (.Files.Get "files/judged-values.yaml" | fromYamlArray) (include "dynamo-platform.valuePrefix" .)) | fromJson -}}
{{- $refused := concat $judged.refused (include "dynamo-platform.contradictions" . | fromYamlArray) -}}
{{ dict "refused" $refused "ignored" $judged.ignored | toJson }}
{{- end }}

{{/* Values that do not fit together, as a YAML list of {path, answer}. */}}
{{- define "dynamo-platform.contradictions" -}}
{{- with index .Subcharts "dynamo-operator" }}
{{- if kindIs "invalid" .Values.bundled }}
- path: {{ include "dynamo-platform.valuePrefix" $ }}dynamo-operator.bundled
  answer: leave it false; without it Helm installs etcd, Grove and the KAI scheduler
{{- end }}
{{- end }}
{{- $global := .Values.global | default dict -}}
{{- $names := list -}}
{{- range $global.imagePullSecrets -}}
{{- if kindIs "string" . -}}{{- $names = append $names . -}}{{- end -}}
{{- end -}}
{{- if and $names (get $global "kai-scheduler" | default dict).install }}
- path: global.imagePullSecrets
  answer: {{ printf "the KAI scheduler takes only maps: write {name: %s}" (first $names) | quote }}
{{- end }}
{{- end }}
