"""The settings that a machine has for every session."""

from __future__ import annotations

import os
import re


def spark_defaults() -> dict[str, str]:
    """What `spark-defaults.conf` sets for every session of this machine; nothing where there is no such file."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (os.path.join(home, "conf") if home else None)
    if folder is None:
        return {}
    try:
        with open(os.path.join(folder, "spark-defaults.conf"), encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except OSError:
        return {}
    # Java's properties: the key ends at a blank, a colon or an equals sign.
    pairs = [re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and line[0] not in "#!"]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
