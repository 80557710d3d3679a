package main

# Each case changes one of the manifests that pass, and names the words of the rule that must then refuse it.

passing["Deployment"] := {
	"kind": "Deployment",
	"metadata": {"name": "it"},
	"spec": {
		"strategy": {"type": "Recreate"},
		"template": {"spec": {
			"automountServiceAccountToken": false,
			"shareProcessNamespace": false,
			"topologySpreadConstraints": [{"matchLabelKeys": ["pod-template-hash"]}],
			"initContainers": [{"name": "first", "image": "docker.io/first:v1.2.3"}],
			"containers": [{
				"name": "it",
				"image": "localhost/it:1.2.3",
				"ports": [{"name": "http"}],
				"startupProbe": {"path": "/"},
				"livenessProbe": {"path": "/"},
				"readinessProbe": {"path": "/"},
				"resources": {"limits": {"ephemeral-storage": "100Mi"}},
			}],
			"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
		}},
	},
}

passing["Job"] := {
	"kind": "Job",
	"metadata": {"name": "it"},
	"spec": {"template": {"spec": {
		"automountServiceAccountToken": false,
		"containers": [{"name": "it", "image": sprintf("registry.test/it@sha256:%s", [digest])}],
	}}},
}

digest := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

passing["PodDisruptionBudget"] := {
	"kind": "PodDisruptionBudget",
	"metadata": {"name": "it"},
	"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"},
}

passing["Service"] := {"kind": "Service", "metadata": {"name": "it"}, "spec": {"ports": []}}

# Kind, path, the value there or null to remove it, and words of the message.
refused := [
	["Deployment", "/spec/strategy", null, "strategy"],
	["Deployment", "/spec/strategy", {"type": "RollingUpdate"}, "strategy"],
	["Deployment", "/spec/template/spec/topologySpreadConstraints/0/matchLabelKeys", null, "matchLabelKeys"],
	["Deployment", "/spec/template/spec/topologySpreadConstraints/0/matchLabelKeys", ["app"], "matchLabelKeys"],
	["PodDisruptionBudget", "/spec/unhealthyPodEvictionPolicy", null, "AlwaysAllow"],
	["PodDisruptionBudget", "/spec/unhealthyPodEvictionPolicy", "IfHealthyBudget", "AlwaysAllow"],
	["Deployment", "/spec/template/spec/automountServiceAccountToken", null, "automountServiceAccountToken"],
	["Job", "/spec/template/spec/automountServiceAccountToken", true, "automountServiceAccountToken"],
	["Deployment", "/spec/template/spec/shareProcessNamespace", true, "shareProcessNamespace"],
	["Deployment", "/spec/template/spec/containers/0/readinessProbe", null, "no readinessProbe"],
	["Deployment", "/spec/template/spec/containers/0/startupProbe", null, "no startupProbe"],
	["Deployment", "/spec/template/spec/containers/0/livenessProbe", null, "no livenessProbe"],
	["Deployment", "/spec/template/spec/containers/0/image", "docker.io/it", "no fixed tag"],
	["Job", "/spec/template/spec/containers/0/image", "docker.io/it:latest", "no fixed tag"],
	["Job", "/spec/template/spec/containers/0/image", "registry.test:5000/it", "no fixed tag"],
	["Job", "/spec/template/spec/containers/0/image", "docker.io/it:1.2", "no fixed tag"],
	["Deployment", "/spec/template/spec/initContainers/0/image", "docker.io/first:1", "no fixed tag"],
	["Deployment", "/spec/template/spec/containers/0/image", "localhost/it:1.2.4", "workspace's version, 1.2.3"],
	["Deployment", "/spec/template/spec/initContainers/0/image", "localhost/it:11.2.3", "workspace's version"],
	["Deployment", "/spec/template/spec/containers/0/resources", null, "ephemeral-storage"],
	["Deployment", "/spec/template/spec/containers/0/resources/limits/ephemeral-storage", "50Mi", "ephemeral-storage"],
	["Deployment", "/spec/template/spec/containers/0/resources/limits/ephemeral-storage", "0Mi", "ephemeral-storage"],
]

changed(kind, path, value) := json.patch(passing[kind], [{"op": "replace", "path": path, "value": value}]) if {
	value != null
} else := json.patch(passing[kind], [{"op": "remove", "path": path}])

test_each_rule_refuses_what_it_names if {
	every case in refused {
		[kind, path, value, words] := case
		problems := deny with input as changed(kind, path, value) with data.version as "1.2.3"
		print(path, value, problems)
		count(problems) == 1
		some problem in problems
		startswith(problem, sprintf("%s it: ", [kind]))
		contains(problem, words)
	}
}

test_what_follows_the_rules_passes if {
	every manifest in passing {
		problems := deny with input as manifest with data.version as "1.2.3"
		print(manifest.kind, problems)
		problems == set()
	}
}
