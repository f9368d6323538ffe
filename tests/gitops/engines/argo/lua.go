package main

import (
	"context"
	"fmt"
	"time"

	"github.com/argoproj/gitops-engine/pkg/health"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	healthPrefix = "resource.customizations.health."
	// A script that takes longer is stopped.
	timeout = time.Second
)

// The scripts of resource.customizations.health.GROUP_KIND.
type luaChecks map[string]string

// GetResourceHealth implements health.HealthOverride. Nil: there is no script for the kind.
func (c luaChecks) GetResourceHealth(o *unstructured.Unstructured) (*health.HealthStatus, error) {
	script := c[healthPrefix+nameOfKind(o.GroupVersionKind().GroupKind())]
	if script == "" {
		return nil, nil
	}
	// As in Argo CD, a script has these libraries only.
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", toLua(state, o.Object))
	if err := state.DoString(script); err != nil {
		return nil, fmt.Errorf("health of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	answer, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("health of %s %s: the script returns no table", o.GetKind(), o.GetName())
	}
	status := health.HealthStatusCode(lua.LVAsString(answer.RawGetString("status")))
	switch status {
	case health.HealthStatusHealthy, health.HealthStatusProgressing, health.HealthStatusDegraded, health.HealthStatusSuspended:
		return &health.HealthStatus{Status: status, Message: lua.LVAsString(answer.RawGetString("message"))}, nil
	}
	return nil, fmt.Errorf("health of %s %s: the script returns the status %q", o.GetKind(), o.GetName(), status)
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		table := state.NewTable()
		for _, each := range v {
			table.Append(toLua(state, each))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for name, each := range v {
			table.RawSetString(name, toLua(state, each))
		}
		return table
	}
	return lua.LNil
}
