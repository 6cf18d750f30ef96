"""Folder of all files that are rendered from a document: path -> text."""

import json
import shlex

from placer.node.container_lookup import container_cgroup_path
from placer.node.container_roots import OUR_ROOT
from placer.node.render.cdi import cdi_spec
from placer.node.render.commands import container_run_flags, numactl_line, taskset_line
from placer.node.render.environment import (
    container_environment_of,
    environment_file_text,
    systemd_environment_file_text,
)
from placer.node.render.oci import container_config_with_placement
from placer.node.render.systemd import systemd_properties_of
from placer.node.targets import desired_container_cgroups
from placer_models.node_placement import NodePlacement


def rendered_container_files(document: NodePlacement, root: str = OUR_ROOT) -> dict[str, str]:
    """Return the files for the containers of a node.

    Each container has a folder with its environment, a drop-in for its systemd unit, the parts
    of an OCI config.json, the words before a command, and the flags of docker and podman. Beside
    these folders is one CDI spec for all.

    Raises:
        ValueError: An environment cannot be written as a file.

    """
    node = document.node
    targets = desired_container_cgroups(document)
    found = {"cdi/placer.json": _json(cdi_spec(targets, node))} if targets else {}
    for target in targets:
        pod = target.one.pod
        folder = f"{pod.name}@{pod.namespace}/{target.container}"
        env = container_environment_of(target, node)
        properties = "".join(f"{one.name}={one.text}\n" for one in systemd_properties_of(target))
        cgroup = container_cgroup_path(root, pod, target.container) if target.one.ours else None
        flags = shlex.join(container_run_flags(target, node))
        found |= {
            f"{folder}/environment": environment_file_text(env),
            f"{folder}/environment.systemd": systemd_environment_file_text(env),
            f"{folder}/systemd.conf": f"[Service]\n{properties}",
            f"{folder}/config.json": _json(
                container_config_with_placement({}, target, env, cgroup)
            ),
            f"{folder}/commands": f"{numactl_line(target)}\n{taskset_line(target)}\n"
            f"podman run {flags} --env-file=environment\n",
        }
    return found


def edited_oci_config(document: NodePlacement, name: str, config: str, root: str = OUR_ROOT) -> str:
    """Return the text of a bundle's config.json with what the document says of a container.

    Args:
        document: The document of the node.
        name: ``pod/container``, or ``namespace/pod/container``.
        config: The text before the edit.
        root: The cgroup below which our own cgroups are.

    Raises:
        ValueError: The document has no such container, or the text is no config.json.

    """
    node, targets = document.node, desired_container_cgroups(document)
    known = {target.title: target for target in targets}
    if name not in known:
        raise ValueError(
            f"the document has no container '{name}'; it has {', '.join(known) or 'none'}"
        )
    try:
        tree = json.loads(config)
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
    if not isinstance(tree, dict) or "process" not in tree:
        raise ValueError("is no config.json of an OCI bundle; 'runc spec' or 'crun spec' makes one")
    target = known[name]
    cgroup = (
        container_cgroup_path(root, target.one.pod, target.container) if target.one.ours else None
    )
    return _json(
        container_config_with_placement(
            tree, target, container_environment_of(target, node), cgroup
        )
    )


def _json(tree: object) -> str:
    # Readers of CDI take it for YAML, which knows no escapes of two parts as JSON has for emoji.
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
