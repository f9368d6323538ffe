{{/* Webhook configurations. */}}

{{/* (list $ KIND SUFFIX). The controller finds the configurations by the label with its namespace. */}}
{{- define "dynamo-operator.webhookConfiguration" -}}
{{- $root := index . 0 -}}
{{- $fullname := include "dynamo-operator.fullname" $root -}}
apiVersion: admissionregistration.k8s.io/v1
kind: {{ index . 1 }}
metadata:
  {{- if include "dynamo-operator.restricted" $root }}
  name: {{ $fullname }}-{{ index . 2 }}-{{ $root.Release.Namespace }}
  {{- else }}
  name: {{ $fullname }}-{{ index . 2 }}
  {{- end }}
  labels:
    nvidia.com/dynamo-operator-namespace: {{ $root.Release.Namespace | toYaml }}
    {{- include "dynamo-operator.labels" (list $root "webhook") | nindent 4 }}
  {{- $annotations := dict }}
  {{- if (($root.Values.webhook).certManager).enabled }}
  {{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s-serving-cert" $root.Release.Namespace $fullname) }}
  {{- end }}
  {{- if include "dynamo-operator.ownCaBundle" $root }}
  {{- $_ := set $annotations "nvidia.com/ca-injected" "false" }}
  {{- end }}
  {{- include "dynamo-operator.annotations" (list $root $annotations) }}
{{- end }}

{{/* webhook.caBundle, if it counts. */}}
{{- define "dynamo-operator.ownCaBundle" -}}
{{- $own := .Values.webhook | default dict -}}
{{- if and $own.caBundle ($own.certificateSecret).external (not ($own.certManager).enabled) }}{{ $own.caBundle | nospace }}{{ end }}
{{- end }}

{{/* One webhook: (list $ "mutate" NAME VERSION KIND). Each rule has one version: the API server converts the others to it. */}}
{{- define "dynamo-operator.webhook" -}}
{{- $root := index . 0 -}}
{{- $does := index . 1 -}}
{{- $version := index . 3 -}}
{{- $kind := index . 4 -}}
{{- $own := $root.Values.webhook | default dict -}}
- name: {{ index . 2 | toYaml }}
  admissionReviewVersions: [v1]
  clientConfig:
    service:
      name: {{ include "dynamo-operator.fullname" $root }}-webhook-service
      namespace: {{ $root.Release.Namespace | toYaml }}
      path: /{{ $does }}-nvidia-com-{{ $version }}-{{ $kind }}
      port: 443
    {{- with include "dynamo-operator.ownCaBundle" $root }}
    caBundle: {{ . }}
    {{- end }}
  rules:
    - apiGroups: [nvidia.com]
      apiVersions: [{{ $version }}]
      operations: [CREATE, UPDATE]
      resources: [{{ $kind }}s]
      scope: Namespaced
  {{- if $own.namespaceSelector }}
  namespaceSelector:
    {{- toYaml $own.namespaceSelector | nindent 4 }}
  {{- else if include "dynamo-operator.restricted" $root }}
  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ include "dynamo-operator.targetNamespace" $root | toYaml }}
  {{- end }}
  matchPolicy: Equivalent
  failurePolicy: {{ $own.failurePolicy | default "Fail" }}
  sideEffects: None
  timeoutSeconds: {{ $own.timeoutSeconds | default 5 }}
  {{- if eq $does "mutate" }}
  reinvocationPolicy: IfNeeded
  {{- end }}
  matchConditions:
    # Updates that do not change spec, labels or annotations are not sent, so finalizers can be removed while the webhook is not
    # available.
    - name: something-to-judge
      expression: >-
        request.operation != 'UPDATE' ||
        object.?spec.orValue({}) != oldObject.?spec.orValue({}) ||
        object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({}) ||
        object.metadata.?annotations.orValue({}) != oldObject.metadata.?annotations.orValue({})
{{- end }}
