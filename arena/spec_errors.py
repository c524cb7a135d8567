"""One clear error for a bad spec: which variable, which field, what was found, what is allowed."""

import difflib
import json
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import core_schema

from arena.errors import SpecError
from arena.spec_blocks import BLOCKS
from arena.stressors import FAMILIES
from mechanisms import registry
from mechanisms.base import Kind, ParameterError, Parameters

#: Fields of a spec that hold one of several families: these, and at which step of a path pydantic names the family.
UNIONS: dict[Any, tuple[dict[str, Any], int]] = {"root_block": (BLOCKS, 1), "stressors": (FAMILIES, 2)}


class FieldError(ValueError):
    """A rule between fields that does not hold; `variable` where the rule knows it better than the path does."""

    def __init__(self, field: str, message: str, variable: str | None = None):
        super().__init__(message)
        self.field = field
        self.message = message
        self.variable = variable


class RegisteredComponent:
    """Annotation of a field that holds the parameters of any registered family of one kind."""

    def __init__(self, kind: Kind):
        self.kind: Kind = kind

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.validate,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.model_dump()),
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        # Through the handler, so that models inside a family's model stand among the definitions of the whole schema.
        families = registry.families(self.kind).values()
        return {
            "oneOf": [handler(cls.parameters().__pydantic_core_schema__) for cls in families],
            "discriminator": {"propertyName": "family"},
        }

    def validate(self, value: Any) -> Parameters:
        families = registry.families(self.kind)
        if isinstance(value, Parameters):
            value = value.model_dump()
        if not isinstance(value, dict):
            raise FieldError("", f"found {show(value)}, expected an object with 'family' and its parameters")
        if "family" not in value:
            hint = next((f" (did you mean 'family' for '{k}'?)" for k in value if close(k, ["family"])), "")
            raise FieldError("family", f"is missing{hint}; families are {listed(families)}")
        family = value["family"]
        if not isinstance(family, str) or family not in families:
            hint = did_you_mean(family, families)
            raise FieldError("family", f"found {show(family)}{hint}; families are {listed(families)}")
        return families[family].parameters().model_validate(value)


#: Whole numbers with more digits are read as floating-point ones, which are infinite there.
MOST_DIGITS = 1000


