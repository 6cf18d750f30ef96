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


def schema(
    kind: Annotated[SchemaDocumentKind, typer.Argument(help="The kind of documents.")] = (
        SchemaDocumentKind.INSTANCE
    ),
) -> None:
    """Print the JSON Schema of the documents of a kind, for editors."""
    typer.echo(json.dumps(schema_of(kind), indent=2))


def schema_of(kind: SchemaDocumentKind) -> dict[str, object]:
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
    from placer_models.files.part import json_schema
    from placer_models.instance.changes_file import ChangesFile
    from placer_models.instance.demand import DemandFile
    from placer_models.instance.machine_schema import MachineFile
    from placer_models.instance.node_file import NodePlacementFile
    from placer_models.instance.placement_file import PlacementFile
    from placer_models.instance.schema import InstanceFile

    match kind:
        case SchemaDocumentKind.INSTANCE:
            return json_schema(InstanceFile)
        case SchemaDocumentKind.MACHINE:
            return json_schema(MachineFile)
        case SchemaDocumentKind.PLACEMENT:
            return json_schema(PlacementFile, nulls=True)
        case SchemaDocumentKind.NODE_PLACEMENT:
            return json_schema(NodePlacementFile)
        case SchemaDocumentKind.JOB_GRAPH:
            return json_schema(JobGraphFile)
        case SchemaDocumentKind.WORKERS:
            return json_schema(WorkersFile)
        case SchemaDocumentKind.CHANGES:
            return json_schema(ChangesFile)
        case SchemaDocumentKind.DEMAND:
            return json_schema(DemandFile)
        case SchemaDocumentKind.PLAN:
            return json_schema(PlanFile)
        case SchemaDocumentKind.PLAN_ANSWER:
            return json_schema(PlanAnswerFile, nulls=True)
        case SchemaDocumentKind.PLAN_ANSWERS:
            return json_schema(PlanAnswersFile, nulls=True)
        case SchemaDocumentKind.EXPLANATIONS:
            return json_schema(ExplanationsFile, nulls=True)
        case SchemaDocumentKind.FIT_ANSWER:
            return json_schema(FitAnswerFile, nulls=True)
        case SchemaDocumentKind.SURVIVAL_ANSWER:
            return json_schema(SurvivalAnswerFile, nulls=True)
        case SchemaDocumentKind.PLAN_GROWTH:
            return json_schema(PlanGrowthFile, nulls=True)
