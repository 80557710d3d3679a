{{/* An image of this project: (list . "NAME"). */}}
{{- define "carve-out.image" -}}
{{- $top := index . 0 }}
{{- $name := index . 1 }}
{{- $image := $top.Values.image }}
{{- with get $image.digests $name }}
{{- printf "%s/%s@%s" $image.registry $name . }}
{{- else }}
{{- printf "%s/%s:%s" $image.registry $name (default $top.Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{- define "carve-out.pullSecrets" -}}
{{- range .Values.image.pullSecrets }}
- name: {{ . }}
{{- end }}
{{- end }}

{{- define "carve-out.apiServerPorts" -}}
{{- range .Values.networkPolicy.apiServerPorts }}
- port: {{ . }}
{{- end }}
{{- end }}
