{{- define "ptc.name" -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{- end }}

{{- define "ptc.selector" -}}
app.kubernetes.io/name: ptc
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ptc.labels" -}}
{{ include "ptc.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "ptc.namespace" -}}{{ .Values.programs.namespace | default .Release.Namespace }}{{- end }}

{{- define "ptc.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}{{ printf "%s@%s" $image.repository $image.digest }}
{{- else -}}{{ printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) }}{{- end -}}
{{- end }}

{{- define "ptc.hasCertificates" -}}
{{- if and .Values.programs.certificatesSecret .Values.programs.clientCertificatesSecret }}yes{{ end -}}
{{- end }}

{{/* ptc.yaml: what the operator says, and what the chart knows. */}}
{{- define "ptc.config" -}}
{{- $http := dict "listen" "0.0.0.0:8080" "public_url" .Values.http.publicUrl "trusted_proxies" .Values.http.trustedProxies "drain_seconds" .Values.http.drainSeconds -}}
{{- if .Values.http.tlsSecret -}}{{- $_ := set $http "tls" (dict "cert" "/etc/ptc/tls/tls.crt" "key" "/etc/ptc/tls/tls.key") -}}{{- end -}}
{{- $kubernetes := dict "namespace" (include "ptc.namespace" .) "template" .Values.programs.template "ready_timeout_seconds" .Values.programs.readyTimeoutSeconds -}}
{{- if include "ptc.hasCertificates" . -}}{{- $_ := set $kubernetes "certificates" "/etc/ptc/launcher" -}}{{- end -}}
{{- $sandbox := dict "engine" "kubernetes" "kubernetes" $kubernetes -}}
{{- if .Values.programs.image -}}{{- $_ := set $sandbox "image" (regexReplaceAll "^.*/" (regexReplaceAll "(:[^/:@]+)?@.*$" .Values.programs.image "") "") -}}{{- end -}}
{{- $storage := dict "url" "${PTC_DATABASE_URL}" "encryption_key" "${PTC_ENCRYPTION_KEY}" -}}
{{- $execution := dict "memory_mb" .Values.programs.memoryMb "cpus" .Values.programs.cpus "pids" .Values.programs.pids -}}
{{- $names := dict "javascript" "typescript" "python" "python" -}}
{{- $languages := list -}}
{{- range .Values.programs.pools -}}{{- $languages = append $languages (get $names .runner) -}}{{- end -}}
{{- $own := dict "http" $http "sandbox" $sandbox "storage" $storage "execution" $execution "languages" $languages -}}
{{- mergeOverwrite (deepCopy .Values.config) $own | toYaml -}}
{{- end }}
