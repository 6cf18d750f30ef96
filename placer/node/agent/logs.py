"""Log records as one JSON object a line, with the fields that ``extra`` adds."""

import json
import logging
import sys
from datetime import UTC, datetime

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName"}


class JsonLogFormatter(logging.Formatter):
    """Formats a record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        when = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to_stderr(level: str, as_json: bool) -> None:
    """Send what Placer logs to standard error, and what libraries of the agent warn of."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonLogFormatter() if as_json else logging.Formatter("%(levelname)s %(message)s")
    )
    for name, least in (("placer", level.upper()), ("tornado", "WARNING"), ("asyncio", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(least)
        logger.propagate = False
