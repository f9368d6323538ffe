{{/* What is wrong with values, and what has no effect. */}}

{{/* JSON: the lists refused and ignored, of {path, answer}. */}}
{{- define "dynamo-operator.judgement" -}}
{{- $prefix := ternary "dynamo-operator." "" (eq "dynamo-platform" (include "dynamo-operator.parent" .)) -}}
{{- $table := .Files.Get "files/judged-values.yaml" | fromYamlArray -}}
{{- $judged := include "dynamo-operator.judge" (list .Values $table $prefix) | fromJson -}}
{{- $refused := $judged.refused -}}
{{- range include "dynamo-operator.contradictions" . | fromYamlArray -}}
{{- $refused = append $refused (dict "path" (printf "%s%s" $prefix .path) "answer" .answer) -}}
{{- end -}}
{{ dict "refused" $refused "ignored" $judged.ignored | toJson }}
{{- end }}

{{/* What has no effect, also of the platform chart: JSON, a list of {path, answer}, as {"all": LIST}. */}}
{{- define "dynamo-operator.ignored" -}}
{{- $own := (include "dynamo-operator.judgement" . | fromJson).ignored | default list -}}
{{- $platform := (get . "Platform" | default dict).ignored | default list -}}
{{ dict "all" (concat $platform $own) | toJson }}
{{- end }}

{{/* Seconds of a duration such as 1m30s. */}}
{{- define "dynamo-operator.seconds" -}}
{{- $sum := 0.0 -}}
{{- $units := dict "h" 3600.0 "m" 60.0 "s" 1.0 "ms" 0.001 "us" 0.000001 -}}
{{- range regexFindAll "[0-9.]+(h|ms|us|m|s)" (toString .) -1 -}}
{{- $unit := regexFind "[a-z]+" . -}}
{{- $sum = addf $sum (mulf (trimSuffix $unit . | float64) (get $units $unit)) -}}
{{- end -}}
{{ $sum }}
{{- end }}

{{/* Values that do not fit together, as a YAML list of {path, answer}. */}}
{{- define "dynamo-operator.contradictions" -}}
{{- $restricted := include "dynamo-operator.restricted" . -}}
{{- $election := (.Values.controllerManager).leaderElection | default dict -}}
{{- $dynamo := .Values.dynamo | default dict -}}
{{- $registry := $dynamo.dockerRegistry | default dict -}}
{{- $storage := (.Values.checkpoint).storage | default dict -}}
{{- if not (or (kindIs "invalid" .Values.discoveryBackend) (has .Values.discoveryBackend (list "kubernetes" "etcd"))) }}
- path: discoveryBackend
  answer: it is kubernetes or etcd (empty meant etcd before 1.0)
{{- end }}
{{- if and (not $restricted) (not (has ($election.id | default "dynamo.nvidia.com") (list "dynamo.nvidia.com"))) }}
- path: controllerManager.leaderElection.id
  answer: the Lease of a cluster-wide operator is dynamo.nvidia.com, so that two of them never work at the same time
{{- end }}
{{- with (.Values.namespaceRestriction).lease }}
{{- if and $restricted (ge (include "dynamo-operator.seconds" (.renewInterval | default "10s") | float64) (include "dynamo-operator.seconds" (.duration | default "30s") | float64)) }}
- path: namespaceRestriction.lease.renewInterval
  answer: it must be less than namespaceRestriction.lease.duration
{{- end }}
{{- end }}
{{- if and (not $restricted) (not (include "dynamo-operator.clusterScoped" .)) }}
- path: rbac.clusterScoped
  answer: only an operator of one namespace (namespaceRestriction.enabled) can be without cluster-scoped objects
{{- end }}
{{- if and $registry.useKubernetesSecret (not $registry.existingSecretName) (not (and $registry.server $registry.password)) }}
- path: dynamo.dockerRegistry
  answer: useKubernetesSecret needs existingSecretName, or server and password
{{- end }}
{{- if and ($dynamo.istio).enabled (not ($dynamo.istio).gateway) }}
- path: dynamo.istio.gateway
  answer: dynamo.istio.enabled needs the gateway, NAMESPACE/NAME
{{- end }}
{{- if not (include "dynamo-operator.parent" .) }}
{{- range $name := list "nats" "etcd" "grove" "kai-scheduler" }}
{{- if (get ($.Values.global | default dict) $name | default dict).install }}
- path: global.{{ $name }}.install
  answer: this chart installs no other; the chart dynamo-platform does
{{- end }}
{{- end }}
{{- end }}
{{- if and (.Values.checkpoint).enabled (has $storage.type (list "s3" "oci")) (not ((get $storage (toString $storage.type)) | default dict).uri) }}
- path: checkpoint.storage.{{ $storage.type }}.uri
  answer: checkpoints of this type need the uri
{{- end }}
{{- end }}

{{/* The message of a refusal: a list of {path, answer}. */}}
{{- define "dynamo-operator.refusal" -}}
{{- $lines := list "values that this chart cannot accept:" -}}
{{- range . -}}
{{- $lines = append $lines (printf "  %s: %s" .path .answer) -}}
{{- end -}}
{{ join "\n" $lines }}
{{- end }}
