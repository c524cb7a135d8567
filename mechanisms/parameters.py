"""What a spec may hold: strict, immutable, JSON-like data."""

from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic_core import PydanticCustomError

#: Magnitudes that float32 holds in full precision, with room for rounding.
LEAST, MOST = 1.2e-38, 3e38

_T = TypeVar("_T")


def fits_float32(value: float) -> bool:
    """Whether float32 holds the number: a finite one, 0 or neither too large nor too small."""
    return value == 0.0 or LEAST <= abs(value) <= MOST


def _number(value: float) -> float:
    if not fits_float32(value):
        raise PydanticCustomError("float32", "Input should be 0 or a number that float32 can hold")
    return float(value) + 0.0  # -0.0 becomes 0.0: two equal specs have one text


def _list(value: Any) -> Any:
    """Sets and generators have no order that another run would repeat."""
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("tuple_type", "Input should be a list")
    return value


def _whole(value: Any) -> Any:
    """True and 1.0 equal 1, so that a literal 1 would take them."""
    if type(value) is not int:
        raise PydanticCustomError("int_type", "Input should be a whole number")
    return value


class FrozenDict(dict):
    """A dict that cannot be changed; `copy()` gives one that can."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("this dict belongs to a spec and cannot be changed; change a copy(), and model_copy the spec")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self):
        return (type(self), (dict(self),))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


#: Any float that is finite in float32 as well.
Number = Annotated[float, Field(allow_inf_nan=False, ge=-MOST, le=MOST), AfterValidator(_number)]
#: JSON has lists where we keep tuples; nothing else that can be iterated over is taken for one.
ONLY_LISTS = BeforeValidator(_list)
Many = Annotated[tuple[_T, ...], Strict(False), ONLY_LISTS]
#: Beside `Literal[1]` and the like.
WHOLE = BeforeValidator(_whole)
#: A dict that is frozen once it is valid.
FROZEN = AfterValidator(FrozenDict)

_KEYWORDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


class Data(BaseModel, frozen=True):
    """Base of everything in a spec."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The JSON Schema of the model."""
        schema = super().model_json_schema(*args, **kwargs)
        _name_bounds(schema)  # pydantic writes bounds that follow a validator by its own names
        return schema


class Parameters(Data, frozen=True):
    """What a spec says of one component. Concrete models are derived from the fields of each family."""

    family: str


class ParameterError(ValueError):
    """A parameter that is well-formed by itself and wrong for its node; `field` is its path inside the component."""

    def __init__(self, field: str, message: str):
        super().__init__(message)
        self.field = field
        self.message = message

    def __reduce__(self):
        return (type(self), (self.field, self.message))


def _name_bounds(schema: Any) -> None:
    if isinstance(schema, list):
        for inner in schema:
            _name_bounds(inner)
    if not isinstance(schema, dict):
        return
    for inner in schema.values():
        _name_bounds(inner)
    if schema.get("type") in ("number", "integer"):
        for found, standard in _KEYWORDS.items():
            if found in schema:
                schema[standard] = schema.pop(found)
