"""Strategies in files: read, written, named in answers, claimed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from answers import expect
from instance_texts import instance_of_text
from placer.judge.measure import measure
from placer.load import is_catalogue_machine, load_instance, load_placement_with_outcome
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.files.errors import InputError
from placer_models.instance.placement_claims import misstated_tiers
from placer_models.instance.placement_file import solve_answer_to_dict
from placer_models.instance.writer import instance_to_yaml
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Infeasible

FILE = Path(__file__).parents[2] / "instances" / "rules" / "strategies.yaml"
GREEDY = SolveOptions(engine=Engine.GREEDY, workers=1)


@pytest.mark.parametrize("strategy", list(NodeStrategy))
def test_a_strategy_is_read_and_written_back(strategy: NodeStrategy) -> None:
    """
    The default need not be written.
    """
    instance = replace(load_instance([FILE]), strategy=strategy)
    text = instance_to_yaml(instance, is_catalogue_machine)

    assert instance_of_text(text) == instance
    assert ("strategy:" in text) is (strategy is not NodeStrategy.USABLE)


def test_two_documents_do_not_both_say_it(tmp_path: Path) -> None:
    """
    Also where they agree: one of them would be changed, and the other forgotten.
    """
    other = tmp_path / "other.yaml"
    other.write_text("apiVersion: placer/v1\nkind: Instance\nstrategy: pack\n", encoding="utf-8")

    with pytest.raises(InputError) as caught:
        load_instance([FILE, other])

    assert str(caught.value).endswith(
        "other.yaml:3: strategy: is given by another document already; give it once"
    )


def test_the_options_go_before_the_file() -> None:
    """
    The answer's last tier is what was asked for last; without a word it is the file's.
    """
    instance = load_instance([FILE])
    asked = replace(GREEDY, strategy=NodeStrategy.PACK)

    said = [
        solve_answer_to_dict(solve(instance, o), instance, {})["strategy"] for o in (GREEDY, asked)
    ]

    assert said == ["least-requested", "pack"]


def test_an_answer_without_places_names_it_too() -> None:
    """
    There are no tiers then; the instance says which they would be.
    """
    instance = load_instance([FILE])
    nowhere = replace(
        instance, nodes=tuple(replace(node, cordoned=True) for node in instance.nodes)
    )
    answer = expect(Infeasible, solve(nowhere, SolveOptions(workers=1, seed=1)))

    assert solve_answer_to_dict(answer, nowhere, {})["strategy"] == "least-requested"


def test_what_is_claimed_is_of_the_strategy_that_the_answer_names(tmp_path: Path) -> None:
    """
    Measured by another strategy the same file would claim tiers that there are not.
    """
    instance = load_instance([FILE])
    packed = replace(instance, strategy=NodeStrategy.PACK)
    file = tmp_path / "placement.json"
    file.write_text(
        json.dumps(solve_answer_to_dict(solve(packed, GREEDY), packed, {})), encoding="utf-8"
    )
    placement, claims = load_placement_with_outcome(file)

    assert claims.strategy is NodeStrategy.PACK
    assert list(misstated_tiers(claims, measure(packed, placement))) == []
    assert [name for name, _ in misstated_tiers(claims, measure(instance, placement))] == [
        "pack.nodes",
        "pack.used",
        "least-requested",
    ]
