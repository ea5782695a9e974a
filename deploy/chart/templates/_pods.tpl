{{- /* What the pods of both Deployments have alike. Takes (list context component). */ -}}
{{- define "scaler.podMetadata" -}}
{{- $root := index . 0 -}}
{{- $mtls := and $root.Values.mtls.enabled (eq (index . 1) "scaler") -}}
{{- $scraped := ternary $root.Values.serviceMonitor.enabled $root.Values.podMonitor.enabled (eq (index . 1) "scaler") -}}
labels:
  {{- include "scaler.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
annotations:
  {{- if not $scraped }}
  prometheus.io/scrape: "true"
  prometheus.io/port: "8080"
  {{- end }}
  {{- if $root.Values.openshift.enabled }}
  openshift.io/required-scc: restricted-v2
  {{- end }}
  {{- if $mtls }}
  prometheus.io/scheme: https
  {{- end }}
  {{- if and $scraped (not $root.Values.openshift.enabled) (not $mtls) }} {}{{ end }}
{{- end -}}

{{- define "scaler.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- define "scaler.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "scaler.placement" -}}
{{- $root := index . 0 -}}
{{- with include "scaler.priorityClass" $root }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "scaler.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end -}}

{{- /* The pod on which an Event says that a policy was refused. */ -}}
{{- define "scaler.environment" -}}
env:
  - name: POD_NAMESPACE
    valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - name: POD_UID
    valueFrom: {fieldRef: {fieldPath: metadata.uid}}
{{- end -}}

{{- define "scaler.tlsSecret" -}}
{{- .Values.mtls.secretName | default (printf "%s-server" (include "scaler.name" .)) -}}
{{- end -}}

{{- /* What a kubelet asks: over HTTPS it asks the status port, since it can't speak TLS to gRPC's
health service, and /healthz says no once the event loop that answers KEDA does not turn. */ -}}
{{- define "scaler.alive" -}}
{{- if .Values.mtls.enabled -}}
httpGet:
  path: /healthz
  port: http
  scheme: HTTPS
{{- else -}}
grpc:
  port: 6000
{{- end -}}
{{- end -}}

{{- /* Whole folders, never subPath: the kubelet does not update a subPath mount. */ -}}
{{- define "scaler.mounts" -}}
volumeMounts:
  - name: policy
    mountPath: /etc/kueue-gpu-scaler
    readOnly: true
  {{- if .Values.openshift.enabled }}
  - name: service-ca
    mountPath: /etc/kueue-gpu-scaler-ca
    readOnly: true
  {{- end }}
{{- end -}}

{{- define "scaler.volumes" -}}
volumes:
  - name: policy
    configMap:
      name: {{ .Values.policyConfigMap | default (printf "%s-policy" (include "scaler.name" .)) | quote }}
  {{- if .Values.openshift.enabled }}
  - name: service-ca
    configMap:
      name: {{ include "scaler.name" . }}-service-ca
      # Named, so that no pod starts before the cluster has put the authorities in.
      items:
        - key: service-ca.crt
          path: service-ca.crt
  {{- end }}
{{- end -}}
