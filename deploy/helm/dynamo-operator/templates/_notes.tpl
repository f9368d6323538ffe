{{/* The notes: what was installed and skipped, and what comes next. The platform chart prints them, too. */}}
{{- define "dynamo-operator.notes" -}}
{{- $fullname := include "dynamo-operator.fullname" . -}}
{{- $target := include "dynamo-operator.targetNamespace" . -}}
{{- $restricted := include "dynamo-operator.restricted" . -}}
{{- $clusterScoped := include "dynamo-operator.clusterScoped" . -}}
Release {{ .Release.Name }} in namespace {{ .Release.Namespace }}: the Dynamo operator {{ .Chart.Version }}, for the Dynamo platform {{ .Chart.AppVersion }}.

Installed:
{{- if $restricted }}
- Controller {{ $fullname }}-controller-manager and webhook {{ $fullname }}-webhook, for namespace {{ $target }} only.
  The conversion of requests is set up for the whole cluster. A cluster-wide operator, if there is one, should own it.
{{- else }}
- Controller {{ $fullname }}-controller-manager and webhook {{ $fullname }}-webhook, for all namespaces.
{{- end }}
- NATS: {{ include "dynamo-operator.natsAddress" . | default "no address; graphs that need one name it themselves" }}
- etcd: {{ include "dynamo-operator.etcdAddress" . | default "no address" }}
- Certificate of the webhook: {{ include "dynamo-operator.certificateText" . }}
{{- with include "dynamo-operator.skipped" . }}

Skipped:
{{- . }}
{{- end }}
{{- with include "dynamo-operator.remarks" . }}

Please note:
{{- . }}
{{- end }}
{{- with (include "dynamo-operator.ignored" . | fromJson).all }}

Values without effect (also in an annotation of ConfigMap {{ $fullname }}-config):
{{- range . }}
- {{ .path }}: {{ .answer }}
{{- end }}
{{- end }}

Next:
- kubectl -n {{ .Release.Namespace }} rollout status deployment {{ $fullname }}-controller-manager {{ $fullname }}-webhook
{{- if include "dynamo-operator.checksStartup" . }}
- helm -n {{ .Release.Namespace }} test {{ .Release.Name }}   checks admission and conversion again
{{- end }}
- kubectl apply -f GRAPH; kubectl get dgd,dcd   shows what runs and, if something does not, why
- To uninstall: first delete the custom resources and wait until they are gone, then helm uninstall, then delete the CRDs.
  Otherwise objects keep finalizers that nobody removes, and requests cannot be read, because their conversion has no webhook.
{{- end }}

{{- define "dynamo-operator.certificateText" -}}
{{- $secret := include "dynamo-operator.certificateSecret" . -}}
{{- if ((.Values.webhook).certManager).enabled -}}
cert-manager fills Secret {{ $secret }}
{{- else if eq "manual" (include "dynamo-operator.certificateMode" .) -}}
you fill Secret {{ $secret }} (tls.crt, tls.key, ca.crt)
{{- else -}}
the controller makes and renews it, in Secret {{ $secret }}
{{- end }}
{{- end }}

{{/* The charts, below the one that the user installs, that lead to this one, as {"names": LIST}. They have their names there, or their
     aliases. */}}
{{- define "dynamo-operator.charts" -}}
{{- $names := rest (splitList "/charts/" (trimSuffix "/templates" .Template.BasePath)) -}}
{{- /* The platform chart calls templates of this one with the path of its own. */ -}}
{{- if hasKey . "Platform" -}}
{{- $names = append $names "dynamo-operator" -}}
{{- end -}}
{{ dict "names" $names | toJson }}
{{- end }}

{{/* What is before the path of a value of this chart. */}}
{{- define "dynamo-operator.valuePrefix" -}}
{{- range (include "dynamo-operator.charts" . | fromJson).names -}}{{ . }}.{{- end -}}
{{- end }}

