# What every manifest has to be, beside kube-score's checks. `make test-all PART=manifests` runs these rules over all that
# kustomize and helm render; manifests_test.rego shows for each that it refuses something.
package main

# The workspace's version; check.py hands it over.
deny contains "data.version is missing" if not data.version

pod := input.spec.template.spec

containers := array.concat(object.get(pod, "initContainers", []), pod.containers)

says(problem) := sprintf("%s %s: %s", [input.kind, input.metadata.name, problem])

of(container, problem) := says(sprintf("container %s: %s", [container.name, problem]))

# --- Pods ---------------------------------------------------------------------------------------------------

deny contains says("automountServiceAccountToken is not false: whoever breaks in could ask the Kubernetes API") if {
	not pod.automountServiceAccountToken == false
	pod
}

deny contains says("shareProcessNamespace is set: its containers could read each other's files, the API token too") if {
	pod.shareProcessNamespace
}

# Only the first container: an unready sidecar would take a working pod out of service.
deny contains says("no readinessProbe: it would get requests before it can answer them") if {
	input.kind != "Job"
	not pod.containers[0].readinessProbe
	pod
}

# --- Containers ---------------------------------------------------------------------------------------------

deny contains of(container, sprintf("no %s: a process that hangs would stay", [probe])) if {
	input.kind != "Job"
	some container in pod.containers
	some probe in ["startupProbe", "livenessProbe"]
	not container[probe]
}

deny contains of(container, sprintf("%s has no fixed tag: tomorrow it may be another program", [container.image])) if {
	some container in containers
	not regex.match(`(:v?\d+\.\d+\.\d+[\w.-]*|@sha256:[0-9a-f]{64})$`, container.image)
}

deny contains of(container, sprintf("%s does not have the workspace's version, %s", [container.image, data.version])) if {
	some container in containers
	startswith(container.image, "localhost/")
	not endswith(container.image, concat("", [":", data.version]))
}

# The kubelet counts five logs of 10 MiB, and larger ones where a log grows fast. nginx' requests are in that of edge.
deny contains of(container, "its log alone can exceed the limit of ephemeral-storage: the kubelet would evict it") if {
	some container in pod.containers
	some port in container.ports
	port.name in ["http", "edge"]
	container.name != "nginx"
	limit := object.get(container, ["resources", "limits", "ephemeral-storage"], "")
	not regex.match(`^([1-9]\d\dMi|\d+Gi)$`, limit)
}

# --- Deployments and budgets --------------------------------------------------------------------------------

deny contains says("strategy is not Recreate: two pods on two nodes would wait for one volume") if {
	input.kind == "Deployment"
	some volume in pod.volumes
	volume.persistentVolumeClaim
	not input.spec.strategy.type == "Recreate"
}

deny contains says("a spread without matchLabelKeys counts the pods of the last rollout") if {
	input.kind == "Deployment"
	some spread in pod.topologySpreadConstraints
	not spread.matchLabelKeys == ["pod-template-hash"]
}

deny contains says("unhealthyPodEvictionPolicy is not AlwaysAllow: a broken pod would hold up a drain") if {
	input.kind == "PodDisruptionBudget"
	not input.spec.unhealthyPodEvictionPolicy == "AlwaysAllow"
}
