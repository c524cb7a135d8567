"""Formulas over parents and named constants: parsed by a whitelist, never evaluated as Python.

An `Expression` is a straight-line program over numbered registers. The same program runs in two places: in float64
numpy (`Expression.evaluate`, the reference) and, for a whole batch of different formulas in one compiled program, in
the interpreter of `mechanisms.formula`.
"""

import ast
import dataclasses
import difflib
import keyword
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mechanisms.parameters import fits_float32

MAX_CHARACTERS = 2000
MAX_OPERATIONS = 256

#: Operations by name; the order is the operation's code. Each takes numpy or jax.numpy, and three arguments.
OPERATIONS: dict[str, Callable] = {
    "add": lambda xp, a, b, c: a + b,
    "sub": lambda xp, a, b, c: a - b,
    "mul": lambda xp, a, b, c: a * b,
    "div": lambda xp, a, b, c: a / b,
    "pow": lambda xp, a, b, c: xp.power(a, b),
    "neg": lambda xp, a, b, c: -a,
    "exp": lambda xp, a, b, c: xp.exp(a),
    "log": lambda xp, a, b, c: xp.log(a),
    "sqrt": lambda xp, a, b, c: xp.sqrt(a),
    "sin": lambda xp, a, b, c: xp.sin(a),
    "cos": lambda xp, a, b, c: xp.cos(a),
    "tan": lambda xp, a, b, c: xp.tan(a),
    "asin": lambda xp, a, b, c: xp.arcsin(a),
    "acos": lambda xp, a, b, c: xp.arccos(a),
    "atan": lambda xp, a, b, c: xp.arctan(a),
    "tanh": lambda xp, a, b, c: xp.tanh(a),
    "abs": lambda xp, a, b, c: xp.abs(a),
    "floor": lambda xp, a, b, c: xp.floor(a),
    "min": lambda xp, a, b, c: xp.minimum(a, b),
    "max": lambda xp, a, b, c: xp.maximum(a, b),
    "lt": lambda xp, a, b, c: xp.where(a < b, 1.0, 0.0),
    "le": lambda xp, a, b, c: xp.where(a <= b, 1.0, 0.0),
    "where": lambda xp, a, b, c: xp.where(a != 0.0, b, c),
}
CODES = {name: code for code, name in enumerate(OPERATIONS)}

#: Functions that a formula may call, with their number of arguments.
FUNCTIONS = {
    **dict.fromkeys(("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "tanh", "abs", "floor"), 1),
    "min": 2,
    "max": 2,
    "where": 3,
}
_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}
_COMPARE = {ast.Lt: ("lt", False), ast.LtE: ("le", False), ast.Gt: ("lt", True), ast.GtE: ("le", True)}


class ExpressionError(ValueError):
    """A formula that is not in the language."""


@dataclasses.dataclass(frozen=True)
class Expression:
    """A parsed formula: registers hold constants, then parents, then the result of each operation.

    Attributes:
        constants: Values of the constant registers.
        parents: Names of the parent registers, in order; each occurs in the formula.
        operations: `(name, a, b, c)`, one a result register, arguments are registers.
        output: The register that holds the value.
    """

    constants: tuple[float, ...]
    parents: tuple[str, ...]
    operations: tuple[tuple[str, int, int, int], ...]
    output: int

    def evaluate(self, values: Mapping[str, np.ndarray | float]) -> np.ndarray:
        """The formula in float64 numpy, elementwise over arrays of one shape."""
        registers = [np.float64(c) for c in self.constants]
        registers += [np.asarray(values[name], np.float64) for name in self.parents]
        for name, a, b, c in self.operations:
            registers.append(OPERATIONS[name](np, registers[a], registers[b], registers[c]))
        return np.asarray(registers[self.output])


def parse(text: str, parents: Sequence[str], constants: Mapping[str, float]) -> Expression:
    """Parse a formula.

    Args:
        text: For example `p * exp(g * z / (R_d * T_v))`. Arithmetic, comparisons (1 or 0), numbers, `pi`, the
            functions in FUNCTIONS, names of parents and constants.
        parents: Names of the node's parents; every one must occur.
        constants: Named constants; every one must occur.

    Raises:
        ExpressionError: Naming the offending part and what is allowed.
    """
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"is {len(text)} characters long, at most {MAX_CHARACTERS} are allowed")
    for kind, names in (("parent", parents), ("constant", constants)):
        for name in names:
            if not _can_be_named(name):
                wanted = "rename it to letters, digits and _"
                raise ExpressionError(f"the {kind} '{name}' cannot be named in a formula; {wanted}")
    shared = sorted(set(parents) & set(constants))
    if shared:
        raise ExpressionError(f"'{shared[0]}' is both a parent and a constant")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"is not a formula: {getattr(error, 'msg', error)}") from None
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    compiler = _Compiler(tuple(parents), dict(constants))
    try:
        expression = compiler.compile(tree.body)
    except RecursionError:
        raise ExpressionError("is nested too deeply") from None
    for kind, names in (("parent", parents), ("constant", constants)):
        unused = [name for name in names if name not in used]
        if unused:
            raise ExpressionError(f"does not use the {kind} '{unused[0]}'")
    return expression


