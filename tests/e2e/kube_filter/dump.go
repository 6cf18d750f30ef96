package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// answerDump answers a question about the objects that it brings.
//
// They get the defaults that an API server would give them, and a uid where they have none.
func answerDump(ctx context.Context, q question) ([]answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	objects := []runtime.Object{}
	for i, raw := range q.Objects {
		object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue // kube-scheduler looks at no custom resources
		}
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
		legacyscheme.Scheme.Default(object)
		about, err := meta.Accessor(object)
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
		if about.GetUID() == "" {
			about.SetUID(types.UID(fmt.Sprintf("uid-%d", i)))
		}
		objects = append(objects, object)
	}
	there, err := newCluster(ctx, fake.NewSimpleClientset(objects...), nil)
	if err != nil {
		return nil, err
	}
	return there.answers(ctx, q.Ask)
}
