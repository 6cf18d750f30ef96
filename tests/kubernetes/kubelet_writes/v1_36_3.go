// Prints checkpoints as the kubelet of this version writes them, one a line: format, version, text.
package main

import (
	"encoding/json"
	"os"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	cpu "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	device "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/checkpoint"
	memory "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/utils/cpuset"
)

const (
	one = "55784671-0e4e-49e2-b4d6-c0377ca14c81"
	two = "6c5f3038-adfc-485d-9943-3fd5e825300d"
)

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

func response(answer *pluginapi.ContainerAllocateResponse) []byte {
	data, err := proto.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return data
}

func numaNode(total, reserved uint64, assignments int, cells ...int) *memory.NUMANodeState {
	const system = 1 << 30
	return &memory.NUMANodeState{
		NumberOfAssignments: assignments,
		Cells:               cells,
		MemoryMap: map[v1.ResourceName]*memory.MemoryTable{
			"memory": {
				TotalMemSize: total, SystemReserved: system, Allocatable: total - system,
				Reserved: reserved, Free: total - system - reserved,
			},
			"hugepages-2Mi": {TotalMemSize: 1 << 30, Allocatable: 1 << 30, Free: 1 << 30},
		},
	}
}

func main() {
	containers := map[string]map[string]string{
		one: {"app": "1-2,5", "side": "7"},
		two: {"app": ""},
	}
	pods := func(pairs ...any) cpu.PodCPUAssignments {
		found := cpu.PodCPUAssignments{}
		for i := 0; i < len(pairs); i += 2 {
			found[pairs[i].(string)] = cpu.PodEntry{CPUSet: pairs[i+1].(cpuset.CPUSet)}
		}
		return found
	}
	none := map[string]map[string]string{}

	write("cpu", "2", &cpu.CPUManagerCheckpointV2{PolicyName: "none", Entries: none})
	write("cpu", "2", &cpu.CPUManagerCheckpointV2{
		PolicyName: "static", DefaultCPUSet: "0,3-4,6", Entries: containers})
	for _, given := range []cpu.PodCPUAssignments{
		pods(),
		pods(one, cpuset.New(1, 2, 5, 7)),
		pods(two, cpuset.New(10, 9, 2), one, cpuset.New(11)),
		pods(one, cpuset.New()),
	} {
		write("cpu", "3", &cpu.CPUManagerCheckpointV3{
			PolicyName: "static", DefaultCPUSet: "0-8", Entries: none, PodEntries: given})
	}
	write("cpu", "3", &cpu.CPUManagerCheckpointV3{PolicyName: "static", DefaultCPUSet: "0,3",
		Entries: containers, PodEntries: pods(one, cpuset.New(1, 2, 5, 7))})

	machine := memory.NUMANodeMap{
		0: numaNode(64<<30, 8<<30, 1, 0), 1: numaNode(64<<30, 0, 0, 1), 10: numaNode(1<<62, 5, 2, 0, 10),
	}
	blocks := memory.ContainerMemoryAssignments{
		one: {"app": {
			{NUMAAffinity: []int{0}, Type: "memory", Size: 8 << 30},
			{NUMAAffinity: []int{0, 10}, Type: "hugepages-2Mi", Size: 4 << 20},
		}, "idle": {}},
	}
	byPod := memory.PodMemoryAssignments{two: {MemoryBlocks: []memory.Block{
		{NUMAAffinity: []int{1}, Type: "memory", Size: 18446744073709551615}}}}
	write("memory", "1", &memory.MemoryManagerCheckpointV1{PolicyName: "None",
		MachineState: memory.NUMANodeMap{}, Entries: memory.ContainerMemoryAssignments{}})
	write("memory", "1", &memory.MemoryManagerCheckpointV1{
		PolicyName: "Static", MachineState: machine, Entries: blocks})
	write("memory", "2", &memory.MemoryManagerCheckpointV2{PolicyName: "Static",
		MachineState: machine, Entries: memory.ContainerMemoryAssignments{},
		PodEntries: memory.PodMemoryAssignments{}})
	write("memory", "2", &memory.MemoryManagerCheckpointV2{
		PolicyName: "Static", MachineState: machine, Entries: blocks, PodEntries: byPod})

	write("devices", "2", device.New(nil, map[string][]string{}))
	write("devices", "2", device.New([]device.PodDevicesEntry{}, map[string][]string{
		"nvidia.com/gpu": {"GPU-1", "GPU-2"}, "example.com/fpga": {}, "example.com/none": nil}))
	write("devices", "2", device.New([]device.PodDevicesEntry{
		{PodUID: one, ContainerName: "app", ResourceName: "nvidia.com/gpu",
			DeviceIDs: device.DevicesPerNUMA{0: {"GPU-1", "GPU-2"}, 1: {"GPU-3"}, 10: {}, -1: {"a<b"}},
			AllocResp: response(&pluginapi.ContainerAllocateResponse{
				Envs:   map[string]string{"NVIDIA_VISIBLE_DEVICES": "GPU-1,GPU-2,GPU-3"},
				Mounts: []*pluginapi.Mount{{ContainerPath: "/usr/lib", HostPath: "/opt/lib", ReadOnly: true}},
				Devices: []*pluginapi.DeviceSpec{
					{ContainerPath: "/dev/nvidia1", HostPath: "/dev/nvidia1", Permissions: "rw"}},
				Annotations: map[string]string{"cdi.k8s.io/gpus": "nvidia.com/gpu=GPU-1"},
				CdiDevices:  []*pluginapi.CDIDevice{{Name: "nvidia.com/gpu=GPU-1"}},
			})},
		{PodUID: two, ContainerName: "app", ResourceName: "example.com/fpga",
			DeviceIDs: device.DevicesPerNUMA{}, AllocResp: []byte{}},
		{PodUID: two, ContainerName: "side", ResourceName: "example.com/fpga"},
	}, map[string][]string{"nvidia.com/gpu": {"GPU-1", "GPU-2", "GPU-3"}}))
}
