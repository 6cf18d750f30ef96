"""``placer schema``: the JSON Schemas of documents, for editors."""

import json
from enum import StrEnum
from typing import Annotated

import typer


class SchemaDocumentKind(StrEnum):
    """Kinds of documents that have a schema; the value stands in their ``kind``."""

    INSTANCE = "Instance"
    MACHINE = "Machine"
    PLACEMENT = "Placement"
    NODE_PLACEMENT = "NodePlacement"
    JOB_GRAPH = "JobGraph"
    WORKERS = "Workers"
    CHANGES = "Changes"
    DEMAND = "Demand"
    PLAN = "Plan"
    PLAN_ANSWER = "PlanAnswer"
    PLAN_ANSWERS = "PlanAnswers"
    EXPLANATIONS = "Explanations"
    FIT_ANSWER = "FitAnswer"
    SURVIVAL_ANSWER = "SurvivalAnswer"
    PLAN_GROWTH = "PlanGrowth"


def schema_command(
    kind: Annotated[SchemaDocumentKind, typer.Argument(help="The kind of documents.")] = (
        SchemaDocumentKind.INSTANCE
    ),
) -> None:
    """Print the JSON Schema of the documents of a kind, for editors."""
    typer.echo(json.dumps(json_schema_of_document_kind(kind), indent=2))


def json_schema_of_document_kind(kind: SchemaDocumentKind) -> dict[str, object]:
    """Return the JSON Schema of the documents of a kind."""
    from placer.explain.schema import ExplanationsFile
    from placer.plan.schema import (
        FitAnswerFile,
        PlanAnswerFile,
        PlanAnswersFile,
        PlanFile,
        PlanGrowthFile,
        SurvivalAnswerFile,
    )
    from placer.slots.schema import JobGraphFile
    from placer.slots.workers.schema import WorkersFile
    from placer_models.files.part import Part, json_schema
    from placer_models.instance.changes_file import ChangesFile
    from placer_models.instance.demand import DemandFile
    from placer_models.instance.machine_schema import MachineFile
    from placer_models.instance.node_file import NodePlacementFile
    from placer_models.instance.placement_file import PlacementFile
    from placer_models.instance.schema import InstanceFile

    files: dict[SchemaDocumentKind, type[Part]] = {
        SchemaDocumentKind.INSTANCE: InstanceFile,
        SchemaDocumentKind.MACHINE: MachineFile,
        SchemaDocumentKind.NODE_PLACEMENT: NodePlacementFile,
        SchemaDocumentKind.JOB_GRAPH: JobGraphFile,
        SchemaDocumentKind.WORKERS: WorkersFile,
        SchemaDocumentKind.CHANGES: ChangesFile,
        SchemaDocumentKind.DEMAND: DemandFile,
        SchemaDocumentKind.PLAN: PlanFile,
    }
    # In these a field may be there without a value.
    answers: dict[SchemaDocumentKind, type[Part]] = {
        SchemaDocumentKind.PLACEMENT: PlacementFile,
        SchemaDocumentKind.PLAN_ANSWER: PlanAnswerFile,
        SchemaDocumentKind.PLAN_ANSWERS: PlanAnswersFile,
        SchemaDocumentKind.EXPLANATIONS: ExplanationsFile,
        SchemaDocumentKind.FIT_ANSWER: FitAnswerFile,
        SchemaDocumentKind.SURVIVAL_ANSWER: SurvivalAnswerFile,
        SchemaDocumentKind.PLAN_GROWTH: PlanGrowthFile,
    }
    return json_schema((files | answers)[kind], nulls=kind in answers)
