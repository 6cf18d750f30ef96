"""Small traces: a few nodes and pods, as files and as words."""

from pathlib import Path

import numpy as np

from placer.openb.trace import WorkloadTrace, read_trace

NODES = """sn,cpu_milli,memory_mib,gpu,model
a,8000,65536,2,T4
b,8000,65536,2,V100
c,16000,65536,0,
"""

PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos
p0,1000,1024,1,500,,LS
p1,2000,1024,1,1000,V100|V100|T4,LS
p2,4000,1024,0,0,,BE
p3,500,1024,2,1000,T4,LS
p4,500,1024,1,300,V100,LS
"""

FIVE_COLUMNS = "\n".join(",".join(line.split(",")[:5]) for line in PODS.splitlines())


def written(
    folder: Path, nodes: str = NODES, pods: str = PODS, order: tuple[int, ...] = (0, 1, 2, 3, 4)
) -> tuple[Path, Path, Path]:
    """Write the files of a trace, with one seed, 7."""
    files = folder / "nodes.csv", folder / "pods.csv", folder / "pods.npz"
    files[0].write_text(nodes, encoding="utf-8")
    files[1].write_text(pods, encoding="utf-8")
    ranks = np.array([1, 0, 2], dtype=np.uint16)
    np.savez(files[2], pods_7=np.array(order, dtype=np.uint16), noderank_7=ranks)
    return files


def trace(folder: Path, order: tuple[int, ...] = (0, 1, 2, 3, 4)) -> WorkloadTrace:
    """Return the small trace, read back from its files."""
    return read_trace(*written(folder, order=order), seed=7)
