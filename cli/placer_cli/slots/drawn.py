"""A compiled job for a terminal: regions in their order, chains, operators; then slots."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from placer.slots.amount_text import format_hundred_millionths
from placer.slots.compiled import (
    CompiledDataflowJob,
    EdgeBetweenChains,
    Fractions,
    OperatorMemoryFractions,
)
from placer.slots.graph import DEFAULT_GROUP
from placer.slots.resources import ResourceProfile, SlotResourceAmounts
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import ACCENT, BAD, FRAME, QUIET, STRONG
from placer_cli.draw.tables import table_of_first_rows
from placer_cli.draw.text_flow import drawing_with_title, stack_yielded_drawings
from placer_cli.draw.texts import memory_text
from placer_models.message_text import count_with_noun, listed_in_sentence

MOST_CHAINS = 60
"""A tree of more chains says nothing to anyone; --format json has them all."""

MOST_LINES = 12
"""So many operators of a chain are listed, and so many links out of it."""

MOST_NAMES = 4
"""So many names stand in one line."""


@stack_yielded_drawings
def draw_compiled_job(job: CompiledDataflowJob, canvas: WidthAndMarks) -> Iterator[RenderableType]:
    """Draw a compiled job."""
    yield Text(_headline(job), STRONG)
    yield Text(
        f"{count_with_noun(job.slots_needed, 'slot')} needed: {job.slots_at_once:,} when all runs "
        f"at once, {job.slots_in_turn:,} when regions take turns",
        QUIET,
    )
    for cycle in job.cycles[:MOST_NAMES]:
        yield ""
        yield Text(_cycle(job, cycle.regions, cycle.links), BAD)
    if len(job.cycles) > MOST_NAMES:
        yield Text(
            f"And {count_with_noun(len(job.cycles) - MOST_NAMES, 'cycle')} more like that.", BAD
        )
    yield ""
    yield _tree(job)
    yield ""
    yield drawing_with_title("Slots to ask for", _groups(job, canvas))


def _headline(job: CompiledDataflowJob) -> str:
    parts = (
        count_with_noun(len(job.operators), "operator"),
        count_with_noun(len(job.chains), "chain"),
        count_with_noun(len(job.regions), "region"),
        count_with_noun(len(job.groups), "group"),
    )
    return f"{job.name or 'job'} ({job.mode}, {job.semantics}): {' -> '.join(parts)}"


def _cycle(job: CompiledDataflowJob, regions: Sequence[int], links: Sequence[int]) -> str:
    """Say which regions wait for one another, and through which links."""
    ends = [(job.links[i].producer, job.links[i].consumer) for i in links]
    edges = _some(
        [f"{operator_chain_name(job, a)} -> {operator_chain_name(job, b)}" for a, b in ends]
    )
    names = _some([str(region) for region in regions])
    if len(regions) == 1:
        return (
            f"Region {names} waits for itself: {edges} blocks, and both ends start together. "
            "Make it pipelined, or all ways between them blocking."
        )
    return (
        f"Regions {names} wait for one another ({edges} block); none can be first, so their "
        "slots are one gang. Make one of the links pipelined, or more of them blocking."
    )


def _some(names: Sequence[str]) -> str:
    """Join names as in a sentence; of many, the first ones."""
    shown = [*names[:MOST_NAMES]]
    if len(names) > MOST_NAMES:
        shown.append(f"{len(names) - MOST_NAMES:,} more")
    return listed_in_sentence(shown)


def operator_chain_name(job: CompiledDataflowJob, chain: int) -> str:
    """Return a chain's name: its operators, or the ends of a long one."""
    operators = job.chains[chain].operators
    if len(operators) > MOST_NAMES:
        first, last = job.operators[operators[0]], job.operators[operators[-1]]
        return f"{first} + {len(operators) - 2:,} more + {last}"
    return " + ".join(job.operators[operator] for operator in operators)