{{- define "dynamo-operator.skipped" -}}
{{- $prefix := include "dynamo-operator.valuePrefix" . -}}
{{- $folder := "" -}}
{{- range (include "dynamo-operator.charts" . | fromJson).names -}}
{{- $folder = printf "%scharts/%s/" $folder . -}}
{{- end -}}
{{- $monitors := ((.Values.dynamo).metrics).podMonitors | default dict -}}
{{- if not (include "dynamo-operator.appliesCrds" .) }}
- CustomResourceDefinitions. An administrator applies them: kubectl apply --server-side -k deploy/crds
{{- end }}
{{- if not (include "dynamo-operator.clusterScoped" .) }}
- Cluster-scoped objects. An administrator applies them: helm template {{ .Release.Name }} CHART -n {{ .Release.Namespace }} --set {{ $prefix }}rbac.clusterScoped=true
  --show-only '{{ $folder }}templates/cluster/*.yaml' with the other values of this release
{{- end }}
{{- if not (include "dynamo-operator.monitors" (list . (.Values.metricsService).enabled)) }}
- ServiceMonitors: {{ include "dynamo-operator.whyNoMonitors" (.Values.metricsService).enabled }}; {{ $prefix }}metricsService.enabled=true makes them
{{- end }}
{{- if not (include "dynamo-operator.monitors" (list . $monitors.enabled)) }}
- PodMonitors: {{ include "dynamo-operator.whyNoMonitors" $monitors.enabled }}; {{ $prefix }}dynamo.metrics.podMonitors.enabled=true makes them
{{- end }}
{{- if not (include "dynamo-operator.checksStartup" .) }}
- The start-up check: {{ if (.Values.webhook).namespaceSelector }}{{ $prefix }}webhook.namespaceSelector may leave out the namespace of the check{{ else }}{{ $prefix }}startupCheck.enabled is false{{ end }}
{{- end }}
{{- end }}

{{- define "dynamo-operator.whyNoMonitors" -}}
{{ if eq "false" (toString .) }}switched off{{ else }}the cluster is not known to have the API monitoring.coreos.com/v1{{ end }}
{{- end }}

{{- define "dynamo-operator.remarks" -}}
{{- $election := (.Values.controllerManager).leaderElection | default dict -}}
{{- $webhook := .Values.webhook | default dict -}}
{{- $prefix := include "dynamo-operator.valuePrefix" . -}}
{{- if include "dynamo-operator.appliesCrds" . }}
- The controller's init container applies the CustomResourceDefinitions. They may be missing for some seconds.
{{- end }}
{{- if include "dynamo-operator.replacesImage" . }}
- The image nvcr.io/nvidia/ai-dynamo/kubernetes-operator does not have these programs. {{ include "dynamo-operator.image" . }} is used in its place.
{{- end }}
{{- $image := (((.Values.controllerManager).manager).image) | default dict }}
{{- if and .Release.IsUpgrade $image.digest (not (include "dynamo-operator.replacesImage" .)) }}
- The image is {{ include "dynamo-operator.image" . }}: the digest counts, and not the {{ with $image.tag }}tag {{ . }}. If only the tag{{ else }}version of the chart. If only the chart{{ end }}
  is new, the digest is that of the former image: set {{ $prefix }}controllerManager.manager.image.digest, too, or to "".
{{- end }}
{{- range list (list "controllerManager" "controller" (include "dynamo-operator.controllerAccount" .)) (list "webhook" "webhook" (include "dynamo-operator.webhookAccount" .)) }}
{{- if not (include "dynamo-operator.makesAccount" (list $ (index . 0))) }}
- The {{ index . 1 }} has the service account {{ index . 2 }}. This release does not make it: without it there are no pods.
{{- end }}
{{- end }}
{{- if $webhook.hostNetwork }}
{{- $ports := include "dynamo-operator.webhookPorts" . | fromYaml }}
- Each pod of the webhook needs a node of its own where the ports {{ $ports.webhook }}, {{ $ports.health }} and {{ $ports.metrics }} are free. The API server must be able to
  connect to port {{ $ports.webhook }} of the nodes, and the namespace must have the Pod Security level privileged. The metrics at port {{ $ports.metrics }} are
  plain http, for all who reach the node.{{ if (.Values.networkPolicy).enabled }} NetworkPolicies do not count for these pods.{{ end }}
{{- end }}
{{- if and (not (include "dynamo-operator.restricted" .)) (eq (toString $election.namespace) .Release.Namespace) }}
- {{ $prefix }}controllerManager.leaderElection.namespace is that of the release: operators elsewhere do not see this Lease, so two could work at
  the same time.
{{- end }}
{{- if and ((.Values.dynamo).ingress).enabled (eq "my-tls-secret" (toString .Values.dynamo.ingress.tlsSecretName)) }}
- {{ $prefix }}dynamo.ingress.tlsSecretName is still the placeholder my-tls-secret.
{{- end }}
{{- if and ($webhook.certificateSecret).external (not $webhook.caBundle) (not ($webhook.certManager).enabled) }}
- {{ $prefix }}webhook.caBundle is empty, so the controller injects ca.crt of the Secret. The API server refuses writes while the Secret does not exist.
{{- end }}
{{- if eq "true" (toString ((.Values.global).etcd).install) }}
- The image of the bundled etcd is archived and gets no updates. {{ $prefix }}discoveryBackend=kubernetes needs no etcd.
{{- end }}
{{- if (get . "Platform" | default dict).natsUnset }}
- NATS is installed because no switch says otherwise. Versions from 1.4 on did not install it: global.nats.install=false.
{{- end }}
{{- end }}
