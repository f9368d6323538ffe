{{/* Parts that the pods of controller, webhook and start-up check have in common. */}}

{{/* The image of the Go operator comes along with the values of its chart. Its name stands for our image, and its tag for ours. */}}
{{- define "dynamo-operator.replacesImage" -}}
{{ if eq "nvcr.io/nvidia/ai-dynamo/kubernetes-operator" (((.Values.controllerManager).manager).image).repository }}true{{ end }}
{{- end }}

{{- define "dynamo-operator.image" -}}
{{- $image := (((.Values.controllerManager).manager).image) | default dict -}}
{{- if include "dynamo-operator.replacesImage" . -}}
{{- $image = dict -}}
{{- end -}}
{{- $repository := $image.repository | default "dynamo-operator" -}}
{{- /* As container runtimes read it: the first part is a registry if it has a dot or a port, or is localhost. */ -}}
{{- if not (regexMatch "^(localhost|[^/]*[.:][^/]*)/" $repository) -}}
{{- with (.Values.global).imageRegistry -}}
{{- $repository = printf "%s/%s" (trimAll "/" .) $repository -}}
{{- end -}}
{{- end -}}
{{- if $image.digest -}}
{{ $repository }}@{{ $image.digest }}
{{- else -}}
{{ $repository }}:{{ $image.tag | default .Chart.Version }}
{{- end }}
{{- end }}

{{- define "dynamo-operator.imagePullPolicy" -}}
{{ (((.Values.controllerManager).manager).image).pullPolicy | default "IfNotPresent" }}
{{- end }}

{{/* OpenShift has ids for each namespace, and refuses pods that choose others. */}}
{{- define "dynamo-operator.podSecurityContext" -}}
runAsNonRoot: true
{{- if not (.Capabilities.APIVersions.Has "security.openshift.io/v1") }}
runAsUser: 65532
runAsGroup: 65532
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The security context of a container, with the given one merged into it. */}}
{{- define "dynamo-operator.securityContext" -}}
{{- $strict := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{ toYaml (mergeOverwrite $strict (deepCopy (. | default dict))) }}
{{- end }}

{{/* Where pods run: (list $ $own), with the values of the Deployment, which have precedence over those of the controller. */}}
{{- define "dynamo-operator.scheduling" -}}
{{- $root := index . 0 -}}
{{- $own := index . 1 | default dict -}}
{{- $shared := $root.Values.controllerManager | default dict -}}
{{- with include "dynamo-operator.pullSecrets" $root }}
imagePullSecrets:
  {{- . | nindent 2 }}
{{- end }}
{{- with $own.priorityClassName | default $shared.priorityClassName }}
priorityClassName: {{ . | toYaml }}
{{- end }}
{{- with include "dynamo-operator.texts" ($own.nodeSelector | default $shared.nodeSelector) | fromYaml }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations | default $shared.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.affinity | default $shared.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* How pods are spread: (list $own SELECTOR). By default over nodes and zones if there is room. */}}
{{- define "dynamo-operator.spread" -}}
{{- $selector := index . 1 -}}
{{- with (index . 0).topologySpreadConstraints }}
{{- toYaml . | nindent 0 }}
{{- else }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- $selector | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The names of the variables that the chart sets, a YAML list. */}}
{{- define "dynamo-operator.ownVariables" -}}
[POD_NAMESPACE, KUBERNETES_CLUSTER_DOMAIN]
{{- end }}

{{/* Environment variables of the user, and those of the chart, which win. The domain of the cluster is only for the user's eyes: no
     program reads it. */}}
{{- define "dynamo-operator.env" -}}
{{- $own := include "dynamo-operator.ownVariables" . | fromYamlArray -}}
{{- range .Values.env }}
{{- if not (has .name $own) }}
{{ list . | toYaml }}
{{- end }}
{{- end }}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: KUBERNETES_CLUSTER_DOMAIN
  value: {{ .Values.kubernetesClusterDomain | default "cluster.local" | toYaml }}
{{- end }}

{{/* Resources of a container. Null counts as absent: the API server reads a null amount as 0. */}}
{{- define "dynamo-operator.resources" -}}
{{- $resources := deepCopy (. | default dict) -}}
{{- range $part := list "limits" "requests" -}}
{{- with get $resources $part -}}
{{- $_ := set $resources $part (include "dynamo-operator.texts" . | fromYaml) -}}
{{- else -}}
{{- $_ := unset $resources $part -}}
{{- end -}}
{{- end -}}
{{ toYaml $resources }}
{{- end }}