def _tree(job: CompiledDataflowJob) -> Tree:
    tree = Tree(Text("regions, in an order in which they can run", QUIET), guide_style=FRAME)
    links: dict[int, list[EdgeBetweenChains]] = {}
    for link in job.links:
        links.setdefault(link.producer, []).append(link)
    left = MOST_CHAINS
    for region in (region for gang in job.gangs for region in gang.regions):
        chains = job.regions[region].chains[:left]
        if chains:
            branch = tree.add(Text(_region(job, region), ACCENT))
        for chain in chains:
            _add_chain(branch, job, chain, links.get(chain, ()))
        left -= len(chains)
    if len(job.chains) > MOST_CHAINS:
        more = count_with_noun(len(job.chains) - MOST_CHAINS, "chain")
        tree.add(Text(f"and {more} more; --format json has all", QUIET))
    return tree


def _region(job: CompiledDataflowJob, region: int) -> str:
    numbers = dict.fromkeys(job.group_of[chain] for chain in job.regions[region].chains)
    groups = [job.groups[number].name for number in numbers]
    return f"region {region} in {'group' if len(groups) == 1 else 'groups'} {_some(groups)}"


def _add_chain(
    branch: Tree, job: CompiledDataflowJob, chain: int, links: Sequence[EdgeBetweenChains]
) -> None:
    """Add a chain with its operators and what reads it."""
    parts = [count_with_noun(job.chains[chain].parallelism, "subtask")]
    if job.chains[chain].group_name != DEFAULT_GROUP:
        parts.append(f"in {job.groups[job.group_of[chain]].name}")
    operators = job.chains[chain].operators
    if len(operators) == 1:
        parts.append(_shares(job.fractions[operators[0]]))
    node = branch.add(
        Text.assemble((operator_chain_name(job, chain), STRONG), (f"  {', '.join(parts)}", QUIET))
    )
    listed = operators[:MOST_LINES] if len(operators) > 1 else ()
    width = max((len(job.operators[operator]) for operator in listed), default=0)
    for operator in listed:
        shares = _shares(job.fractions[operator])
        node.add(Text.assemble(f"{job.operators[operator]:{width}}", (f"  {shares}", QUIET)))
    if len(operators) > MOST_LINES:
        node.add(
            Text(f"and {count_with_noun(len(operators) - MOST_LINES, 'operator')} more", QUIET)
        )
    for link in links[:MOST_LINES]:
        to = operator_chain_name(job, link.consumer)
        node.add(Text(f"to {to} ({link.partition}, {link.exchange})", QUIET))
    if len(links) > MOST_LINES:
        node.add(Text(f"and {count_with_noun(len(links) - MOST_LINES, 'link')} more", QUIET))


def _shares(fractions: Fractions) -> str:
    """Say what an operator gets of the slot's managed memory, if anything."""
    if isinstance(fractions, OperatorMemoryFractions):
        parts = [("on-heap", float(fractions.on_heap)), ("off-heap", float(fractions.off_heap))]
    else:
        parts = [(f"{f.use_case} memory", f.of_slot) for f in fractions]
    said = [f"{share:.4g} of {name}" for name, share in parts if share]
    return ", ".join(said) or "no managed memory"


def _groups(job: CompiledDataflowJob, canvas: WidthAndMarks) -> RenderableType:
    head = ("group", "slots", "chains", "cpu", "heap", "off-heap", "managed", "network", "more")
    rows = [
        (
            group.name,
            f"{group.slots:,}",
            f"{len(group.chains):,}",
            *slot_resource_texts(group.slot),
        )
        for group in job.groups
    ]
    return table_of_first_rows(
        head,
        rows,
        canvas.width,
        MOST_CHAINS,
        lambda more: f"{count_with_noun(more, 'group')} more",
        numbers=head[1:8],
        wrap={"group": 10, "more": 10},
        spare=("chains",),
    )


def slot_resource_texts(profile: ResourceProfile) -> list[str]:
    """Return the cells from CPUs to extended resources."""
    if not isinstance(profile, SlotResourceAmounts):
        return ["", "", "", "", "", "a default slot"]
    managed = "/".join(
        memory_text(amount) if amount else "0"
        for amount in (profile.managed_on_heap_bytes, profile.managed_off_heap_bytes)
    )
    return [
        format_hundred_millionths(profile.cpu_e8),
        memory_text(profile.heap_bytes),
        memory_text(profile.off_heap_bytes) if profile.off_heap_bytes else "",
        managed if managed != "0/0" else "",
        memory_text(profile.network_bytes) if profile.network_bytes else "",
        ", ".join(
            f"{format_hundred_millionths(amount)} {name}" for name, amount in profile.extended_e8
        ),
    ]
