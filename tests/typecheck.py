"""The run-time type checker of the test runs: beartype, with ints accepted where a float is asked for."""

from beartype import BeartypeConf, beartype

typecheck = beartype(conf=BeartypeConf(is_pep484_tower=True))
