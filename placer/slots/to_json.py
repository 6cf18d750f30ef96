"""A compiled job as a tree of plain values, for JSON and YAML."""

from placer.slots.compiled import CompiledDataflowJob, Fractions, OperatorMemoryFractions
from placer.slots.resources import E8, ResourceProfile, SlotResourceAmounts


def compiled_job_graph_to_dict(job: CompiledDataflowJob) -> dict[str, object]:
    """Return the job; chains, regions and groups are spoken of by their place in lists.

    A profile that is unknown is null: a default slot.
    """
    return {
        "apiVersion": "placer/v1",
        "kind": "CompiledJobGraph",
        "name": job.name,
        "semantics": job.semantics.value,
        "mode": job.mode.value,
        "slots": {
            "needed": job.slots_needed,
            "atOnce": job.slots_at_once,
            "inTurn": job.slots_in_turn,
        },
        "operators": [
            {"name": name, "chain": job.chain_of[i], **_fractions(job.fractions[i])}
            for i, name in enumerate(job.operators)
        ],
        "chains": [
            {
                "operators": [job.operators[operator] for operator in chain.operators],
                "parallelism": chain.parallelism,
                "region": job.region_of[i],
                "group": job.group_of[i],
                "requirement": resource_profile_to_dict(chain.requirement),
                "task": resource_profile_to_dict(chain.task),
            }
            for i, chain in enumerate(job.chains)
        ],
        "links": [
            {
                "from": link.producer,
                "to": link.consumer,
                "partition": link.partition.value,
                "exchange": link.exchange.value,
            }
            for link in job.links
        ],
        "regions": [{"chains": list(region.chains)} for region in job.regions],
        "groups": [
            {
                "name": group.name,
                "chains": list(group.chains),
                "slots": group.slots,
                "requirement": resource_profile_to_dict(group.requirement),
                "slot": resource_profile_to_dict(group.slot),
            }
            for group in job.groups
        ],
        "requests": [
            {
                "group": request.group,
                "count": request.count,
                "profile": resource_profile_to_dict(request.profile),
            }
            for request in job.requests
        ],
        "gangs": [
            {
                "regions": list(gang.regions),
                "slots": [{"group": group, "count": count} for group, count in gang.slots],
            }
            for gang in job.gangs
        ],
        "cycles": [
            {"regions": list(cycle.regions), "links": list(cycle.links)} for cycle in job.cycles
        ],
    }


def _fractions(fractions: Fractions) -> dict[str, object]:
    if isinstance(fractions, OperatorMemoryFractions):
        by_kind = {"onHeap": float(fractions.on_heap), "offHeap": float(fractions.off_heap)}
        return {"fractions": by_kind}
    return {
        "fractions": {
            f.use_case.value: {"ofUseCase": float(f.of_use_case), "ofSlot": f.of_slot}
            for f in fractions
        }
    }


def resource_profile_to_dict(profile: ResourceProfile) -> dict[str, object] | None:
    """Return the amounts by name, or None where nobody said them."""
    if not isinstance(profile, SlotResourceAmounts):
        return None
    return {
        "cpu": profile.cpu_e8 / E8,
        "heapBytes": profile.heap_bytes,
        "offHeapBytes": profile.off_heap_bytes,
        "managedOnHeapBytes": profile.managed_on_heap_bytes,
        "managedOffHeapBytes": profile.managed_off_heap_bytes,
        "networkBytes": profile.network_bytes,
        "extended": {name: amount / E8 for name, amount in profile.extended_e8},
    }
