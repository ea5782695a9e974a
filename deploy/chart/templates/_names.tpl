{{- /* Of all objects: the release's name where it has the chart's in it. */ -}}
{{- define "scaler.name" -}}
{{- $release := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- $name := .Values.fullnameOverride | default ($release | trunc 50 | trimSuffix "-") -}}
{{- /* Of a Service, the strictest: a release may have dots in its name, or begin with a digit. */ -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "%q is no name for a Service: set fullnameOverride to lower-case letters, digits and -, beginning with a letter" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "scaler.actuatorName" -}}
{{- include "scaler.name" . }}-actuator
{{- end -}}

{{- /* Never changed, since selectors can't be. Takes (list context component). */ -}}
{{- define "scaler.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "scaler.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
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
