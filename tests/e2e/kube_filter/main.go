// Kube-filter asks kube-scheduler's own default filters which nodes would take a pod.
//
// Its standard input has a JSON document a line, a question; it answers each with one. Without
// -kubeconfig a question brings the objects of its cluster, as kubectl prints them:
//
//	{"id": "w1", "objects": [{"kind": "Node", ...}, ...], "ask": [{"pod": "default/p"}]}
//	{"id": "w1", "answers": [{"pod": "default/p", "fits": ["n1"], "refused": {"n2": "TaintToleration: ..."}}]}
//
// With -kubeconfig it asks about the cluster of a live API server, as it is at the first question.
// Each pod is asked as if it were not there yet: "nodes" says where; without it a bound pod
// is asked on its own node, and a waiting one on all nodes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// longestLine bounds a question, in bytes.
const longestLine = 1 << 28

type question struct {
	ID      string            `json:"id"`
	Objects []json.RawMessage `json:"objects"`
	Ask     []ask             `json:"ask"`
}

type ask struct {
	Pod   string   `json:"pod"`
	Nodes []string `json:"nodes"`
}

type reply struct {
	ID      string   `json:"id"`
	Answers []answer `json:"answers"`
	Error   string   `json:"error,omitempty"`
}

type answer struct {
	Pod     string            `json:"pod"`
	Fits    []string          `json:"fits"`
	Refused map[string]string `json:"refused"`
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file of a live cluster; without it questions bring theirs")
	flag.Parse()
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	metrics.Register()
	if err := serve(*kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "kube-filter:", err)
		os.Exit(2)
	}
}

func serve(kubeconfig string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), longestLine)
	out := json.NewEncoder(os.Stdout)
	var live *cluster
	for in.Scan() {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			return fmt.Errorf("a question is no JSON: %w", err)
		}
		found := reply{ID: q.ID, Answers: []answer{}}
		var err error
		if kubeconfig == "" {
			found.Answers, err = answerDump(ctx, q)
		} else {
			if live == nil {
				live, err = liveCluster(ctx, kubeconfig)
			}
			if err == nil {
				found.Answers, err = live.answers(ctx, q.Ask)
			}
		}
		if err != nil {
			found.Error = err.Error()
		}
		if err := out.Encode(found); err != nil {
			return err
		}
	}
	return in.Err()
}
