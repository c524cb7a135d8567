"""Formula mechanism: an exact expression over the parents and named constants (paper 4.3).

Every formula runs in one interpreter: a scan over its operations, a switch over what each does. The program is data,
so SCMs with different formulas share one compiled program.
"""

from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from pydantic import Field, Strict

from mechanisms.base import Array, Mechanism, Number, ParameterError, Parameters, param, round_up
from mechanisms.derivatives import INSTRUCTIONS
from mechanisms.expression import CODES, ExpressionError, parse
from mechanisms.parameters import FROZEN
from mechanisms.priors import WEIGHT_SCALE, signed_weights


class FormulaParameters(Parameters, frozen=True):
    """An expression over the node's parents and named constants."""

    family: Literal["formula"]
    expression: Annotated[str, Field(min_length=1, description="for example `g * m / r**2`")]
    constants: Annotated[
        dict[str, Number],
        Strict(False),
        FROZEN,
        Field(description="values of named constants", validate_default=True),
    ] = {}
    units: Annotated[
        dict[str, str],
        Strict(False),
        FROZEN,
        Field(description="units of named constants, where they have one", validate_default=True),
    ] = {}


class Formula(Mechanism, family="formula"):
    """A straight-line program over registers: constants, then results, then parents.

    Parents come last, so that padding them moves no register.
    """

    constants: Float[Array, "constants"] = param("values of the constant registers")
    operation: Int[Array, "operations"] = param("code of each operation")
    arguments: Int[Array, "operations three"] = param("registers that each operation reads")
    output: Int[Array, ""] = param("register that holds the value")

    granularity = {"three": 3}

    @classmethod
    def parameters(cls):
        return FormulaParameters

    @classmethod
    def arrays(cls, parameters, parents):
        for name in parameters.units:
            if name not in parameters.constants:
                raise ParameterError("units", f"found '{name}', which is not a constant")
        try:
            expression = parse(parameters.expression, parents, parameters.constants)
        except ExpressionError as error:
            raise ParameterError("expression", str(error)) from None
        # Constants and operations are padded here already: registers are numbered by the padded lengths.
        n_constants, n_parents = len(expression.constants), len(expression.parents)
        room = round_up(n_constants, 8), round_up(len(expression.operations), 8)
        place = np.concatenate(
            [
                np.arange(n_constants),
                room[0] + room[1] + np.arange(n_parents),
                room[0] + np.arange(len(expression.operations)),
            ]
        )
        constants, operation = np.zeros(room[0]), np.zeros(room[1], np.int32)
        arguments = np.zeros((room[1], 3), np.int32)
        constants[:n_constants] = expression.constants
        for i, (name, *registers) in enumerate(expression.operations):
            operation[i], arguments[i] = CODES[name], place[registers]
        output = np.asarray(place[expression.output], np.int32)
        return {"constants": constants, "operation": operation, "arguments": arguments, "output": output}

    @classmethod
    def prior(cls, rng, parents):
        """A smooth response of each parent, some of them in products; the paper has no prior for formulas."""
        weights = {f"w{k}": w for k, w in enumerate(signed_weights(rng, len(parents), WEIGHT_SCALE))}
        shapes = ("{w} * {x}", "{w} * tanh({x})", "{w} * {x} / (1 + abs({x}))", "{w} * exp(-0.5 * {x}**2)")
        terms = []
        for k, parent in enumerate(parents):
            term = shapes[rng.integers(len(shapes))].format(w=f"w{k}", x=parent)
            if k and rng.random() < 0.3:
                term += f" * cos({parents[k - 1]})"
            terms.append(term)
        return {"expression": " + ".join(terms), "constants": weights}

    def __call__(self, parents):
        n_constants, n_operations = self.constants.shape[0], self.operation.shape[0]
        registers = jnp.concatenate([self.constants, jnp.zeros(n_operations, parents.dtype), parents])

        def step(registers, instruction):
            code, arguments, target = instruction
            a, b, c = (registers[arguments[i]] for i in range(3))
            return registers.at[target].set(jax.lax.switch(code, INSTRUCTIONS, a, b, c)), None

        targets = n_constants + jnp.arange(n_operations)
        registers, _ = jax.lax.scan(step, registers, (self.operation, self.arguments, targets))
        return registers[self.output]
