package main

import (
	"strings"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	trackingID    = "argocd.argoproj.io/tracking-id"
	trackingLabel = "app.kubernetes.io/instance"
)

// Whether an object names the application, in the annotation or in the label of Argo CD's ways of tracking.
func isTracked(o *unstructured.Unstructured, application string) bool {
	name, _, _ := strings.Cut(o.GetAnnotations()[trackingID], ":")
	return name == application || o.GetLabels()[trackingLabel] == application
}

// Prints the objects of a namespace that Argo CD takes for those of an application: what it shows as out of sync, and prunes,
// if they are not in Git.
func managed(kubeconfig, namespace, application string) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(err)
	config.QPS = -1
	tracked := func(o *unstructured.Unstructured, _ bool) (any, bool) {
		found := isTracked(o, application)
		return found, found
	}
	cluster := cache.NewClusterCache(config, cache.SetNamespaces([]string{namespace}), cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(tracked), cache.SetKubectl(newKubectl()))
	check(cluster.EnsureSynced())
	found, err := cluster.GetManagedLiveObjs(nil, func(r *cache.Resource) bool { return r.Info == true })
	check(err)
	for _, each := range found {
		print(resultOf(each))
	}
}

func newKubectl() *kube.KubectlCmd {
	return &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
}
