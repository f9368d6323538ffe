package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const ignorePrefix = "resource.customizations.ignoreDifferences."

// What Argo CD removes from both sides of a comparison: the fields of the rules, and the status, which it ignores by
// default (resource.compareoptions).
type rules map[string][]*gojq.Code

// The rules of resource.customizations.ignoreDifferences.GROUP_KIND and ….all.
func ignoredDifferences(data map[string]string) (rules, error) {
	found := rules{}
	for key, text := range data {
		kind, isRule := strings.CutPrefix(key, ignorePrefix)
		if !isRule {
			continue
		}
		var rule struct {
			JSONPointers      []string `json:"jsonPointers"`
			JQPathExpressions []string `json:"jqPathExpressions"`
		}
		if err := yaml.UnmarshalStrict([]byte(text), &rule); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		paths := rule.JQPathExpressions
		for _, pointer := range rule.JSONPointers {
			paths = append(paths, pathOf(pointer))
		}
		for _, path := range paths {
			query, err := gojq.Parse("del(" + path + ")")
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", key, path, err)
			}
			code, err := gojq.Compile(query)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", key, path, err)
			}
			found[kind] = append(found[kind], code)
		}
	}
	return found, nil
}

// The jq path of a JSON pointer to members of objects.
func pathOf(pointer string) string {
	path := "."
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		path += fmt.Sprintf("[%q]?", part)
	}
	return path
}

func nameOfKind(kind schema.GroupKind) string {
	if kind.Group == "" {
		return kind.Kind
	}
	return kind.Group + "_" + kind.Kind
}

// Normalize implements diff.Normalizer.
func (r rules) Normalize(o *unstructured.Unstructured) error {
	if o == nil {
		return nil
	}
	unstructured.RemoveNestedField(o.Object, "status")
	for _, kind := range []string{"all", nameOfKind(o.GroupVersionKind().GroupKind())} {
		for _, code := range r[kind] {
			value, ok := code.Run(o.DeepCopy().Object).Next()
			if err, failed := value.(error); !ok || failed {
				return fmt.Errorf("%s %s: %w", kind, o.GetName(), err)
			}
			// The numbers of gojq are of types that an Unstructured cannot hold.
			text, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("%s %s: %w", kind, o.GetName(), err)
			}
			if err := o.UnmarshalJSON(text); err != nil {
				return fmt.Errorf("%s %s: %w", kind, o.GetName(), err)
			}
		}
	}
	return nil
}
