{{/* Monitors of the Prometheus operator. */}}

{{/* The ports of the Service of metrics, a YAML list. Versions before 1.0 had a proxy at the port `https`, which comes along with their
     values. */}}
{{- define "dynamo-operator.metricsPorts" -}}
{{- $ports := (.Values.metricsService).ports | default list -}}
{{- range $ports -}}
{{- if eq "https" (toString .targetPort) -}}{{- $ports = list -}}{{- end -}}
{{- end -}}
{{ toYaml ($ports | default (list (dict "name" "metrics" "port" 8080 "protocol" "TCP" "targetPort" "metrics"))) }}
{{- end }}

{{/* "true" if monitors are made: (list $ SWITCH). Null: if the cluster is known to have the API. */}}
{{- define "dynamo-operator.monitors" -}}
{{- $switch := toString (index . 1) -}}
{{- if eq $switch "true" -}}
true
{{- else if and (ne $switch "false") ((index . 0).Capabilities.APIVersions.Has "monitoring.coreos.com/v1") -}}
true
{{- end }}
{{- end }}

{{/* Metadata of an object that Prometheus or Grafana selects by its labels: (list $ NAME LABELS ANNOTATIONS). */}}
{{- define "dynamo-operator.monitoringMetadata" -}}
{{- $root := index . 0 -}}
metadata:
  name: {{ index . 1 | toYaml }}
  namespace: {{ $root.Release.Namespace | toYaml }}
  labels:
    {{- include "dynamo-operator.texts" (merge dict (index . 2 | default dict) (include "dynamo-operator.labels" (list $root "metrics") | fromYaml)) | nindent 4 }}
  {{- include "dynamo-operator.annotations" (list $root (index . 3)) }}
{{- end }}

{{/* A PodMonitor of components: (list $ NAME TYPES ENDPOINTS), with the values of the label component-type. */}}
{{- define "dynamo-operator.podMonitor" -}}
{{- $root := index . 0 -}}
{{- $monitors := (($root.Values.dynamo).metrics).podMonitors | default dict -}}
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
{{ include "dynamo-operator.monitoringMetadata" (list $root (printf "dynamo-%s" (index . 1)) $monitors.additionalLabels nil) }}
spec:
  namespaceSelector:
    {{- if include "dynamo-operator.restricted" $root }}
    matchNames: [{{ include "dynamo-operator.targetNamespace" $root | toYaml }}]
    {{- else }}
    any: true
    {{- end }}
  selector:
    matchLabels:
      nvidia.com/metrics-enabled: "true"
    matchExpressions:
      - key: nvidia.com/dynamo-component-type
        operator: In
        values: {{ index . 2 | toJson }}
  podMetricsEndpoints:
    {{- range index . 3 }}
    - {{- toYaml (omit (merge . (dict "interval" "5s" "honorLabels" true "path" "/metrics")) "rewritten") | nindent 6 }}
      relabelings:
        - sourceLabels: [__meta_kubernetes_pod_label_nvidia_com_dynamo_namespace]
          targetLabel: dynamo_namespace
        {{- with .rewritten }}
        - sourceLabels: [__address__]
          regex: ([^:]+)(?::\d+)?
          replacement: $1:{{ . }}
          targetLabel: __address__
        {{- end }}
    {{- end }}
{{- end }}
