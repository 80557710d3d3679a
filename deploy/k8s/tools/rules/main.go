// Checks manifests by the rules of a folder, in Rego. It calls OPA's own packages, since conftest and OPA's command take
// minutes to compile:
//
//	rules FOLDER VERSION < manifests.yaml
//
// It prints each problem: a file that is not formatted, a test of the rules that fails, and what `deny` in the
// package `main` says of each manifest, with VERSION as `data.version`. It exits with 1 if there is any.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: rules FOLDER VERSION < manifests.yaml")
		os.Exit(2)
	}
	problems, err := check(context.Background(), os.Args[1], os.Args[2], os.Stdin)
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func check(ctx context.Context, folder, version string, manifests io.Reader) ([]string, error) {
	modules, _, err := tester.Load([]string{folder}, nil)
	if err != nil {
		return nil, err
	}
	if len(modules) == 0 {
		return nil, fmt.Errorf("%s has no rules", folder)
	}
	problems, err := unformatted(modules)
	if err != nil {
		return nil, err
	}
	failed, err := failedTests(ctx, modules)
	if err != nil {
		return nil, err
	}
	refused, err := refusals(ctx, modules, version, manifests)
	return slices.Concat(problems, failed, refused), err
}

func unformatted(modules map[string]*ast.Module) (problems []string, err error) {
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		formatted, err := format.Source(file, text)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(text, formatted) {
			problems = append(problems, file+" is not as `opa fmt` formats it")
		}
	}
	return problems, nil
}

func failedTests(ctx context.Context, modules map[string]*ast.Module) (problems []string, err error) {
	results, err := tester.NewRunner().SetStore(inmem.New()).CapturePrintOutput(true).Run(ctx, modules)
	if err != nil {
		return nil, err
	}
	count := 0
	for result := range results {
		count++
		if !result.Pass() {
			problems = append(problems, fmt.Sprintf("%s\n%s", result, result.Output))
		}
	}
	if count == 0 {
		problems = append(problems, "the rules have no tests")
	}
	return problems, nil
}

func refusals(ctx context.Context, modules map[string]*ast.Module, version string, manifests io.Reader) (problems []string, err error) {
	options := []func(*rego.Rego){
		rego.Query("data.main.deny"),
		rego.Store(inmem.NewFromObject(map[string]any{"version": version})),
	}
	for _, module := range modules {
		options = append(options, rego.ParsedModule(module))
	}
	query, err := rego.New(options...).PrepareForEval(ctx)
	if err != nil {
		return nil, err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(manifests))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return problems, nil
		}
		if err != nil {
			return problems, err
		}
		var manifest any
		if err := strict.Unmarshal(document, &manifest); err != nil {
			return problems, err
		}
		results, err := query.Eval(ctx, rego.EvalInput(manifest))
		if err != nil {
			return problems, err
		}
		if len(results) != 1 {
			return problems, errors.New("the rules have no `deny` in the package `main`")
		}
		for _, problem := range results[0].Expressions[0].Value.([]any) {
			problems = append(problems, fmt.Sprint(problem))
		}
	}
}
