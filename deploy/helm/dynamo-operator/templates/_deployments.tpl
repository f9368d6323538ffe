{{/* The controller, which creates the children of custom resources. One replica works; the others keep their caches in sync. */}}
{{- define "dynamo-operator.controllerDeployment" -}}
{{- $fullname := include "dynamo-operator.fullname" . -}}
{{- $own := .Values.controllerManager | default dict -}}
{{- $manager := $own.manager | default dict -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $fullname }}-controller-manager
  namespace: {{ .Release.Namespace | toYaml }}
  labels:
    control-plane: controller-manager
    {{- include "dynamo-operator.labels" (list . "manager") | nindent 4 }}
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
      {{- include "dynamo-operator.controllerSelector" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    # The old pod works until the new one is ready, so a bad image or configuration does no harm.
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      labels:
        {{- $labels := include "dynamo-operator.controllerSelector" . | fromYaml }}
        {{- $_ := set $labels "app.kubernetes.io/component" "manager" }}
        {{- include "dynamo-operator.texts" (merge $labels ($own.podLabels | default dict) (.Values.commonLabels | default dict)) | nindent 8 }}
      annotations:
        {{- $annotations := dict "kubectl.kubernetes.io/default-container" "manager" }}
        {{- $_ := set $annotations "checksum/config" (include "dynamo-operator.config" . | sha256sum) }}
        {{- include "dynamo-operator.texts" (merge $annotations ($own.podAnnotations | default dict) (.Values.commonAnnotations | default dict)) | nindent 8 }}
    spec:
      serviceAccountName: {{ include "dynamo-operator.controllerAccount" . | quote }}
      automountServiceAccountToken: true
      # After SIGTERM the leader finishes its reconciles and releases its lease; it exits after 20 s at the latest.
      terminationGracePeriodSeconds: 30
      securityContext:
        {{- include "dynamo-operator.podSecurityContext" . | nindent 8 }}
      {{- include "dynamo-operator.scheduling" (list . $own) | nindent 6 }}
      topologySpreadConstraints:
        {{- include "dynamo-operator.spread" (list $own (include "dynamo-operator.controllerSelector" .)) | nindent 8 }}
      {{- if include "dynamo-operator.appliesCrds" . }}
      initContainers:
        {{- include "dynamo-operator.crdApply" . | nindent 8 }}
      {{- end }}
      containers:
        - name: manager
          image: {{ include "dynamo-operator.image" . | quote }}
          imagePullPolicy: {{ include "dynamo-operator.imagePullPolicy" . }}
          command: [/dynamo-controller]
          args:
            - run
            - --config=/etc/dynamo-operator/config.yaml
            - --operator-version={{ .Chart.AppVersion }}
            {{- with include "dynamo-operator.ignoredPaths" . }}
            - {{ printf "--ignored-values=%s" . | quote }}
            {{- end }}
          env:
            {{- include "dynamo-operator.env" . | trim | nindent 12 }}
          ports:
            - name: health
              containerPort: 8081
              protocol: TCP
            - name: metrics
              containerPort: 8080
              protocol: TCP
          livenessProbe:
            httpGet:
              path: /healthz
              port: health
            periodSeconds: 20
          # Ready as soon as all caches are in sync. Standbys are ready, too.
          readinessProbe:
            httpGet:
              path: /readyz
              port: health
            periodSeconds: 5
          resources:
            {{- include "dynamo-operator.resources" $manager.resources | nindent 12 }}
          securityContext:
            {{- include "dynamo-operator.securityContext" $manager.containerSecurityContext | nindent 12 }}
          volumeMounts:
            - name: operator-config
              mountPath: /etc/dynamo-operator
              readOnly: true
            {{- with $own.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: operator-config
          configMap:
            name: {{ $fullname }}-config
        {{- with $own.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end }}

{{/* "true" if the init container applies CRDs. The cluster shares them, so an operator of one namespace never does. */}}
{{- define "dynamo-operator.appliesCrds" -}}
{{ if and (ne (toString .Values.upgradeCRD) "false") (not (include "dynamo-operator.restricted" .)) }}true{{ end }}
{{- end }}

{{/* The CRDs of the image. They are not in crds/ of the chart, because Helm 4 refuses what another manager wrote. */}}
{{- define "dynamo-operator.crdApply" -}}
- name: crd-apply
  image: {{ include "dynamo-operator.image" . | quote }}
  imagePullPolicy: {{ include "dynamo-operator.imagePullPolicy" . }}
  command: [/dynamo-controller]
  args:
    - crds
    - apply
    - --directory=/opt/dynamo-operator/crds
    - --operator-version={{ .Chart.AppVersion }}
  {{- with .Values.env }}
  env:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  resources:
    requests:
      cpu: 10m
      memory: 32Mi
    limits:
      memory: 256Mi
  securityContext:
    {{- include "dynamo-operator.securityContext" ((.Values.controllerManager).manager).containerSecurityContext | nindent 4 }}
{{- end }}
