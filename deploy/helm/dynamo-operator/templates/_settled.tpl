{{/* Settings of extraConfig that contradict what the chart settles, as a YAML list of {path, answer}: files/settled-settings.yaml. */}}
{{- define "dynamo-operator.settledSettings" -}}
{{- $extra := .Values.extraConfig | default dict -}}
{{- $written := include "dynamo-operator.configOfValues" . | fromYaml -}}
{{- $prefix := include "dynamo-operator.valuePrefix" . -}}
{{- $found := list -}}
{{- range .Files.Get "files/settled-settings.yaml" | fromYamlArray -}}
{{- $parts := splitList "." .path -}}
{{- $wanted := (include "dynamo-operator.valueAt" (list $extra $parts) | fromJson).it -}}
{{- if not (kindIs "invalid" $wanted) -}}
{{- $settled := (include "dynamo-operator.valueAt" (list $written $parts) | fromJson).it -}}
{{- $allowed := list (toJson $settled) -}}
{{- if or (kindIs "invalid" $settled) (eq (toJson $settled) (toJson .default)) -}}
{{- $allowed = list (toJson .default) -}}
{{- range .same -}}{{- $allowed = append $allowed (toJson .) -}}{{- end -}}
{{- end -}}
{{- if not (has (toJson $wanted) $allowed) -}}
{{- $found = append $found (dict "path" (printf "extraConfig.%s" .path) "answer" (.answer | replace "{prefix}" $prefix)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $found }}
{{ toYaml . }}
{{- end }}
{{- end }}
