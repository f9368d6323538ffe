{{/* Judges values that are gone, come later, or never had an effect: (list VALUES ENTRIES PREFIX), with the entries of
     files/judged-values.yaml. Returns JSON: the lists refused and ignored, of {path, answer}.
     The charts have the same text under their own names, because each can be without the other. */}}
{{- define "dynamo-operator.judge" -}}
{{- $values := index . 0 -}}
{{- $prefix := index . 2 -}}
{{- $refused := list -}}
{{- $ignored := list -}}
{{- range $entry := index . 1 -}}
{{- $path := $entry.path -}}
{{- $parts := splitList "." $path -}}
{{- /* Where a map is expected, another value is judged in place of its member. An empty value counts as absent, but false does not. */ -}}
{{- $value := dict "it" $values -}}
{{- range $parts -}}
{{- if kindIs "map" $value.it -}}{{- $_ := set $value "it" (index $value.it .) -}}{{- end -}}
{{- end -}}
{{- $special := $entry.except | default list -}}
{{- $judged := or $value.it (kindIs "bool" $value.it) (kindIs "float64" $value.it) (kindIs "int64" $value.it) -}}
{{- if and $judged $special (kindIs "map" $value.it) -}}
{{- $judged = gt (len (omit $value.it (index $special 0))) 0 -}}
{{- end -}}
{{- $text := toJson $value.it -}}
{{- range $entry.silent -}}
{{- if eq $text (toJson .) -}}{{- $judged = false -}}{{- end -}}
{{- end -}}
{{- if $judged -}}
{{- $verdict := $entry.verdict -}}
{{- range $entry.noted -}}
{{- if eq $text (toJson .) -}}{{- $verdict = "note" -}}{{- end -}}
{{- end -}}
{{- range $entry.redundantWith -}}
{{- if eq "true" (toString (include "dynamo-operator.valueAt" (list $values (splitList "." .)) | fromJson).it) -}}{{- $verdict = "note" -}}{{- end -}}
{{- end -}}
{{- range $entry.settledBy -}}
{{- if not (kindIs "invalid" (include "dynamo-operator.valueAt" (list $values (splitList "." .)) | fromJson).it) -}}{{- $verdict = "note" -}}{{- end -}}
{{- end -}}
{{- $told := dict "path" (include "dynamo-operator.valuePath" (list $prefix $path)) "answer" ($entry.answer | replace "{prefix}" $prefix) -}}
{{- if eq $verdict "refuse" -}}
{{- $refused = append $refused $told -}}
{{- else -}}
{{- $ignored = append $ignored $told -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $key, $value := $values -}}
{{- if and (contains "." $key) (not (kindIs "invalid" $value)) -}}
{{- $parts := splitList "." $key -}}
{{- $answer := printf "the dots are part of the key; write %s: ...%s" (join ": {" $parts) (repeat (sub (len $parts) 1 | int) "}") -}}
{{- $refused = append $refused (dict "path" (printf "%s%s" $prefix $key) "answer" $answer) -}}
{{- end -}}
{{- end -}}
{{ dict "refused" $refused "ignored" $ignored | toJson }}
{{- end }}

{{/* A path as the user writes it: (list PREFIX PATH). What all charts share has no prefix. */}}
{{- define "dynamo-operator.valuePath" -}}
{{ ternary "" (index . 0) (hasPrefix "global." (index . 1)) }}{{ index . 1 }}
{{- end }}

{{/* The value at a path: (list VALUES PARTS), as JSON {it: VALUE}, with null if there is none. */}}
{{- define "dynamo-operator.valueAt" -}}
{{- $found := dict "it" (index . 0) -}}
{{- range index . 1 -}}
{{- if kindIs "map" $found.it -}}
{{- $_ := set $found "it" (index $found.it .) -}}
{{- else -}}
{{- $_ := set $found "it" nil -}}
{{- end -}}
{{- end -}}
{{ dict "it" $found.it | toJson }}
{{- end }}
