// Renders a chart as `helm template` does, with helm's own packages and without its clients of clusters and
// registries, which take minutes to compile:
//
//	helm-template template NAME CHART --namespace NAMESPACE [--set NAME=VALUE]...
//
// It prints no notes, and knows neither hooks nor dependencies: the chart has none.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/strvals"
)

func main() {
	if len(os.Args) < 4 || os.Args[1] != "template" {
		fmt.Fprintln(os.Stderr, "usage: helm-template template NAME CHART --namespace NAMESPACE [--set NAME=VALUE]...")
		os.Exit(2)
	}
	if err := render(os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func render(name, folder string, arguments []string) error {
	values := map[string]any{}
	flags := flag.NewFlagSet("template", flag.ExitOnError)
	namespace := flags.String("namespace", "default", "of the release")
	flags.Func("set", "a value", func(text string) error { return strvals.ParseInto(text, values) })
	// It exits if it fails.
	_ = flags.Parse(arguments)

	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	if len(chart.Metadata.Dependencies) > 0 {
		return fmt.Errorf("%s has dependencies", folder)
	}
	capabilities := common.DefaultCapabilities
	wanted, has := chart.Metadata.KubeVersion, capabilities.KubeVersion.String()
	if wanted != "" && !chartutil.IsCompatibleRange(wanted, has) {
		return fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", wanted, has)
	}
	release := common.ReleaseOptions{Name: name, Namespace: *namespace, Revision: 1, IsInstall: true}
	// It validates the values by the chart's schema.
	all, err := util.ToRenderValues(chart, values, release, capabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		base := path.Base(file)
		// helm prints no empty object either for a file that begins with a separator.
		text := strings.TrimPrefix(strings.TrimSpace(files[file]), "---\n")
		if !strings.HasPrefix(base, "_") && base != "NOTES.txt" && text != "" {
			fmt.Printf("---\n# Source: %s\n%s\n", file, text)
		}
	}
	return nil
}
