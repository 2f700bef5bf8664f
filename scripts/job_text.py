"""Job files from tables, for tests and benchmarks."""

import json


def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, dict):
        items = (f"{key} = {toml(item)}" for key, item in value.items())
        return "{ " + ", ".join(items) + " }"
    return repr(value)


def job_text(job):
    lines = []
    for section, values in job.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {toml(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"
