{{/* Labels that tell which release an object belongs to. */}}
{{- define "carve-out.labels" -}}
app.kubernetes.io/instance: {{ quote .Release.Name }}
app.kubernetes.io/managed-by: {{ quote .Release.Service }}
{{- end }}

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

{{/* Another project's image: (list . "PATH" "TAG"). */}}
{{- define "carve-out.thirdParty" -}}
{{- $other := (index . 0).Values.thirdParty }}
{{- $path := index . 1 }}
{{- printf "%s/%s:%s" $other.registry $path (index . 2) }}
{{- with get $other.digests (base $path) }}@{{ . }}{{ end }}
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

{{/* The live page's Prometheus, if it is not ours. */}}
{{- define "carve-out.ownPrometheus" -}}
{{- with .Values.prometheus.url }}
- name: PROMETHEUS_URL
  value: {{ quote . }}
{{- end }}
{{- end }}

{{/* Ports of the cluster's Prometheus. Policies look at pods' ports, but url has a Service's, so allow 9090 too. */}}
{{- define "carve-out.prometheusPorts" -}}
{{- $host := (urlParse .Values.prometheus.url).host }}
{{- $port := contains ":" $host | ternary (splitList ":" $host | last) "80" }}
{{- range uniq (list $port "9090") }}
- port: {{ . }}
{{- end }}
{{- end }}

{{/* The load balancers in front of nginx. */}}
{{- define "carve-out.trusted" -}}
{{- $private := list "10.0.0.0/8" "172.16.0.0/12" "192.168.0.0/16" "100.64.0.0/10" "fc00::/7" }}
{{- $behind := or .Values.ingress.enabled .Values.httpRoute.enabled }}
{{- default (ternary $private list $behind) .Values.proxy.trustedProxies | join "," }}
{{- end }}

{{/* An app of your own: the ConfigMaps sides and routes, and a checksum that starts a rollout when they change. */}}
{{- define "carve-out.sides" -}}
{{- with .Values.old }}
old: {{ . }}
new: {{ $.Values.new }}
routes: {{ keys $.Values.routes | sortAlpha | join "," }}
{{- with $.Values.oldPods }}
old-pods: {{ . }}
{{- end }}
{{- with $.Values.newPods }}
new-pods: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "carve-out.routes" -}}
{{- range $name, $text := .Values.routes }}
{{ $name }}.toml: {{ toJson $text }}
{{- end }}
{{- end }}

{{- define "carve-out.ownAppSum" -}}
{{- with include "carve-out.sides" . }}
checksum/own-app: {{ list . $.Values.routes | toJson | sha256sum }}
{{- end }}
{{- end }}

{{- define "carve-out.publicUrl" -}}
{{- $ingress := .Values.ingress }}
{{- $url := "" }}
{{- if and $ingress.enabled $ingress.host $ingress.tls.secretName }}
{{- $url = printf "https://%s" $ingress.host }}
{{- end }}
{{- with default $url .Values.legacyNode.publicUrl }}
- name: PUBLIC_URL
  value: {{ quote . }}
{{- end }}
{{- end }}
