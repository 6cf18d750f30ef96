package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// longestWait bounds how long the caches of filters may take to hold what informers have.
const longestWait = time.Minute

// cluster is a cluster as kube-scheduler sees it, with the filters of its default profile.
type cluster struct {
	filters framework.Framework
	nodes   []*v1.Node
	pods    []*v1.Pod
	view    *view
}

// view is the snapshot that the filters look at, made anew for each pod that is asked.
type view struct {
	snapshot  *internalcache.Snapshot
	nominated map[string][]fwk.PodInfo
}

func (v *view) NodeInfos() fwk.NodeInfoLister           { return v.snapshot.NodeInfos() }
func (v *view) StorageInfos() fwk.StorageInfoLister     { return v.snapshot.StorageInfos() }
func (v *view) PodGroupStates() fwk.PodGroupStateLister { return v.snapshot.PodGroupStates() }

// A view nominates nobody: it only tells whom the cluster has nominated.
func (v *view) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}
func (v *view) DeleteNominatedPodIfExists(*v1.Pod)                            {}
func (v *view) UpdateNominatedPod(klog.Logger, *v1.Pod, fwk.PodInfo)          {}
func (v *view) NominatedPodsForNode(node string) []fwk.PodInfo                { return v.nominated[node] }

// handled is an informer that remembers who has yet to be told of its first list.
type handled struct {
	cache.SharedIndexInformer
	told *[]cache.ResourceEventHandlerRegistration
}

func (h handled) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := h.SharedIndexInformer.AddEventHandler(handler)
	*h.told = append(*h.told, registration)
	return registration, err
}

// watched are the kinds of which filters keep caches of their own, told by events.
var watched = map[runtime.Object]func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer{
	&v1.PersistentVolume{}: func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewPersistentVolumeInformer(c, resync, cache.Indexers{})
	},
	&v1.PersistentVolumeClaim{}: func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewPersistentVolumeClaimInformer(c, "", resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	},
	&resourceapi.ResourceClaim{}: func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return resourceinformers.NewResourceClaimInformer(c, "", resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	},
	&resourceapi.DeviceClass{}: func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return resourceinformers.NewDeviceClassInformer(c, resync, cache.Indexers{})
	},
}

// newCluster returns the cluster of an API server, once its caches hold all that is there.
func newCluster(ctx context.Context, client kubernetes.Interface, config *rest.Config) (*cluster, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	var told []cache.ResourceEventHandlerRegistration
	for kind, informer := range watched {
		factory.InformerFor(kind, func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			return handled{informer(c, resync), &told}
		})
	}
	shared := &view{snapshot: internalcache.NewEmptySnapshot()}
	filters, err := defaultProfile(ctx, client, config, factory, shared)
	if err != nil {
		return nil, err
	}
	podLister, nodeLister := factory.Core().V1().Pods().Lister(), factory.Core().V1().Nodes().Lister()
	factory.Core().V1().Namespaces().Informer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	until := time.Now().Add(longestWait)
	for _, registration := range told {
		for !registration.HasSynced() {
			if time.Now().After(until) {
				return nil, errors.New("the caches of the filters were not filled")
			}
			time.Sleep(time.Millisecond)
		}
	}
	nodes, err := nodeLister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	pods, err := podLister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	return &cluster{filters, nodes, pods, shared}, nil
}

// liveCluster returns the cluster of a kubeconfig file.
func liveCluster(ctx context.Context, kubeconfig string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 1000, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return newCluster(ctx, client, config)
}