def strict_json(text: Any) -> Any:
    """Parse JSON, refusing what JSON forbids or leaves open: NaN, infinities, repeated keys.

    Raises:
        SpecError: With line and column where the text is not JSON, or if it is no text.
    """
    if not isinstance(text, str | bytes):
        raise SpecError(f"found {type(text).__name__}, expected a JSON text")

    def refuse(token: str) -> None:
        raise SpecError(f"found {token}, which is not a JSON number; expected a finite number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        if len(set(keys)) != len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise SpecError(f"found the key '{twice}' twice in one JSON object")
        return dict(pairs)

    def whole(digits: str) -> int | float:
        # Beyond every limit of a field, where Python would refuse to read on.
        return int(digits) if len(digits) <= MOST_DIGITS else float(digits)

    try:
        return json.loads(text, parse_constant=refuse, parse_int=whole, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise SpecError(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except (RecursionError, ValueError) as error:
        raise SpecError(f"not usable JSON: {str(error) or type(error).__name__}") from None


def first_error(error: ValidationError, data: Any, model: type[BaseModel]) -> str:
    """The most telling of pydantic's errors about `data` as a `model`, as one line."""
    found = _flatten(error, data, model)
    # A misspelt field is reported twice, as unknown and as missing: the former says more.
    path, variable, message = min(found, key=lambda entry: not entry[3])[:3]
    where, path = _variable(path, data, model)
    variable = variable or where
    if path and path[0] in UNIONS:
        families, place = UNIONS[path[0]]
        path = tuple(step for i, step in enumerate(path) if i != place or step not in families)
    parts = [
        f"variable {show(variable)}" if variable else "",
        f"field '{'.'.join(map(str, path))}'" if path else "",
    ]
    return one_line(f"{', '.join(filter(None, parts)) or 'spec'}: {message}")


def one_line(text: str) -> str:
    """The text with what cannot be printed escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _flatten(error: ValidationError, data: Any, model: type[BaseModel]) -> list[tuple[tuple, str | None, str, bool]]:
    """(path, variable or None, message, is a misspelt field) of every error."""
    out = []
    for entry in error.errors(include_url=False):
        path, context = tuple(step for step in entry["loc"] if step != "[key]"), entry.get("ctx", {})
        cause = context.get("error")
        if isinstance(cause, FieldError | ParameterError):
            variable = cause.variable if isinstance(cause, FieldError) else None
            out.append((path + tuple(filter(None, cause.field.split("."))), variable, cause.message, False))
        elif isinstance(cause, ValueError):
            out.append((path, None, str(cause), False))
        elif entry["type"] == "extra_forbidden":
            allowed = _allowed(path, data, model)
            message = f"unknown field{did_you_mean(path[-1], allowed)}" + (
                f"; fields are {listed(allowed)}" * any(allowed)
            )
            out.append((path, None, message, True))
        elif entry["type"] in ("missing", "union_tag_not_found"):
            out.append((path + ("family",) * (entry["type"] != "missing"), None, "is missing", False))
        elif entry["type"] == "union_tag_invalid":
            tag, (families, _) = context["tag"], UNIONS[path[0]]
            message = f"found {show(tag)}{did_you_mean(tag, families)}; families are {listed(families)}"
            out.append(((*path, "family"), None, message, False))
        else:
            out.append((path, None, f"found {show(entry['input'])}, expected {_expected(entry)}", False))
    return out


def _allowed(path: tuple, data: Any, model: type[BaseModel]) -> list[str]:
    """The fields of the object in which an unknown one was found; none where its model is not known."""
    from arena import spec

    if model is spec.SCMSpec and path[0] == "nodes":
        return _allowed(path[2:], data["nodes"][path[1]], spec.NodeSpec)
    if model is spec.SCMSpec and path[0] == "edges":
        return _allowed(path[2:], data["edges"][path[1]], spec.EdgeSpec)
    if model is spec.SCMSpec and path[0] in UNIONS:
        families, place = UNIONS[path[0]]
        return list(families[path[place]].model_fields) if len(path) == place + 2 else []
    if model is spec.NodeSpec and path[0] in registry.KINDS:
        family = registry.families(path[0])[_get(data[path[0]], "family")]
        return list(family.parameters().model_fields) if len(path) == 2 else []
    return list(model.model_fields) if len(path) == 1 else []


def _expected(entry: Any) -> str:
    """pydantic's wording, as what would be right."""
    if entry["type"] == "string_pattern_mismatch":
        return "printable text without blanks at its ends"
    message = entry["msg"]
    for found, better in (
        ("Input should be ", ""),
        ("String should have ", "a text of "),
        ("Tuple should have ", "a list of "),
        ("Value should have ", "a list of "),
        ("Keys should be strings", "texts as names of fields"),
        ("a valid tuple", "a list"),
        ("a valid string", "a text"),
        ("a valid dictionary or object to extract fields from", "an object"),
        ("a valid dictionary or instance of ", "an object, a "),
        ("a valid dictionary", "an object"),
    ):
        message = message.replace(found, better)
    return message


def _variable(path: tuple, data: Any, model: type[BaseModel]) -> tuple[str | None, tuple]:
    """The variable that a path is about, and the path inside it."""
    if model.__name__ == "NodeSpec":
        name = _get(data, "name")
        return (name if isinstance(name, str) and name else None), path
    if len(path) >= 2 and path[0] == "nodes" and isinstance(path[1], int):
        name = _get(data["nodes"][path[1]], "name")
        return (name if isinstance(name, str) and name else f"#{path[1] + 1}"), path[2:]
    return None, path


def _get(value: Any, field: str) -> Any:
    return value.get(field) if isinstance(value, dict) else getattr(value, field, None)


def close(name: Any, known: Iterable[str]) -> list[str]:
    """The known name nearest to a misspelt one, if any is near."""
    by_lower = {str(k).lower(): k for k in known}
    return [by_lower[k] for k in difflib.get_close_matches(str(name).lower(), list(by_lower), n=1, cutoff=0.5)]


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)`, or nothing if no known name is near."""
    near = close(name, known)
    return f" (did you mean '{near[0]}'?)" if near else ""


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def show(value: Any) -> str:
    """A value on one line, shortened."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # deeper than Python can print, or of a class that cannot be printed
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
