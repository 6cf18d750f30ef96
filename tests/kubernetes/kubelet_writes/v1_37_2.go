// Prints checkpoints as the kubelet of this version writes them, one a line: format, version, text.
package main

import (
	"encoding/json"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	cpu "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
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

func main() {
	none := map[string]map[string]string{}
	containers := map[string]map[string]string{one: {"app": "1-2,5", "side": "7"}}
	pods := cpu.PodCPUAssignments{two: {CPUSet: cpuset.New(9, 10, 12)}}
	baselines := map[string]map[string]cpu.ContainerCPUs{one: {"app": {Baseline: "1-2"}}}

	write("cpu", "3", &cpu.CPUManagerCheckpointV3{PolicyName: "static", DefaultCPUSet: "0,3",
		Entries: containers, PodEntries: pods})
	for _, data := range []cpu.CPUManagerCheckpointData{
		{PolicyName: "none", Entries: none},
		{PolicyName: "static", DefaultCPUSet: "0-27", Entries: none},
		{PolicyName: "static", DefaultCPUSet: "0,3-4,6", Entries: containers},
		{PolicyName: "static", DefaultCPUSet: "0,3-4,6", Entries: none, PodEntries: pods},
		{PolicyName: "static", DefaultCPUSet: "0,3-4,6", Entries: containers, PodEntries: pods,
			Baselines: baselines},
	} {
		write("cpu", "4", &cpu.CPUManagerCheckpoint{CheckpointData: data})
	}

	machine := memory.NUMANodeMap{0: {NumberOfAssignments: 1, Cells: []int{0},
		MemoryMap: map[v1.ResourceName]*memory.MemoryTable{"memory": {TotalMemSize: 64 << 30,
			Allocatable: 64 << 30, Reserved: 8 << 30, Free: 56 << 30}}}}
	blocks := []memory.Block{{NUMAAffinity: []int{0}, Type: "memory", Size: 8 << 30}}
	byContainer := memory.ContainerMemoryAssignments{one: {"app": blocks}}
	byPod := memory.PodMemoryAssignments{two: {MemoryBlocks: blocks}}
	write("memory", "2", &memory.MemoryManagerCheckpointV2{PolicyName: "Static",
		MachineState: machine, Entries: byContainer, PodEntries: byPod})
	for _, data := range []memory.MemoryManagerCheckpointData{
		{PolicyName: "None", MachineState: memory.NUMANodeMap{},
			Entries: memory.ContainerMemoryAssignments{}},
		{PolicyName: "Static", MachineState: machine, Entries: byContainer, PodEntries: byPod},
	} {
		write("memory", "3", &memory.MemoryManagerCheckpoint{CheckpointData: data})
	}
}
