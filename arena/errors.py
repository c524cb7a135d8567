"""What the caller can get wrong. Each message names what, where, and what would be right."""


class ArenaError(Exception):
    """Base of every error that a caller's input can cause; the command line prints it without a traceback."""


class SpecError(ArenaError):
    """A declarative SCM description that cannot be an SCM."""


class DataError(ArenaError):
    """A table, graph or mask that cannot be a dataset, or a dataset directory that is damaged."""


class SourceError(ArenaError):
    """A named suite, scenario or public dataset that is unknown, or whose data cannot be had."""


class MethodError(ArenaError):
    """An unknown method, or options that a method does not take."""


class RunError(ArenaError):
    """A run directory that cannot be used for what was asked."""


class ProviderError(ArenaError):
    """A provider of language models that cannot be used: unknown, not installed, no credentials, out of reach."""
