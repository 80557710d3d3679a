// Validates manifests of custom kinds, which Kubernetes' own schemas do not cover. It reads a YAML stream
// on stdin into the Go types that the kinds' projects publish, prints one line per manifest that does not
// fit (an unknown field counts), and exits with 1 if there is any.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	strict "sigs.k8s.io/yaml"
)

// typeOf returns a value of the kind's type, or nil for an unknown kind.
func typeOf(apiVersion, kind string) any {
	switch apiVersion + " " + kind {
	case "gateway.networking.k8s.io/v1 HTTPRoute":
		return &gateway.HTTPRoute{}
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return &monitoring.ServiceMonitor{}
	case "monitoring.coreos.com/v1 PrometheusRule":
		return &monitoring.PrometheusRule{}
	}
	return nil
}

func check(document []byte) error {
	var object unstructured.Unstructured
	if err := strict.Unmarshal(document, &object.Object); err != nil {
		return err
	}
	name := object.GetKind() + " " + object.GetName()
	target := typeOf(object.GetAPIVersion(), object.GetKind())
	if target == nil {
		return fmt.Errorf("%s: no type for %s", name, object.GetAPIVersion())
	}
	if err := strict.UnmarshalStrict(document, target); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func main() {
	reader := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	fine := true
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = check(document)
		}
		if err != nil {
			fmt.Println(err)
			fine = false
		}
	}
	if !fine {
		os.Exit(1)
	}
}
