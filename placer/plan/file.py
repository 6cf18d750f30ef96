"""Plans in files, read with all faults at once: file, line and field of each."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from placer.plan.cases import domains_with_nodes_or_offers, instance_with_scenario_changes
from placer.plan.losses import gang_like_running
from placer.plan.offers_like import (
    existing_node_names,
    machine_offers_and_faults,
    node_of_each_offer,
)
from placer.plan.question import (
    SPARE,
    FailureTolerance,
    NodeOffer,
    PlanQuestion,
    PlanScenario,
    pod_and_gang_names_in_use,
    renamed_copies_of_gangs,
)
from placer.plan.readable import may_be_fault_of_left_out_fields, plan_without_wrong_fields
from placer.plan.scenario_words import ScenarioChangeReader, read_price
from placer.plan.schema import (
    OfferPart,
    PlanDemandGangPart,
    PlanDemandPart,
    PlanFile,
    ScenarioPart,
    SurvivePart,
)
from placer_models.cluster import Instance
from placer_models.defaults import NO_DEFAULTS
from placer_models.files.documents import DocumentInFile
from placer_models.files.errors import InputError
from placer_models.files.faults import DocumentLocation, FileFaults
from placer_models.files.tree import document_tree_to_plain_values
from placer_models.files.validate import note_schema_faults, read_by_schema
from placer_models.instance.build import (
    InstancePartsOfOtherDocuments,
    WaitingPodAndGangParts,
    build_instance_from_placer_files,
)
from placer_models.instance.hosts import expand_hosts
from placer_models.instance.nodes import MachineFinder
from placer_models.instance.schema import GangPart, WaitingPodPart
from placer_models.message_text import in_quotes, near_or_first_names_text
from placer_models.placement import pod_or_gang_title
from placer_models.pod import Gang, Pod, PodSpec, lone_gang, without_replica_number
from placer_models.whatif.change import WhatIfChangeError, waiting_gang_named

_FACTOR = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")
_OF_A_DEMAND = frozenset({"demand", "scenarios", "survive", "headroom"})
"""The fields of a plan that say what is asked for."""

Key = tuple[str, str]
"""Namespace and name."""

MOST_TIMES = 10_000
"""The largest factor of a scenario."""


def read_question(
    plan: DocumentInFile,
    documents: Sequence[DocumentInFile],
    find_machine: MachineFinder,
    cluster: Instance | None = None,
    more: Sequence[tuple[str, int]] = (),
) -> PlanQuestion:
    """Return the question of a plan.

    Args:
        plan: The document of the plan.
        documents: The documents of the instance beside it.
        find_machine: Finds machines that no document defines.
        cluster: The instance of a cluster's objects, in place of documents.
        more: As in `with_more_pods`.

    Raises:
        InputError: Something is wrong; it tells all faults.
        ValueError: A name of ``more`` means nothing.

    """
    faults = FileFaults([plan, *documents])
    if wrong := note_schema_faults(PlanFile, DocumentLocation(plan, faults)):
        # What is wrong with the rest is told as well, where it does not follow from this.
        others = FileFaults([plan, *documents])
        rest = DocumentLocation(plan_without_wrong_fields(plan, wrong), others)
        with suppress(InputError, ValueError):
            _read(rest, documents, find_machine, cluster, more)
        others.hand_over(faults, lambda at: not may_be_fault_of_left_out_fields(at, wrong))
        raise faults.all_of_them() or AssertionError("what differs from the schema has a fault")
    try:
        return _read(DocumentLocation(plan, faults), documents, find_machine, cluster, more)
    except InputError as error:
        # Faults of further files, such as a machine's, are not among the gathered ones.
        raise faults.all_of_them() or error from None


def read_offers(
    plan: DocumentInFile, find_machine: MachineFinder, cluster: Instance
) -> tuple[tuple[NodeOffer, ...], str]:
    """Return the offers of a plan, and the currency of their prices.

    What it asks for means nothing here, and need not fit the cluster.

    Args:
        plan: The document of the plan.
        find_machine: Finds machines that are no file's.
        cluster: The nodes that are there, and what runs on them.

    Raises:
        InputError: Something is wrong with the plan; it tells all faults.

    """
    entries = {key: one for key, one in plan.tree.entries.items() if key not in _OF_A_DEMAND}
    plan = replace(plan, tree=plan.tree._replace(entries=entries))
    gang = lone_gang(Pod("any", "default", PodSpec(())))
    some = replace(cluster, gangs=(gang,), groups=(), running=(), left_out=())
    question = read_question(plan, (), find_machine, some)
    defaults = cluster.nodes[0].defaults if cluster.nodes else NO_DEFAULTS
    offers = tuple(
        replace(offer, node=replace(offer.node, defaults=defaults)) for offer in question.offers
    )
    return offers, question.currency


def _read(
    place: DocumentLocation,
    documents: Sequence[DocumentInFile],
    find_machine: MachineFinder,
    cluster: Instance | None,
    more: Sequence[tuple[str, int]],
) -> PlanQuestion:
    faults = place.faults
    part = read_by_schema(PlanFile, place)
    if part is None:
        faults.raise_first()
    assert part is not None  # what differs from the schema has a fault
    offers, wrong = _offers(part.offers, place.at("offers"), cluster)
    demand = place.at("demand")
    gangs = [
        (copy, demand.at("gangs", i))
        for i, gang in enumerate(part.demand.gangs)
        for copy in _copies(gang)
    ]
    waiting = WaitingPodAndGangParts(part.demand.pods, gangs, demand)
    spare = WaitingPodAndGangParts(_spare(part.headroom), (), place, "headroom")
    instance, broken = None, None
    of_machine, unlike = machine_offers_and_faults(offers, existing_node_names(documents, cluster))
    try:
        beside = InstancePartsOfOtherDocuments(tuple(of_machine), (waiting, spare), faults)
        instance = build_instance_from_placer_files(documents, find_machine, beside=beside)
    except InputError as error:
        broken = error
    # What is wrong with the rest is told as well.
    for at, message in (*wrong, *unlike):
        at.fault(message)
    if not part.offers:
        place.at("offers").fault("is empty; give one or more, each with a machine and a price")
    prices = [read_price(offer.price, at.at("price")) for offer, at in offers]
    for offer, at in offers:
        if offer.most is not None and offer.most < offer.pack_of:
            at.at("max").fault(
                f"got {offer.most}; nodes come in packs of {offer.pack_of}: "
                "raise it, or lower packOf"
            )
    words = ScenarioChangeReader([offer.name for offer, _ in offers], find_machine, place)
    scenarios = tuple(_scenarios(part.scenarios, place.at("scenarios"), words))
    known = _names(part.demand, documents, cluster)
    _check_names(part.scenarios, known, place.at("scenarios"))
    survive = _survive(part.survive, place.at("survive"))
    if instance is None:
        assert broken is not None
        raise broken
    first = len(instance.nodes) - len(of_machine)
    made, nodes = instance.nodes[first:], instance.nodes[:first]
    found = node_of_each_offer(offers, made, cluster.nodes if cluster else nodes)
    instance = replace(instance, nodes=nodes)
    instance, headroom = _without_headroom(instance, part.headroom)
    if cluster is not None:
        instance = _with_cluster(instance, cluster, demand)
    instance = with_more_pods(instance, more)
    for name, number in part.demand.more.items():
        try:
            instance = with_more_pods(instance, [(name, number)])
        except ValueError as error:
            demand.at("more", name).fault(str(error))
    if not instance.gangs:
        demand.fault("asks for nothing; give pods or gangs here, or an instance whose pods wait")
    question = PlanQuestion(
        instance,
        tuple(
            NodeOffer(replace(node, offered=False), price, offer.most, offer.pack_of)
            for node, price, (offer, _) in zip(found, prices, offers, strict=True)
            if node is not None
        ),
        scenarios or (PlanScenario("as asked"),),
        part.currency,
        part.metadata.name or instance.name,
        survive,
        headroom,
    )
    _check_changes(question, place.at("scenarios"))
    _check_domain(question, place.at("survive"))
    faults.raise_first()
    return question


def _spare(parts: Sequence[WaitingPodPart]) -> tuple[WaitingPodPart, ...]:
    """Return the pods of headroom under names that no pod of the demand has."""
    return tuple(part.model_copy(update={"name": f"{part.name}{SPARE}"}) for part in parts)


def _without_headroom(
    instance: Instance, parts: Sequence[WaitingPodPart]
) -> tuple[Instance, tuple[Gang, ...]]:
    """Return the instance without the pods of the headroom, and these."""
    names = {(part.namespace, f"{part.name}{SPARE}") for part in parts}
    spare = tuple(
        gang
        for gang in instance.gangs
        if gang.key in names or (gang.namespace, without_replica_number(gang.name)) in names
    )
    kept = tuple(gang for gang in instance.gangs if gang not in spare)
    return replace(instance, gangs=kept), spare


def _survive(part: SurvivePart | None, place: DocumentLocation) -> FailureTolerance | None:
    if part is None:
        return None
    if (part.nodes is None) == (part.domain is None):
        place.fault("says what may be lost: either 'nodes: 1' or 'domain: KEY'")
    if (part.nodes or 1) > 1:
        place.at("nodes").fault(
            f"got {part.nodes}; expected 1: a plan survives the loss of any one node, or of whole "
            "domains by 'domain: KEY'; 'placer plan survive --nodes' loses several of a cluster"
        )
    if part.count != 1 and part.domain is None:
        place.at("count").fault("counts domains; without a domain one node is lost")
    return FailureTolerance(part.domain or "", part.count, part.priority)


def _check_domain(question: PlanQuestion, place: DocumentLocation) -> None:
    """Note a domain that no node has, or the loss of all of them."""
    survive = question.survive
    if survive is None or not survive.domain:
        return
    domains = domains_with_nodes_or_offers(question, survive.domain)
    if not domains:
        place.at("domain").fault(
            f"no node and no offer has the label or the level {in_quotes(survive.domain)}"
        )
    elif survive.count >= len(domains) and all(
        node.topology_domain(survive.domain)
        for node in (*question.instance.nodes, *(offer.node for offer in question.offers))
    ):
        place.at("count").fault(
            f"got {survive.count}; there are {len(domains)} domains "
            f"({', '.join(domains[:4])}), and some node has to be left"
        )


def _check_changes(question: PlanQuestion, place: DocumentLocation) -> None:
    """Note changes of scenarios that have nothing to change."""
    for i, scenario in enumerate(question.scenarios):
        try:
            instance_with_scenario_changes(question, scenario)
        except WhatIfChangeError as error:
            place.at(i, "changes").fault(str(error))


def with_more_pods(instance: Instance, more: Sequence[tuple[str, int]]) -> Instance:
    """Return the instance in which further pods wait.

    Args:
        instance: The instance.
        more: Names of pods and gangs, as [NAMESPACE/]NAME, each with how many more of it wait.

    Raises:
        ValueError: A name means no pod and no gang.

    """
    gangs = list(instance.gangs)
    taken = pod_and_gang_names_in_use(instance)
    for name, count in more:
        gangs += renamed_copies_of_gangs([_gang_named(instance, name)] * count, taken)
    return replace(instance, gangs=tuple(gangs))


def _gang_named(instance: Instance, name: str) -> Gang:
    """Return the gang of a name, or that of a pod by itself, waiting or running.

    Raises:
        ValueError: There is none.

    """
    namespace, _, own = name.rpartition("/")
    key = (namespace or "default", own)
    if (gang := waiting_gang_named(instance, key)) is not None:
        return gang
    pods = {pod.key: pod for gang in instance.gangs for pod in gang.pods}
    pods |= {one.pod.key: one.pod for one in instance.running}
    if key in pods:
        return lone_gang(pods[key])
    members = tuple(one.pod for one in instance.running if one.gang_key == key and not one.illegal)
    if members:
        asked = next((gang for gang in instance.running_gangs if gang.key == key), None)
        return gang_like_running(key, members, asked)
    titles = [pod.title for pod in pods.values()] + [g.title for g in instance.gangs]
    titles += [
        pod_or_gang_title(*one)
        for one in dict.fromkeys(r.gang_key for r in instance.running)
        if one
    ]
    raise ValueError(
        f"no pod or gang is called {in_quotes(name)}{near_or_first_names_text(name, titles)}"
    )


def _offers(
    parts: Sequence[OfferPart], place: DocumentLocation, cluster: Instance | None
) -> tuple[list[tuple[OfferPart, DocumentLocation]], list[tuple[DocumentLocation, str]]]:
    """Return the offers whose names are good, and what is wrong with the other names."""
    seen: dict[str, DocumentLocation] = {}
    there = {node.name for node in cluster.nodes} if cluster else set()
    good, wrong = [], []
    for i, part in enumerate(parts):
        at, name = place.at(i), in_quotes(part.name)
        if part.name in seen:
            where = seen[part.name].where
            wrong.append(
                (at.at("name"), f"an offer {name} is already given at {where}; rename one")
            )
            continue
        seen[part.name] = at
        if part.name in there:
            wrong.append((at.at("name"), f"a node of the cluster is called {name}; rename it"))
        elif _is_one(part.name):
            good.append((part, at))
        else:
            message = f"got {name}; an offer has one name, and any number of nodes"
            wrong.append((at.at("name"), message))
    return good, wrong


def _is_one(name: str) -> bool:
    try:
        return len(expand_hosts(name)) == 1
    except ValueError:
        return True  # The reader of nodes says what is wrong with it.


def _factor(text: str, place: DocumentLocation) -> Fraction:
    """Return a factor, or note what is wrong with it."""
    if _FACTOR.fullmatch(text) and 0 < Fraction(text) <= MOST_TIMES:
        return Fraction(text)
    place.fault(
        f"got {in_quotes(text)}; expected a factor such as 1.5, above 0, {MOST_TIMES:,} at most"
    )
    return Fraction(1)


def _scenarios(
    parts: Sequence[ScenarioPart], place: DocumentLocation, words: ScenarioChangeReader
) -> Iterator[PlanScenario]:
    seen: set[str] = set()
    for i, part in enumerate(parts):
        at = place.at(i)
        if part.name in seen or not part.name.strip():
            what = "is given already" if part.name in seen else "is empty"
            at.at("name").fault(f"the name of the scenario {what}; give it another")
        seen.add(part.name)
        scales = []
        for name, text in part.pods.items():
            namespace, slash, own = name.rpartition("/")
            factor = _factor(text, at.at("pods", name))
            scales.append((namespace if slash else "default", own, factor))
        changes, prices, limits = words.read(part.changes, at.at("changes"))
        yield PlanScenario(
            part.name,
            _factor(part.scale, at.at("scale")),
            tuple(scales),
            changes,
            prices,
            limits,
        )


def _check_names(
    parts: Sequence[ScenarioPart], known: Collection[Key], place: DocumentLocation
) -> None:
    """Note the names in scenarios that no pod and no gang of the demand has."""
    told = [name if namespace == "default" else f"{namespace}/{name}" for namespace, name in known]
    for i, part in enumerate(parts):
        for name in part.pods:
            namespace, slash, own = name.rpartition("/")
            key = namespace if slash else "default"
            if (key, own) not in known and (key, without_replica_number(own)) not in known:
                place.at(i, "pods", name).fault(
                    f"no pod or gang of the demand is called {in_quotes(name)}",
                    name=name,
                    known=told,
                )


def _names(
    demand: PlanDemandPart, documents: Sequence[DocumentInFile], cluster: Instance | None
) -> dict[Key, None]:
    """Return namespace and name of all pods and gangs that are asked for.

    They are taken as they are written, so that they are known even if something else is wrong.
    """
    found = [(pod.namespace, pod.name) for pod in demand.pods]
    found += [(gang.namespace, gang.name) for gang in demand.gangs]
    for one in cluster.gangs if cluster else ():
        found.append((one.namespace, without_replica_number(one.name) if one.lone else one.name))
    for document in documents:
        for field in ("pods", "gangs"):
            tree = document.tree.entries.get(field)
            written = document_tree_to_plain_values(tree.node) if tree else None
            for part in written if isinstance(written, list) else ():
                if isinstance(part, dict):
                    found.append((str(part.get("namespace", "default")), str(part.get("name"))))
    return dict.fromkeys(found)


def _copies(part: PlanDemandGangPart) -> Iterator[GangPart]:
    """Yield the gang as often as there are replicas; members are named by their gang then."""
    if part.replicas is None:
        yield part
        return
    for number in range(part.replicas):
        name = f"{part.name}-{number}"
        pods = tuple(
            member.model_copy(update={"name": f"{name}-{member.name}"}) for member in part.pods
        )
        yield part.model_copy(update={"name": name, "pods": pods})


def _with_cluster(plan: Instance, cluster: Instance, demand: DocumentLocation) -> Instance:
    """Return the instance of a cluster with the plan's demand."""
    taken = pod_and_gang_names_in_use(cluster)
    for gang in plan.gangs:
        for key in {gang.key, *(pod.key for pod in gang.pods)} & taken:
            demand.fault(f"the cluster has a pod {in_quotes('/'.join(key))} already; rename it")
    return replace(cluster, gangs=(*cluster.gangs, *plan.gangs))
