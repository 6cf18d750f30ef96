"""``placer quota``: look into the number that says the quotas of a node's devices."""

from typing import TYPE_CHECKING, Annotated

import typer

from placer_cli.commands_on_demand import command_group
from placer_cli.console import print_drawing
from placer_cli.options import format_option, number_option
from placer_cli.output import OutputFormat, print_json_or_yaml

if TYPE_CHECKING:
    from placer_models.quota import BitPackedQuotas

MOST_BITS = 1_024
MOST_DEVICES = 10_000

quota_app = command_group(
    "Encode the quotas of a node's devices in one number, and look into one.",
    "placer quota decode 676500 --bits 5 --devices 4",
)


@quota_app.command("encode", epilog="Example: placer quota encode 20 20 5 20")
def quota_encode_command(
    quotas: Annotated[
        list[str], typer.Argument(metavar="QUOTA", help="Of devices 1, 2, ...: 20, or 20Gi.")
    ],
    bits: Annotated[
        int | None,
        number_option("Bits of each field; by default what the largest needs.", 1, MOST_BITS),
    ] = None,
    form: Annotated[OutputFormat, format_option("How the result is printed.")] = OutputFormat.TABLE,
) -> None:
    """Write the quotas of devices as one number, device 1 in the lowest bits."""
    from placer_models.quantity import parse_bytes
    from placer_models.quota import BitPackedQuotas, IllegalQuotaError, bits_per_quota

    values = []
    for device, quota in enumerate(quotas, start=1):
        try:
            values.append(parse_bytes(quota))
        except ValueError as error:
            raise typer.BadParameter(f"device {device}: {error}") from error
    try:
        encoded = BitPackedQuotas.of(values, bits or bits_per_quota(max(values)))
    except IllegalQuotaError as error:
        raise typer.BadParameter(str(error)) from error
    _show(encoded, form)


@quota_app.command("decode", epilog="Example: placer quota decode 676500 --bits 5 --devices 4")
def quota_decode_command(
    number: Annotated[
        str, typer.Argument(metavar="NUMBER", help="Digits, or 3k as Kubernetes may write it.")
    ],
    bits: Annotated[int, number_option("Bits of each field.", 1, MOST_BITS)],
    devices: Annotated[int, number_option("How many devices there are.", 0, MOST_DEVICES)],
    form: Annotated[OutputFormat, format_option("How the result is printed.")] = OutputFormat.TABLE,
) -> None:
    """Read the quotas of devices out of a number."""
    from placer_models.quota import BitPackedQuotas, IllegalQuotaError, parse_quota_quantity

    try:
        encoded = BitPackedQuotas(parse_quota_quantity(number), bits, devices)
    except IllegalQuotaError as error:
        raise typer.BadParameter(str(error)) from error
    _show(encoded, form)


def _show(encoded: "BitPackedQuotas", form: OutputFormat) -> None:
    if form is not OutputFormat.TABLE:
        print_json_or_yaml(_facts_of(encoded), form)
        return
    from placer_cli.draw.quota import draw_quotas

    print_drawing(lambda canvas: draw_quotas(encoded, canvas))


def _facts_of(encoded: "BitPackedQuotas") -> dict[str, object]:
    from placer_models.quota import quota_quantity_text

    return {
        "number": quota_quantity_text(encoded.number),
        "bits": encoded.bits,
        "devices": encoded.devices,
        "words": [str(word) for word in encoded.words],
        "quotas": list(encoded.quotas),
    }
