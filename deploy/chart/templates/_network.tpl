{{- define "scaler.statusIngress" -}}
{{- /* Names and numbers of all namespaces, no secret: to every pod, and nothing outside. */ -}}
- from:
    - namespaceSelector: {}
  ports:
    - {port: http, protocol: TCP}
{{- end -}}

{{- define "scaler.egress" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
    {{- if .Values.openshift.enabled }}
    - {port: 5353, protocol: UDP}
    - {port: 5353, protocol: TCP}
    {{- end }}
- ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
- to:
    - namespaceSelector: {}
  ports:
    - {port: {{ .Values.networkPolicy.prometheusPort | default (ternary 9091 9090 .Values.openshift.enabled) }}, protocol: TCP}
{{- end -}}
