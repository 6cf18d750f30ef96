// Prints checkpoints as kubelets up to 1.19 wrote them, by the code that reads them in this
// version, one a line: format, version, text.
package main

import (
	"encoding/json"
	"os"

	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	device "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/checkpoint"
)

const one = "55784671-0e4e-49e2-b4d6-c0377ca14c81"

func write(format, version string, checkpoint checkpointmanager.Checkpoint) {
	text, err := checkpoint.MarshalCheckpoint()
	if err != nil {
		panic(err)
	}
	row := map[string]string{"format": format, "version": version, "text": string(text)}
	if err := json.NewEncoder(os.Stdout).Encode(row); err != nil {
		panic(err)
	}
}

func main() {
	registered := map[string][]string{"nvidia.com/gpu": {"GPU-1", "GPU-2"}}
	write("devices", "1", device.NewV1(nil, registered))
	write("devices", "1", device.NewV1([]device.PodDevicesEntryV1{
		{PodUID: one, ContainerName: "app", ResourceName: "nvidia.com/gpu",
			DeviceIDs: []string{"GPU-1", "GPU-2"}, AllocResp: []byte("\n\x1f\n\x16NVIDIA_VISIBLE_DEVICES\x12\x05GPU-1")},
		{PodUID: one, ContainerName: "side", ResourceName: "example.com/fpga", DeviceIDs: []string{}},
	}, registered))
}
