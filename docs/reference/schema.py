"""Describes the limits of a JSON schema in a few words."""


def limits(schema):
    """The values that a schema allows."""
    for one in schema.get("oneOf", ()):
        if "enum" in one:
            schema = one
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kinds = schema.get("type", "")
    kind = next((one for one in kinds if one != "null"), "") if isinstance(kinds, list) else kinds
    if kind == "array":
        items = limits(schema.get("items", {}))
        words = [f"list of {items}" if items else "list", between(schema, "Items", "items")]
        return ", ".join(word for word in words if word)
    words = [kind, between(schema, "imum", ""), between(schema, "Length", "characters")]
    return ", ".join(word for word in words if word)


def between(schema, ending, unit):
    """For example `1 to 10`, from minimum and maximum, minLength and maxLength, or minItems and maxItems."""
    least, most = schema.get(f"min{ending}"), schema.get(f"max{ending}")
    if least is None and most is None:
        return ""
    if most is None:
        text = f"{least:.7g} or more"
    else:
        text = f"{least:.7g} to {most:.7g}" if least is not None else f"at most {most:.7g}"
    return f"{text} {unit}".strip()
