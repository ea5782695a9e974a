{{- /* Of all objects: the release's name where it has the chart's in it. */ -}}
{{- define "scaler.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "scaler.actuatorName" -}}
{{- include "scaler.name" . }}-actuator
{{- end -}}

{{- /* Never changed, since selectors can't be. Takes (list context component). */ -}}
{{- define "scaler.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "scaler.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "scaler.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "scaler.priorityClass" -}}
{{- .Values.priorityClass.name | default (ternary (include "scaler.name" .) "" .Values.priorityClass.create) -}}
{{- end -}}

{{- define "scaler.policy" -}}
{{- if and (kindIs "string" .Values.policy) .Values.policy -}}
{{ .Values.policy }}
{{- else if .Values.policy -}}
{{ toYaml .Values.policy }}
{{- else if .Values.openshift.enabled -}}
{{ .Files.Get "files/policy-openshift.yaml" }}
{{- else -}}
{{ .Files.Get "files/policy.yaml" }}
{{- end -}}
{{- end -}}
