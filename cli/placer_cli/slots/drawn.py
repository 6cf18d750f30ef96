"""A compiled job for a terminal: regions in their order, chains, operators; then slots."""

from collections.abc import Iterator, Sequence

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from placer.slots.amounts import format_e8
from placer.slots.compiled import CompiledJob, Fractions, KindFractions
from placer.slots.resources import Amounts, Profile
from placer_cli.draw.canvas import Canvas
from placer_cli.draw.flow import titled
from placer_cli.draw.palette import ACCENT, BAD, FRAME, QUIET, STRONG
from placer_cli.draw.tables import table
from placer_cli.draw.words import count, memory

MOST_CHAINS = 60
"""A tree of more chains says nothing to anyone; --format json has them all."""


def draw_job(job: CompiledJob, canvas: Canvas) -> RenderableType:
    """Draw a compiled job."""
    return Lines(*_parts(job, canvas))


def _parts(job: CompiledJob, canvas: Canvas) -> Iterator[RenderableType]:
    yield Text(_headline(job), STRONG)
    yield Text(
        f"{count(job.slots_needed, 'slot')} needed: {job.slots_at_once:,} when all runs at "
        f"once, {job.slots_in_turn:,} when regions take turns",
        QUIET,
    )
    for cycle in job.cycles:
        yield ""
        yield Text(_cycle(job, cycle.regions, cycle.links), BAD)
    yield ""
    yield _tree(job)
    yield ""
    yield titled("Slots to ask for", _groups(job, canvas))


def _headline(job: CompiledJob) -> str:
    parts = (
        count(len(job.operators), "operator"),
        count(len(job.chains), "chain"),
        count(len(job.regions), "region"),
        count(len(job.groups), "group"),
    )
    return f"{job.name or 'job'} ({job.mode}, {job.semantics}): {' -> '.join(parts)}"


def _cycle(job: CompiledJob, regions: Sequence[int], links: Sequence[int]) -> str:
    """Say which regions wait for one another, and through which links."""
    edges = ", ".join(
        f"{chain_name(job, job.links[i].producer)} -> {chain_name(job, job.links[i].consumer)}"
        for i in links
    )
    names = " and ".join(str(region) for region in regions)
    if len(regions) == 1:
        return (
            f"Region {names} waits for itself: {edges} blocks, and both ends start together. "
            "Make it pipelined, or all ways between them blocking."
        )
    return (
        f"Regions {names} wait for one another ({edges} block); none can be first, so their "
        "slots are one gang. Make one of the links pipelined, or more of them blocking."
    )


def chain_name(job: CompiledJob, chain: int) -> str:
    """Return a chain's name: its operators, or the ends of a long one."""
    names = [job.operators[operator] for operator in job.chains[chain].operators]
    if len(names) > 4:
        names = [names[0], f"{len(names) - 2} more", names[-1]]
    return " + ".join(names)


def _tree(job: CompiledJob) -> Tree:
    tree = Tree(Text("regions, in an order in which they can run", QUIET), guide_style=FRAME)
    left = MOST_CHAINS
    readers: dict[int, list[str]] = {}
    for link in job.links:
        label = f"to {chain_name(job, link.consumer)} ({link.partition}, {link.exchange})"
        readers.setdefault(link.producer, []).append(label)
    for gang in job.gangs:
        for region in gang.regions:
            if left <= 0:
                more = len(job.chains) - MOST_CHAINS + left
                tree.add(Text(f"and {count(more, 'chain')} more; --format json has all", QUIET))
                return tree
            branch = tree.add(Text(_region(job, region), ACCENT))
            for chain in job.regions[region].chains:
                _add_chain(branch, job, chain, readers.get(chain, ()))
            left -= len(job.regions[region].chains)
    return tree


def _region(job: CompiledJob, region: int) -> str:
    chains = job.regions[region].chains
    groups = dict.fromkeys(job.groups[job.group_of[chain]].name for chain in chains)
    noun = "group" if len(groups) == 1 else "groups"
    return f"region {region} in {noun} {', '.join(groups)}"


def _add_chain(branch: Tree, job: CompiledJob, chain: int, readers: Sequence[str]) -> None:
    parallelism = count(job.chains[chain].parallelism, "subtask")
    title = Text.assemble((chain_name(job, chain), STRONG), (f"  {parallelism}", QUIET))
    if len({job.group_of[other] for other in job.regions[job.region_of[chain]].chains}) > 1:
        title.append(f" in {job.groups[job.group_of[chain]].name}", QUIET)
    operators = job.chains[chain].operators
    if len(operators) == 1:
        title.append(f", {_shares(job.fractions[operators[0]])}", QUIET)
    node = branch.add(title)
    width = max(len(job.operators[operator]) for operator in operators)
    for operator in operators if len(operators) > 1 else ():
        shares = _shares(job.fractions[operator])
        node.add(Text.assemble(f"{job.operators[operator]:{width}}", (f"  {shares}", QUIET)))
    for reader in readers:
        node.add(Text(reader, QUIET))


def _shares(fractions: Fractions) -> str:
    """Say what an operator gets of the slot's managed memory, if anything."""
    if isinstance(fractions, KindFractions):
        parts = [("on-heap", float(fractions.on_heap)), ("off-heap", float(fractions.off_heap))]
    else:
        parts = [(f"{f.use_case} memory", f.of_slot) for f in fractions]
    said = [f"{share:.4g} of {name}" for name, share in parts if share]
    return ", ".join(said) or "no managed memory"


def _groups(job: CompiledJob, canvas: Canvas) -> RenderableType:
    head = ("group", "slots", "chains", "cpu", "heap", "off-heap", "managed", "network", "more")
    rows = [
        [
            Text(group.name),
            Text(f"{group.slots:,}"),
            Text(f"{len(group.chains):,}"),
            *map(Text, _amounts(group.slot)),
        ]
        for group in job.groups[:MOST_CHAINS]
    ]
    drawn = table(
        head,
        rows,
        canvas.width,
        numbers=head[1:8],
        wrap={"group": 10, "more": 10},
        spare=("chains",),
    )
    if len(job.groups) <= MOST_CHAINS:
        return drawn
    return Lines(drawn, Text(f"and {count(len(job.groups) - MOST_CHAINS, 'group')} more", QUIET))


def _amounts(profile: Profile) -> list[str]:
    if not isinstance(profile, Amounts):
        return ["", "", "", "", "", "a default slot"]
    managed = "/".join(
        memory(amount) if amount else "0"
        for amount in (profile.managed_on_heap_bytes, profile.managed_off_heap_bytes)
    )
    return [
        format_e8(profile.cpu_e8),
        memory(profile.heap_bytes),
        memory(profile.off_heap_bytes) if profile.off_heap_bytes else "",
        managed if managed != "0/0" else "",
        memory(profile.network_bytes) if profile.network_bytes else "",
        ", ".join(f"{format_e8(amount)} {name}" for name, amount in profile.extended_e8),
    ]
