{{/* The configuration file of both programs. */}}

{{- define "dynamo-operator.leaseNamespace" -}}
{{- if include "dynamo-operator.restricted" . -}}
{{ include "dynamo-operator.targetNamespace" . }}
{{- else -}}
{{ ((.Values.controllerManager).leaderElection).namespace | default "kube-system" }}
{{- end }}
{{- end }}

{{- define "dynamo-operator.leaseName" -}}
{{ ((.Values.controllerManager).leaderElection).id | default "dynamo.nvidia.com" }}
{{- end }}

{{- define "dynamo-operator.certificateSecret" -}}
{{ ((.Values.webhook).certificateSecret).name | default "webhook-server-cert" }}
{{- end }}

{{/* How long certificates of cert-manager are valid, and when they are renewed. */}}
{{- define "dynamo-operator.certificateTimes" -}}
{{- $certificate := ((.Values.webhook).certManager).certificate | default dict -}}
duration: {{ $certificate.duration | default "8760h" }}
renewBefore: {{ $certificate.renewBefore | default "360h" }}
{{- end }}

{{- define "dynamo-operator.rootTimes" -}}
{{- $certificate := (((.Values.webhook).certManager).certificate).rootCA | default dict -}}
duration: {{ $certificate.duration | default "87600h" }}
renewBefore: {{ $certificate.renewBefore | default "720h" }}
{{- end }}

{{/* auto: the controller makes the certificate. manual: cert-manager or the administrator does. */}}
{{- define "dynamo-operator.certificateMode" -}}
{{ if or ((.Values.webhook).certManager).enabled ((.Values.webhook).certificateSecret).external }}manual{{ else }}auto{{ end }}
{{- end }}

{{- define "dynamo-operator.config" -}}
{{- $written := include "dynamo-operator.configOfValues" . | fromYaml -}}
{{- $extra := include "dynamo-operator.overriding" (list (.Values.extraConfig | default dict) $written) | fromJson -}}
{{ toYaml (mergeOverwrite $written $extra) }}
{{- end }}

{{/* (list EXTRA WRITTEN), as JSON: EXTRA without the members that are null and that WRITTEN has, because null counts as absent. Others
     that are null stay: in `defaults` they mean something. */}}
{{- define "dynamo-operator.overriding" -}}
{{- $written := index . 1 -}}
{{- $kept := dict -}}
{{- range $name, $value := index . 0 -}}
{{- $before := get $written $name -}}
{{- if and (kindIs "map" $value) (kindIs "map" $before) -}}
{{- $_ := set $kept $name (include "dynamo-operator.overriding" (list $value $before) | fromJson) -}}
{{- else if not (and (kindIs "invalid" $value) (hasKey $written $name)) -}}
{{- $_ := set $kept $name $value -}}
{{- end -}}
{{- end -}}
{{ toJson $kept }}
{{- end }}

{{- define "dynamo-operator.configOfValues" -}}
{{- $fullname := include "dynamo-operator.fullname" . -}}
{{- $target := include "dynamo-operator.targetNamespace" . -}}
{{- $dynamo := .Values.dynamo | default dict -}}
{{- $restriction := .Values.namespaceRestriction | default dict -}}
{{- $port := (include "dynamo-operator.webhookPorts" . | fromYaml).webhook -}}
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
server:
  metrics:
    bindAddress: 0.0.0.0
    secure: {{ ne (toString (.Values.metrics).secure) "false" }}
  webhook:
    certProvisionMode: {{ include "dynamo-operator.certificateMode" . }}
    secretName: {{ include "dynamo-operator.certificateSecret" . | toYaml }}
    serviceName: {{ $fullname }}-webhook-service
    {{- if ne (int $port) 9443 }}
    port: {{ $port }}
    {{- end }}
