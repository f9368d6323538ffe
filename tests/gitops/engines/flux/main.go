// Does with Flux's own libraries what its kustomize-controller does.
//
//	flux apply KUBECONFIG FILE          applies the objects of FILE: CRDs and namespaces first
//	flux diff KUBECONFIG FILE           compares the objects of FILE with the cluster, by a dry run
//	flux status KUSTOMIZATIONS OBJECTS  says how far the objects are: by kstatus alone (Flux's own copy, and that of
//	                                    sigs.k8s.io) and with the spec.healthCheckExprs of Flux Kustomizations
//
// It prints one line of JSON per object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	upstream "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A line of the output. Which members are set depends on the command.
type result struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Action    string `json:"action,omitempty"`
	Live      any    `json:"live,omitempty"`
	Merged    any    `json:"merged,omitempty"`
	Kstatus   string `json:"kstatus,omitempty"`
	Upstream  string `json:"upstream,omitempty"`
	Message   string `json:"message,omitempty"`
	Health    string `json:"health,omitempty"`
	Error     string `json:"error,omitempty"`
}

func main() {
	if len(os.Args) != 4 {
		check(fmt.Errorf("usage: flux apply|diff|status FILE FILE"))
	}
	switch os.Args[1] {
	case "apply":
		apply(manager(os.Args[2]), objects(os.Args[3]))
	case "diff":
		compare(manager(os.Args[2]), objects(os.Args[3]))
	case "status":
		judge(expressions(os.Args[2]), objects(os.Args[3]))
	default:
		check(fmt.Errorf("no command %s", os.Args[1]))
	}
}

func manager(kubeconfig string) *ssa.ResourceManager {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(err)
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	check(err)
	poller := polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{})
	// The names that kustomize-controller uses.
	return ssa.NewResourceManager(c, poller, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
}

func objects(path string) []*unstructured.Unstructured {
	file, err := os.Open(path)
	check(err)
	defer file.Close()
	found, err := ssautil.ReadObjects(file)
	check(err)
	return found
}

func prepared(m *ssa.ResourceManager, all []*unstructured.Unstructured) []*unstructured.Unstructured {
	check(normalize.UnstructuredList(all))
	m.SetOwnerLabels(all, "app", "flux-system")
	return all
}

func apply(m *ssa.ResourceManager, all []*unstructured.Unstructured) {
	set, err := m.ApplyAllStaged(context.Background(), prepared(m, all), ssa.DefaultApplyOptions())
	check(err)
	for _, each := range set.Entries {
		id := each.ObjMetadata
		print(result{Kind: id.GroupKind.Kind, Namespace: id.Namespace, Name: id.Name, Action: string(each.Action)})
	}
}

func compare(m *ssa.ResourceManager, all []*unstructured.Unstructured) {
	for _, each := range prepared(m, all) {
		entry, live, merged, err := m.Diff(context.Background(), each, ssa.DefaultDiffOptions())
		check(err)
		line := resultOf(each)
		line.Action = string(entry.Action)
		if live != nil && merged != nil {
			line.Live, line.Merged = live.Object, merged.Object
		}
		print(line)
	}
}

// The healthCheckExprs of the Kustomizations in a file, by kind.
func expressions(path string) map[schema.GroupKind]*cel.StatusEvaluator {
	found := map[schema.GroupKind]*cel.StatusEvaluator{}
	for _, each := range objects(path) {
		text, err := json.Marshal(each.Object)
		check(err)
		var kustomization struct {
			Spec struct {
				HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
			} `json:"spec"`
		}
		check(json.Unmarshal(text, &kustomization))
		for _, each := range kustomization.Spec.HealthCheckExprs {
			evaluator, err := cel.NewStatusEvaluator(&each.HealthCheckExpressions)
			check(err)
			found[schema.FromAPIVersionAndKind(each.APIVersion, each.Kind).GroupKind()] = evaluator
		}
	}
	return found
}

func judge(evaluators map[schema.GroupKind]*cel.StatusEvaluator, all []*unstructured.Unstructured) {
	for _, each := range all {
		line := resultOf(each)
		alone, err := status.Compute(each)
		check(err)
		line.Kstatus, line.Message = alone.Status.String(), alone.Message
		theirs, err := upstream.Compute(each)
		check(err)
		line.Upstream = theirs.Status.String()
		if evaluator := evaluators[each.GroupVersionKind().GroupKind()]; evaluator != nil {
			// Flux waits while an expression cannot be evaluated.
			line.Health = status.UnknownStatus.String()
			if health, err := evaluator.Evaluate(context.Background(), each); err == nil {
				line.Health = health.Status.String()
			} else {
				line.Error = err.Error()
			}
		}
		print(line)
	}
}

func resultOf(o *unstructured.Unstructured) result {
	return result{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

func print(line result) {
	check(json.NewEncoder(os.Stdout).Encode(line))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "flux:", err)
		os.Exit(1)
	}
}
