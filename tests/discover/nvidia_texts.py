"""What nvidia-smi would print of a machine that nobody has built: all synthetic."""

QUERY = """
==============NVSMI LOG==============

Timestamp                                 : Sun Nov 22 12:00:00 2026
Driver Version                            : 575.51.03
Attached GPUs                             : 2
GPU 00000000:18:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                           : Disabled
        Pending                           : Enabled
    GPU UUID                              : GPU-18
    Minor Number                          : 1
    PCI
        Bus                               : 0x18
    Remapped Rows
        Correctable Error                 : 0
        Pending                           : No
        Remapping Failure Occurred        : No
    FB Memory Usage
        Total                             : 81559 MiB
        Reserved                          : 550 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
    Processes                             : None

GPU 00000000:2A:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-2a
    Minor Number                          : 0
    Remapped Rows
        Remapping Failure Occurred        : Yes
    FB Memory Usage
        Total                             : 81559 MiB
"""

MATRIX = (
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV18\tPIX\t0-3\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tSYS\t4-7\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\t X \n\n"
    "NIC Legend:\n\n  NIC0: mlx5_0\n"
)

LIST = "GPU 0: NVIDIA A40 (UUID: GPU-a)\nGPU 1: NVIDIA A40 (UUID: GPU-b)\n"
