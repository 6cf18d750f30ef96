"""``placer schema``: the instance file's JSON Schema, for editors."""

import json

import typer


def schema() -> None:
    """Print the JSON Schema of an instance file, for editors."""
    from placer_models.instance.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