// defaultProfile makes the framework of kube-scheduler's default profile, as kube-scheduler does.
func defaultProfile(
	ctx context.Context, client kubernetes.Interface, config *rest.Config,
	factory informers.SharedInformerFactory, shared *view,
) (framework.Framework, error) {
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	var configuration schedulerapi.KubeSchedulerConfiguration
	if err := scheme.Scheme.Convert(&versioned, &configuration, nil); err != nil {
		return nil, err
	}
	claims := assumecache.NewAssumeCache(
		klog.FromContext(ctx), factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(ctx, tracker.Options{
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		SliceInformer:            factory.Resource().V1().ResourceSlices(),
		KubeClient:               client,
	})
	if err != nil {
		return nil, err
	}
	manager := dynamicresources.NewDRAManager(ctx, claims, slices, factory)
	if names, ok := manager.DeviceClassResolver().(cache.ResourceEventHandler); ok {
		// Nobody else tells it which classes stand for an extended resource.
		if _, err := factory.Resource().V1().DeviceClasses().Informer().AddEventHandler(names); err != nil {
			return nil, err
		}
	}
	return frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &configuration.Profiles[0],
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithKubeConfig(config),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(shared),
		frameworkruntime.WithPodNominator(shared),
		frameworkruntime.WithSharedDRAManager(manager),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithParallelism(2),
	)
}

// answers says where each pod could be.
func (c *cluster) answers(ctx context.Context, asks []ask) ([]answer, error) {
	found := []answer{}
	for _, one := range asks {
		pod, err := c.leave(one.Pod)
		if err != nil {
			return nil, err
		}
		at := one.Nodes
		if len(at) == 0 && pod.Spec.NodeName != "" {
			at = []string{pod.Spec.NodeName}
		}
		for _, node := range c.nodes {
			if len(one.Nodes) == 0 && pod.Spec.NodeName == "" {
				at = append(at, node.Name)
			}
		}
		pod.Spec.NodeName = ""
		got, err := c.answer(ctx, pod, at)
		if err != nil {
			return nil, err
		}
		got.Pod = one.Pod
		found = append(found, got)
	}
	return found, nil
}

// leave makes the view one of the cluster without a pod, and returns a copy of the pod.
func (c *cluster) leave(name string) (*v1.Pod, error) {
	var asked *v1.Pod
	there := []*v1.Pod{}
	known := map[string]bool{}
	for _, node := range c.nodes {
		known[node.Name] = true
	}
	c.view.nominated = map[string][]fwk.PodInfo{}
	for _, pod := range c.pods {
		switch {
		case pod.Namespace+"/"+pod.Name == name:
			asked = pod.DeepCopy()
		case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		case known[pod.Spec.NodeName]:
			there = append(there, pod)
		case pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "":
			info, err := framework.NewPodInfo(pod)
			if err != nil {
				return nil, err
			}
			node := pod.Status.NominatedNodeName
			c.view.nominated[node] = append(c.view.nominated[node], info)
		}
	}
	if asked == nil {
		return nil, fmt.Errorf("there is no pod %s", name)
	}
	c.view.snapshot = internalcache.NewSnapshot(there, c.nodes)
	return asked, nil
}

// answer says which of the nodes take a pod, and what refuses it on the others.
func (c *cluster) answer(ctx context.Context, pod *v1.Pod, at []string) (answer, error) {
	found := answer{Fits: []string{}, Refused: map[string]string{}}
	nowhere := func(status *fwk.Status) answer {
		for _, node := range at {
			found.Refused[node] = why(status)
		}
		return found
	}
	for _, plugin := range c.filters.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, pod); !status.IsSuccess() {
			return nowhere(status.WithPlugin(plugin.Name())), nil
		}
	}
	state := framework.NewCycleState()
	only, status, _ := c.filters.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return nowhere(status), nil
	}
	for _, node := range at {
		if !only.AllNodes() && !only.NodeNames.Has(node) {
			found.Refused[node] = "PreFilter: not among the nodes that are left"
			continue
		}
		info, err := c.view.NodeInfos().Get(node)
		if err != nil {
			return found, err
		}
		if status := c.filters.RunFilterPluginsWithNominatedPods(ctx, state, pod, info); status.IsSuccess() {
			found.Fits = append(found.Fits, node)
		} else {
			found.Refused[node] = why(status)
		}
	}
	return found, nil
}

func why(status *fwk.Status) string {
	return fmt.Sprintf("%s: %s", status.Plugin(), status.Message())
}