#: A register while a formula is read: ("constant", its value), or the place of a parent or of an operation's result.
_Register = tuple[str, float] | tuple[str, int]


class _Compiler:
    def __init__(self, parents: tuple[str, ...], constants: dict[str, float]):
        self.parents = parents
        self.named = {"pi": math.pi, **constants}
        self.constants: list[float] = []
        self.operations: list[tuple[str, _Register, _Register, _Register]] = []

    def compile(self, node: ast.AST) -> Expression:
        output = self.visit(node)
        self.hold(output)

        def place(register: _Register) -> int:
            kind, value = register
            if kind == "constant":
                return self.constants.index(value)
            return len(self.constants) + int(value) + (len(self.parents) if kind == "result" else 0)

        operations = tuple((name, place(a), place(b), place(c)) for name, a, b, c in self.operations)
        return Expression(tuple(self.constants), self.parents, operations, place(output))

    def visit(self, node: ast.AST) -> _Register:
        match node:
            case ast.Constant(value=bool() | complex() | str() | bytes() | None):
                raise ExpressionError(f"contains {node.value!r}; only numbers are allowed")
            case ast.Constant(value=int() | float() as value):
                return self.constant(value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.visit(operand)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if not isinstance(
                value, bool
            ):
                return self.constant(-value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.emit("neg", self.visit(operand))
            case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=2 | 3 as power)):
                # Whole powers as products: exact for negative bases, with a gradient everywhere.
                base = self.visit(left)
                square = self.emit("mul", base, base)
                return square if power == 2 else self.emit("mul", square, base)
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
                return self.emit(_BINARY[type(op)], self.visit(left), self.visit(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                name, swap = _COMPARE[type(op)]
                a, b = self.visit(left), self.visit(right)
                return self.emit(name, b, a) if swap else self.emit(name, a, b)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in FUNCTIONS:
                if keywords:
                    plain = f"{name}({', '.join(map(_text, [*args, *(k.value for k in keywords)]))})"
                    raise ExpressionError(f"calls {name} with a named argument; arguments are positional: {plain}")
                if len(args) != FUNCTIONS[name]:
                    raise ExpressionError(f"calls {name} with {len(args)} arguments, expected {FUNCTIONS[name]}")
                return self.emit(name, *(self.visit(arg) for arg in args))
            case ast.Call(func=ast.Name(id=name)) if name not in (*self.parents, *self.named):
                raise ExpressionError(f"calls '{name}'{_suggest(name, FUNCTIONS)}; allowed are {_list(FUNCTIONS)}")
        instead = _instead(node)
        hint = f"; write {instead}" if instead else ""
        raise ExpressionError(f"contains '{_text(node)}', which is not allowed in a formula{hint}")

    def constant(self, value: float) -> _Register:
        """A number as it is written."""
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not fits_float32(number):
            raise ExpressionError(f"contains a number that float32 cannot hold: {number:g}")
        return ("constant", number + 0.0)

    def name(self, name: str) -> _Register:
        if name in self.parents:
            return ("parent", self.parents.index(name))
        if name in self.named:
            return self.constant(self.named[name])
        known = [*self.parents, *self.named]
        raise ExpressionError(
            f"uses '{name}'{_suggest(name, known)}, neither a parent nor a constant; known are {_list(known)}"
        )

    def emit(self, name: str, *arguments: _Register) -> _Register:
        if all(kind == "constant" for kind, _ in arguments):
            # In float64, and only what comes out has to fit: h * h leaves float32, h * h / (m * k) does not.
            with np.errstate(all="ignore"):
                values = [np.float64(value) for _, value in (*arguments, arguments[0], arguments[0])]
                return ("constant", float(OPERATIONS[name](np, *values[:3])) + 0.0)
        for argument in arguments:
            self.hold(argument)
        a, b, c = (*arguments, arguments[0], arguments[0])[:3]
        operation = (name, a, b, c)
        if operation not in self.operations:
            if len(self.operations) == MAX_OPERATIONS:
                raise ExpressionError(f"has more than {MAX_OPERATIONS} operations")
            self.operations.append(operation)
        return ("result", self.operations.index(operation))

    def hold(self, register: _Register) -> None:
        """Give a constant that the program reads its register."""
        kind, value = register
        if kind == "constant" and value not in self.constants:
            if not fits_float32(value):
                raise ExpressionError(f"computes a number from constants that float32 cannot hold: {value:g}")
            self.constants.append(value)


def _can_be_named(name: str) -> bool:
    """Whether Python reads a name in a formula as this very text."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def _instead(node: ast.AST) -> str | None:
    """What the language has for a piece of Python that is not in it."""
    match node:
        case ast.BinOp(op=ast.BitXor()):  # which binds less than a sum, so that what is meant is not in the tree
            return "** for a power"
        case ast.BinOp(op=ast.FloorDiv(), left=a, right=b):
            return f"floor({_part(a)} / {_part(b)})"
        case ast.BinOp(op=ast.Mod(), left=a, right=b):
            return f"{_part(a)} - {_part(b)} * floor({_part(a)} / {_part(b)})"
        case ast.BinOp(op=ast.BitAnd(), left=a, right=b):
            return f"{_part(a)} * {_part(b)}"
        case ast.BinOp(op=ast.BitOr(), left=a, right=b):
            return f"max({_text(a)}, {_text(b)})"
        case ast.BoolOp(op=ast.And(), values=values):
            return " * ".join(map(_part, values))
        case ast.BoolOp(op=ast.Or(), values=[*rest, last]):
            return "".join(f"max({_text(value)}, " for value in rest) + _text(last) + ")" * len(rest)
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            return f"where({_text(operand)}, 0, 1)"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"where({_text(test)}, {_text(body)}, {_text(orelse)})"
        case ast.Compare(left=a, ops=[ast.Eq()], comparators=[b]):
            return f"({_part(a)} <= {_part(b)}) * ({_part(a)} >= {_part(b)})"
        case ast.Compare(left=a, ops=[ast.NotEq()], comparators=[b]):
            return f"({_part(a)} < {_part(b)}) + ({_part(a)} > {_part(b)})"
        case ast.Compare(left=left, comparators=others) if any(map(_is_bitwise, [left, *others])):
            return "each comparison in parentheses"
        case ast.Compare(left=left, ops=ops, comparators=others) if len(ops) > 1:
            pairs = zip([left, *others[:-1]], ops, others, strict=True)
            return " * ".join(f"({_text(ast.Compare(a, [op], [b]))})" for a, op, b in pairs)
        case ast.Call(func=ast.Attribute(attr=name), args=args, keywords=[]) if name in FUNCTIONS:
            return f"{name}({', '.join(map(_text, args))})"
        case ast.Call(func=ast.Name() | ast.Constant() | ast.BinOp() as factor, args=[other], keywords=[]):
            return f"{_part(factor)} * {_part(other)}"
    return None


def _is_bitwise(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)


def _part(node: ast.AST) -> str:
    """A piece of a formula, as an operand."""
    return _text(node) if isinstance(node, ast.Name | ast.Constant | ast.Call) else f"({_text(node)})"


def _text(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _suggest(name: str, known: Sequence[str] | Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _list(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(sorted(names))
