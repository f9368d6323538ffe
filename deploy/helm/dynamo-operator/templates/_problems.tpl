{{/* What is wrong with values, and what has no effect. */}}

{{/* JSON: the lists refused and ignored, of {path, answer}. */}}
{{- define "dynamo-operator.judgement" -}}
{{- $prefix := include "dynamo-operator.valuePrefix" . -}}
{{- $table := .Files.Get "files/judged-values.yaml" | fromYamlArray -}}
{{- $judged := include "dynamo-operator.judge" (list .Values $table $prefix) | fromJson -}}
{{- $refused := $judged.refused -}}
{{- range include "dynamo-operator.contradictions" . | fromYamlArray -}}
{{- $refused = append $refused (dict "path" (include "dynamo-operator.valuePath" (list $prefix .path)) "answer" .answer) -}}
{{- end -}}
{{- $ignored := $judged.ignored -}}
{{- range include "dynamo-operator.ineffective" . | fromYamlArray -}}
{{- $ignored = append $ignored (dict "path" (include "dynamo-operator.valuePath" (list $prefix .path)) "answer" .answer) -}}
{{- end -}}
{{ dict "refused" $refused "ignored" $ignored | toJson }}
{{- end }}

{{/* What has no effect, also of the platform chart: JSON, a list of {path, answer}, as {"all": LIST}. */}}
{{- define "dynamo-operator.ignored" -}}
{{- $own := (include "dynamo-operator.judgement" . | fromJson).ignored | default list -}}
{{- $platform := (get . "Platform" | default dict).ignored | default list -}}
{{ dict "all" (concat $platform $own) | toJson }}
{{- end }}

{{/* The paths of these values, separated by commas. */}}
{{- define "dynamo-operator.ignoredPaths" -}}
{{- $paths := list -}}
{{- range (include "dynamo-operator.ignored" . | fromJson).all -}}
{{- $paths = append $paths .path -}}
{{- end -}}
{{ $paths | uniq | join ", " }}
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

{{/* Values that have no effect because of others, as a YAML list of {path, answer}. */}}
{{- define "dynamo-operator.ineffective" -}}
{{- $prefix := include "dynamo-operator.valuePrefix" . -}}
{{- $routes := list -}}
{{- if ((.Values.dynamo).ingress).enabled -}}
{{- $config := include "dynamo-operator.config" . | fromYaml -}}
{{- range list "controllerClassName" "virtualServiceGateway" -}}
{{- $routes = append $routes (include "dynamo-operator.valueAt" (list $config (list "ingress" .)) | fromJson).it -}}
{{- end -}}
{{- end -}}
{{- if and $routes (not (compact $routes)) }}
- path: dynamo.ingress.enabled
  answer: no frontend gets an Ingress without {{ $prefix }}dynamo.ingress.className, the name of an IngressClass
{{- end }}
{{- $webhook := .Values.webhook | default dict }}
{{- if and $webhook.caBundle ($webhook.certManager).enabled }}
- path: webhook.caBundle
  answer: cert-manager injects the CA
{{- else if and $webhook.caBundle (not ($webhook.certificateSecret).external) }}
- path: webhook.caBundle
  answer: it counts only with {{ $prefix }}webhook.certificateSecret.external
{{- end }}
{{- if and (include "dynamo-operator.restricted" .) ((.Values.controllerManager).leaderElection).namespace }}
{{- if ne .Values.controllerManager.leaderElection.namespace (include "dynamo-operator.targetNamespace" .) }}
- path: controllerManager.leaderElection.namespace
  answer: the Lease of an operator of one namespace is always in that namespace
{{- end }}
{{- end }}
{{- if and (not (include "dynamo-operator.restricted" .)) (.Values.namespaceRestriction).targetNamespace }}
- path: namespaceRestriction.targetNamespace
  answer: it counts only with {{ $prefix }}namespaceRestriction.enabled
{{- end }}
{{- $registry := (.Values.dynamo).dockerRegistry | default dict }}
{{- if and $registry.existingSecretName (not $registry.useKubernetesSecret) }}
- path: dynamo.dockerRegistry.existingSecretName
  answer: it counts only with {{ $prefix }}dynamo.dockerRegistry.useKubernetesSecret
{{- end }}
{{- range .Values.env }}
{{- if has .name (include "dynamo-operator.ownVariables" $ | fromYamlArray) }}
- path: env
  answer: the chart sets {{ .name }}{{ if ne .name "POD_NAMESPACE" }}; its place is {{ $prefix }}kubernetesClusterDomain{{ end }}
{{- end }}
{{- end }}
{{- range $part := list "controllerManager" "webhook" }}
{{- $account := include "dynamo-operator.accountValues" (list $ $part) | fromJson }}
{{- if and $account.annotations (not (include "dynamo-operator.makesAccount" (list $ $part))) }}
- path: {{ $part }}.serviceAccount.annotations
  answer: the chart does not make this service account; annotate it yourself
{{- end }}
{{- end }}
{{- end }}

