{{/* The webhook has no API token and opens no connections. It only reads its configuration, its certificate and the facts. */}}
{{- define "dynamo-operator.webhookDeployment" -}}
{{- $fullname := include "dynamo-operator.fullname" . -}}
{{- $own := .Values.webhook | default dict -}}
{{- $ports := include "dynamo-operator.webhookPorts" . | fromYaml -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $fullname }}-webhook
  namespace: {{ .Release.Namespace | toYaml }}
  labels:
    {{- include "dynamo-operator.labels" (list . "webhook") | nindent 4 }}
  {{- include "dynamo-operator.annotations" (list . nil) }}
spec:
  {{- if not (kindIs "invalid" $own.replicas) }}
  replicas: {{ $own.replicas }}
  {{- end }}
  {{- if not (kindIs "invalid" $own.revisionHistoryLimit) }}
  revisionHistoryLimit: {{ $own.revisionHistoryLimit }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "dynamo-operator.webhookSelector" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    {{- if $own.hostNetwork }}
    # A new pod may find no node where the ports are free before an old one ends. The others serve meanwhile. This is rounded down: one
    # replica alone serves until the new pod is ready.
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 50%
    {{- else }}
    # Always keep the full number of replicas, because every write of these kinds needs the webhook.
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
    {{- end }}
  template:
    metadata:
      labels:
        {{- $labels := include "dynamo-operator.webhookSelector" . | fromYaml }}
        {{- include "dynamo-operator.texts" (merge $labels ($own.podLabels | default dict) (.Values.commonLabels | default dict)) | nindent 8 }}
      annotations:
        {{- $annotations := dict "checksum/config" (include "dynamo-operator.config" . | sha256sum) }}
        {{- include "dynamo-operator.texts" (merge $annotations ($own.podAnnotations | default dict) (.Values.commonAnnotations | default dict)) | nindent 8 }}
    spec:
      serviceAccountName: {{ include "dynamo-operator.webhookAccount" . | quote }}
      automountServiceAccountToken: false
      {{- if $own.hostNetwork }}
      # The ports below are ports of the node then, so the scheduler never puts two of these pods on one node.
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      {{- end }}
      # After SIGTERM the pod is not ready but serves for shutdownDelay, and then has up to 15 s for requests in progress.
      terminationGracePeriodSeconds: {{ include "dynamo-operator.webhookGraceSeconds" . }}
      securityContext:
        {{- include "dynamo-operator.podSecurityContext" . | nindent 8 }}
      {{- include "dynamo-operator.scheduling" (list . $own) | nindent 6 }}
      topologySpreadConstraints:
        {{- include "dynamo-operator.spread" (list $own (include "dynamo-operator.webhookSelector" .)) | nindent 8 }}
      containers:
        - name: webhook
          image: {{ include "dynamo-operator.image" . | quote }}
          imagePullPolicy: {{ include "dynamo-operator.imagePullPolicy" . }}
          command: [/dynamo-webhook]
          args:
            - serve
            - --config=/etc/dynamo-operator/config.yaml
            - --operator-version={{ .Chart.AppVersion }}
            # The APIs of the cluster. Until the controller has written them, no object is refused for a missing API.
            - --facts=/tmp/k8s-webhook-server/serving-certs/facts.yaml
            # The controller may change replicas that a scaling adapter owns.
            - --controller-service-account=$(POD_NAMESPACE)/{{ include "dynamo-operator.controllerAccount" . }}
            {{- /* The configuration file has the ports of both programs. */}}
            {{- if ne (int $ports.health) 8081 }}
            - --health-listen=:{{ $ports.health }}
            {{- end }}
            {{- if ne (int $ports.metrics) 8080 }}
            - --metrics-listen=:{{ $ports.metrics }}
            {{- end }}
          env:
            {{- include "dynamo-operator.env" . | trim | nindent 12 }}
          ports:
            - name: webhook
              containerPort: {{ $ports.webhook }}
              protocol: TCP
            - name: health
              containerPort: {{ $ports.health }}
              protocol: TCP
            - name: metrics
              containerPort: {{ $ports.metrics }}
              protocol: TCP
          livenessProbe:
            httpGet:
              path: /healthz
              port: health
            periodSeconds: 20
          readinessProbe:
            httpGet:
              path: /readyz
              port: health
            periodSeconds: 2
          resources:
            {{- include "dynamo-operator.resources" $own.resources | nindent 12 }}
          securityContext:
            {{- include "dynamo-operator.securityContext" $own.containerSecurityContext | nindent 12 }}
          volumeMounts:
            - name: config
              mountPath: /etc/dynamo-operator
              readOnly: true
            - name: cert
              mountPath: /tmp/k8s-webhook-server/serving-certs
              readOnly: true
            {{- with $own.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: config
          configMap:
            name: {{ $fullname }}-config
        # While the Secret does not exist, the kubelet tries again, at first after seconds and never later than after two minutes. It
        # reads a volume that it has mounted about once a minute. In mode auto the controller writes the facts before the Secret, so the
        # webhook has both when it starts.
        - name: cert
          projected:
            sources:
              # ca.key stays in the Secret.
              - secret:
                  name: {{ include "dynamo-operator.certificateSecret" . | toYaml }}
                  items:
                    - key: tls.crt
                      path: tls.crt
                    - key: tls.key
                      path: tls.key
              - configMap:
                  name: {{ include "dynamo-operator.factsName" . | toYaml }}
                  optional: true
                  items:
                    - key: facts.yaml
                      path: facts.yaml
        {{- with $own.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end }}

{{/* How long a pod of the webhook may take to end: its shutdownDelay, which is 10s by default, and 30 s more, in whole seconds. */}}
{{- define "dynamo-operator.webhookGraceSeconds" -}}
{{- $parts := list "server" "webhook" "shutdownDelay" -}}
{{- $delay := (include "dynamo-operator.valueAt" (list .Values.extraConfig $parts) | fromJson).it -}}
{{- if kindIs "invalid" $delay -}}{{- $delay = "10s" -}}{{- end -}}
{{ add 30 (include "dynamo-operator.seconds" $delay | float64 | ceil | int) }}
{{- end }}

{{/* The ports of the pods of the webhook, as YAML. Null counts as absent. */}}
{{- define "dynamo-operator.webhookPorts" -}}
{{- $own := .Values.webhook | default dict -}}
webhook: {{ $own.port | default 9443 }}
health: {{ $own.healthPort | default 8081 }}
metrics: {{ $own.metricsPort | default 8080 }}
{{- end }}

{{/* The ConfigMap that the controller writes for the webhook. The name is that of the program. */}}
{{- define "dynamo-operator.factsName" -}}
dynamo-operator-facts
{{- end }}
