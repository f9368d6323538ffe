// Decides with Argo CD's own diff engine whether objects are in sync, with its health checks how they are, and with its cache
// which belong to an application.
//
//	argo diff ARGOCD_CM KUBECONFIG HOW FILE         compares the objects of FILE with the cluster
//	argo health ARGOCD_CM FILE                      the health of the objects of FILE
//	argo managed KUBECONFIG NAMESPACE APPLICATION   the objects that belong to the application
//	argo order FILE                                 in which phases and wave of a sync the objects of FILE are applied
//
// HOW is `client`, three-way with the annotation of client-side apply; `merge`, by structured merge, as after server-side apply;
// `server`, by a dry run of the API server (ServerSideDiff=true); or `webhooks`, the same with what admission changes
// (IncludeMutationWebhook=true).
//
// ARGOCD_CM is a ConfigMap argocd-cm with resource.customizations. It prints one line of JSON per object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/argoproj/gitops-engine/pkg/sync/hook"
	"github.com/argoproj/gitops-engine/pkg/sync/syncwaves"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// The field manager of Argo CD.
const manager = "argocd-controller"

// A line of the output. Which members are set depends on the command.
type result struct {
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name"`
	Modified  bool            `json:"modified,omitempty"`
	Live      json.RawMessage `json:"live,omitempty"`
	Predicted json.RawMessage `json:"predicted,omitempty"`
	Health    string          `json:"health,omitempty"`
	Message   string          `json:"message,omitempty"`
	Hooks     []string        `json:"hooks,omitempty"`
	Wave      int             `json:"wave,omitempty"`
}

func main() {
	switch {
	case len(os.Args) == 6 && os.Args[1] == "diff":
		compare(customizations(os.Args[2]), os.Args[3], os.Args[4], objects(os.Args[5]))
	case len(os.Args) == 4 && os.Args[1] == "health":
		judge(customizations(os.Args[2]), objects(os.Args[3]))
	case len(os.Args) == 5 && os.Args[1] == "managed":
		managed(os.Args[2], os.Args[3], os.Args[4])
	case len(os.Args) == 3 && os.Args[1] == "order":
		order(objects(os.Args[2]))
	default:
		check(fmt.Errorf("usage: argo diff ARGOCD_CM KUBECONFIG client|merge|server|webhooks FILE, argo health ARGOCD_CM FILE, " +
			"argo managed KUBECONFIG NAMESPACE APPLICATION, argo order FILE"))
	}
}

// The data of a ConfigMap argocd-cm.
func customizations(path string) map[string]string {
	text, err := os.ReadFile(path)
	check(err)
	var found struct {
		Data map[string]string `json:"data"`
	}
	check(yaml.Unmarshal(text, &found))
	return found.Data
}

func objects(path string) []*unstructured.Unstructured {
	text, err := os.ReadFile(path)
	check(err)
	found, err := kube.SplitYAML(text)
	check(err)
	return found
}

func order(wanted []*unstructured.Unstructured) {
	for _, each := range wanted {
		line := resultOf(each)
		for _, phase := range hook.Types(each) {
			line.Hooks = append(line.Hooks, string(phase))
		}
		line.Wave = syncwaves.Wave(each)
		print(line)
	}
}

func compare(data map[string]string, kubeconfig, how string, wanted []*unstructured.Unstructured) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(err)
	config.QPS = -1
	rules, err := ignoredDifferences(data)
	check(err)
	options := []diff.Option{diff.WithNormalizer(rules), diff.WithLogr(logr.Discard()), diff.WithManager(manager)}
	kubectl := newKubectl()
	if how != "client" {
		more, cleanup := serverOptions(kubectl, config, how)
		defer cleanup()
		options = append(options, more...)
	}
	for _, each := range wanted {
		live, err := kubectl.GetResource(context.Background(), config, each.GroupVersionKind(), each.GetName(), each.GetNamespace())
		check(err)
		found, err := diff.Diff(each, live, options...)
		check(err)
		line := resultOf(each)
		line.Modified = found.Modified
		if found.Modified {
			line.Live, line.Predicted = found.NormalizedLive, found.PredictedLive
		}
		print(line)
	}
}

func serverOptions(kubectl *kube.KubectlCmd, config *rest.Config, how string) ([]diff.Option, func()) {
	schema, parser, err := kubectl.LoadOpenAPISchema(config)
	check(err)
	options := []diff.Option{diff.WithGVKParser(parser)}
	if how == "merge" {
		return append(options, diff.WithStructuredMergeDiff(true)), func() {}
	}
	applier, cleanup, err := kube.ManageServerSideDiffDryRuns(config, schema, tracing.NopTracer{}, logr.Discard(), nil)
	check(err)
	runner := diff.NewK8sServerSideDryRunner(applier)
	options = append(options, diff.WithServerSideDiff(true), diff.WithServerSideDryRunner(runner))
	return append(options, diff.WithIgnoreMutationWebhook(how != "webhooks")), cleanup
}

func judge(data map[string]string, all []*unstructured.Unstructured) {
	for _, each := range all {
		found, err := health.GetResourceHealth(each, luaChecks(data))
		check(err)
		line := resultOf(each)
		if found != nil {
			line.Health, line.Message = string(found.Status), found.Message
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
		fmt.Fprintln(os.Stderr, "argo:", err)
		os.Exit(1)
	}
}