{{/* Values that do not fit together, as a YAML list of {path, answer}. */}}
{{- define "dynamo-operator.contradictions" -}}
{{- $prefix := include "dynamo-operator.valuePrefix" . -}}
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
{{- /* The operator takes 0 for the default. */}}
{{- $duration := include "dynamo-operator.seconds" .duration | float64 | default 30.0 }}
{{- $renewal := include "dynamo-operator.seconds" .renewInterval | float64 | default 10.0 }}
{{- if and $restricted (lt $duration 1.0) }}
- path: namespaceRestriction.lease.duration
  answer: it must be at least 1s
{{- else if and $restricted (ge $renewal $duration) }}
- path: namespaceRestriction.lease.renewInterval
  answer: it must be less than {{ $prefix }}namespaceRestriction.lease.duration
{{- end }}
{{- end }}
{{- $exposed := list }}
{{- range include "dynamo-operator.metricsPorts" . | fromYamlArray }}{{- $exposed = append $exposed .name }}{{- end }}
{{- if and (not (has "metrics" $exposed)) (include "dynamo-operator.monitors" (list . (.Values.metricsService).enabled)) }}
- path: metricsService.ports
  answer: one port must have the name metrics, which the ServiceMonitor refers to
{{- end }}
{{- with (.Values.webhook).certManager }}
{{- if .enabled }}
{{- $issuer := .issuerRef | default dict }}
{{- if and (or $issuer.kind $issuer.group) (not $issuer.name) }}
- path: webhook.certManager.issuerRef.name
  answer: it must name the issuer
{{- end }}
{{- $made := list (dict "path" "certificate" "times" (include "dynamo-operator.certificateTimes" $ | fromYaml)) }}
{{- if not $issuer.name }}
{{- $made = append $made (dict "path" "certificate.rootCA" "times" (include "dynamo-operator.rootTimes" $ | fromYaml)) }}
{{- end }}
{{- range $made }}
{{- if ge (include "dynamo-operator.seconds" .times.renewBefore | float64) (include "dynamo-operator.seconds" .times.duration | float64) }}
- path: webhook.certManager.{{ .path }}.renewBefore
  answer: it must be less than {{ $prefix }}webhook.certManager.{{ .path }}.duration
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" (include "dynamo-operator.fullname" .)) }}
- path: nameOverride
  answer: names begin with {{ include "dynamo-operator.fullname" . | quote }}, and may only have lower case letters, digits and -
{{- end }}
{{- if and (not $restricted) (not (include "dynamo-operator.clusterScoped" .)) }}
- path: rbac.clusterScoped
  answer: only an operator of one namespace ({{ $prefix }}namespaceRestriction.enabled) can be without cluster-scoped objects
{{- end }}
{{- if and $registry.useKubernetesSecret (not $registry.existingSecretName) (not (and $registry.server $registry.password)) }}
- path: dynamo.dockerRegistry
  answer: useKubernetesSecret needs existingSecretName, or server and password
{{- end }}
{{- range $part := list "controllerManager" "webhook" }}
{{- if and (not (include "dynamo-operator.makesAccount" (list $ $part))) (not (include "dynamo-operator.accountValues" (list $ $part) | fromJson).name) }}
- path: {{ $part }}.serviceAccount.create
  answer: false needs the name of a service account that exists, {{ $prefix }}{{ $part }}.serviceAccount.name
{{- end }}
{{- end }}
{{- if eq (include "dynamo-operator.controllerAccount" .) (include "dynamo-operator.webhookAccount" .) }}
- path: webhook.serviceAccount.name
  answer: the webhook needs no rights, so it cannot have the service account of the controller
{{- end }}
{{- range $part, $account := dict "controllerManager" (include "dynamo-operator.controllerAccount" .) "webhook" (include "dynamo-operator.webhookAccount" .) }}
{{- if has $account (include "dynamo-operator.accountsOfOthers" $ | fromYamlArray) }}
- path: {{ $part }}.serviceAccount.name
  answer: {{ $account }} is the service account of other pods; say another name
{{- end }}
{{- end }}
{{- if eq "default" (include "dynamo-operator.controllerAccount" .) }}
- path: controllerManager.serviceAccount.name
  answer: pods without an account have the account default, so all of them would get the rights of the controller; say another name
{{- end }}
{{- $ports := include "dynamo-operator.webhookPorts" . | fromYaml }}
{{- if has (int $ports.webhook) (list 8080 8081) }}
- path: webhook.port
  answer: 8080 and 8081 are ports of the controller, which reads the same configuration
{{- end }}
{{- if ne 3 (values $ports | uniq | len) }}
- path: webhook.port
  answer: {{ $prefix }}webhook.port, {{ $prefix }}webhook.healthPort and {{ $prefix }}webhook.metricsPort are three ports
{{- end }}
{{- if .Values.extraConfig }}
{{ include "dynamo-operator.settledSettings" . }}
{{- end }}
{{- if and ($dynamo.istio).enabled (not ($dynamo.istio).gateway) }}
- path: dynamo.istio.gateway
  answer: {{ $prefix }}dynamo.istio.enabled needs the gateway, NAMESPACE/NAME
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
