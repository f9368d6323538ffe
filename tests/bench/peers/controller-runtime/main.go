// Command bench-controller-runtime is an admission webhook with controller-runtime that allows every
// request. It shows the cost of the library alone.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func run(port int, certDir string, paths []string) error {
	log.SetLogger(logr.Discard())
	server := webhook.NewServer(webhook.Options{
		Host:    "127.0.0.1",
		Port:    port,
		CertDir: certDir,
		// The options that operators set and that the API server requires.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS13
			c.NextProtos = []string{"http/1.1"}
		}},
	})
	allow := admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Allowed("")
	})
	for _, path := range paths {
		server.Register(path, &webhook.Admission{Handler: allow})
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return server.Start(ctx)
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: bench-controller-runtime PORT CERT_DIR PATH...")
		os.Exit(2)
	}
	port, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = run(port, os.Args[2], os.Args[3:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-controller-runtime:", err)
		os.Exit(1)
	}
}