leaderElection:
  enabled: true
  id: {{ include "dynamo-operator.leaseName" . | toYaml }}
  namespace: {{ include "dynamo-operator.leaseNamespace" . | toYaml }}
{{- if include "dynamo-operator.restricted" . }}
namespace:
  restricted: {{ $target | toYaml }}
  scope:
    leaseDuration: {{ ($restriction.lease).duration | default "30s" }}
    leaseRenewInterval: {{ ($restriction.lease).renewInterval | default "10s" }}
gpu:
  discoveryEnabled: {{ ne (toString (.Values.gpuDiscovery).enabled) "false" }}
  # The controller may read pods of this namespace only.
  exporterNamespaces: [{{ $target | toYaml }}]
{{- else }}
rbac:
  plannerClusterRoleName: {{ $fullname }}-planner
  dgdrProfilingClusterRoleName: {{ $fullname }}-dgdr-profiling
  eppClusterRoleName: {{ $fullname }}-epp
{{- end }}
{{ include "dynamo-operator.orchestrators" . }}
{{- with include "dynamo-operator.infrastructure" . }}
infrastructure:
  {{- . | nindent 2 }}
{{- end }}
{{- with include "dynamo-operator.ingress" . }}
ingress:
  {{- . | nindent 2 }}
{{- end }}
mpi:
  sshSecretName: {{ ($dynamo.mpiRun).secretName | default "mpi-run-ssh-secret" | toYaml }}
{{- if (.Values.checkpoint).enabled }}
{{ include "dynamo-operator.checkpoint" .Values.checkpoint }}
{{- end }}
discovery:
  backend: {{ .Values.discoveryBackend | default "kubernetes" }}
{{- end }}

{{- define "dynamo-operator.orchestrators" -}}
orchestrators:
  grove:
    terminationDelay: {{ (.Values.dynamo).groveTerminationDelay | default "4h" }}
    {{- with include "dynamo-operator.scheduler" (list . "grove") }}
    enabled: {{ . }}
    {{- end }}
  {{- with include "dynamo-operator.scheduler" (list . "kai-scheduler") }}
  kaiScheduler:
    enabled: {{ . }}
  {{- end }}
{{- end }}

{{- define "dynamo-operator.infrastructure" -}}
{{- with include "dynamo-operator.natsAddress" . }}
natsAddress: {{ . | quote }}
{{- end }}
{{- with include "dynamo-operator.etcdAddress" . }}
etcdAddress: {{ . | quote }}
{{- end }}
{{- with .Values.modelExpressURL }}
modelExpressURL: {{ . | quote }}
{{- end }}
{{- with ((.Values.dynamo).metrics).prometheusEndpoint }}
prometheusEndpoint: {{ . | quote }}
{{- end }}
{{- end }}

{{- define "dynamo-operator.ingress" -}}
{{- $dynamo := .Values.dynamo | default dict -}}
{{- if and ($dynamo.istio).enabled ($dynamo.istio).gateway }}
virtualServiceGateway: {{ $dynamo.istio.gateway | quote }}
{{- end }}
{{- if ($dynamo.ingress).enabled }}
{{- with $dynamo.ingress.className }}
controllerClassName: {{ . | quote }}
{{- end }}
{{- with $dynamo.ingress.tlsSecretName }}
controllerTLSSecretName: {{ . | quote }}
{{- end }}
{{- end }}
{{- with $dynamo.ingressHostSuffix }}
hostSuffix: {{ . | quote }}
{{- end }}
{{- end }}

{{/* Only the storage of the chosen type is written. */}}
{{- define "dynamo-operator.checkpoint" -}}
{{- $storage := .storage | default dict -}}
{{- $type := $storage.type | default "pvc" -}}
checkpoint:
  enabled: true
  readyForCheckpointFilePath: {{ .readyForCheckpointFilePath | default "/tmp/ready-for-checkpoint" | quote }}
  storage:
    type: {{ $type }}
    {{- $fields := eq $type "pvc" | ternary (list "pvcName" "basePath") (list "uri" "credentialsSecretRef") }}
    {{- with pick (get $storage $type | default dict) (index $fields 0) (index $fields 1) }}
    {{ $type }}:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
