// Reads CDI specs as container runtimes do and prints the environment of each device as JSON.
//
// Usage: cdi-reader FOLDER. It ends with 1 if the library refuses a spec of the folder.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

func main() {
	cache, err := cdi.NewCache(cdi.WithSpecDirs(os.Args[1]), cdi.WithAutoRefresh(false))
	if err != nil {
		fail(err)
	}
	if err := cache.Refresh(); err != nil {
		fail(err)
	}
	found := map[string][]string{}
	for _, name := range cache.ListDevices() {
		spec := &oci.Spec{Process: &oci.Process{}}
		if unresolved, err := cache.InjectDevices(spec, name); err != nil || len(unresolved) > 0 {
			fail(fmt.Errorf("%s: %v, unresolved %v", name, err, unresolved))
		}
		found[name] = spec.Process.Env
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
