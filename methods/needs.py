"""What a method needs to run here and does not find, with the command that would bring it."""

import dataclasses
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from methods import environments
from methods.base import Capabilities

# What the drivers of NVIDIA, AMD and WSL put there. No library is asked, since none may be loaded for that.
_GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")


@dataclasses.dataclass(frozen=True)
class Need:
    """One thing that is missing.

    Attributes:
        kind: Of what kind.
        what: What is missing, for people.
        command: What would bring it; empty where no command does.
    """

    kind: Literal["package", "environment", "checkpoint", "GPU"]
    what: str
    command: str = ""

    def __str__(self) -> str:
        return f"{self.what}; run: {self.command}" if self.command else self.what


def needs(capabilities: Capabilities) -> list[Need]:
    """Everything declared that is missing, in the order in which to get it. Nothing is imported."""
    return [*_packages(capabilities), *_environment(capabilities), *_checkpoint(capabilities), *_gpu(capabilities)]


def missing(capabilities: Capabilities) -> str:
    """The first thing that is missing, on one line; empty if nothing is."""
    found = needs(capabilities)
    return str(found[0]) if found else ""


def _packages(capabilities: Capabilities) -> list[Need]:
    absent = sorted({name.partition(".")[0] for name in capabilities.packages} - set(sys.modules))
    absent = [name for name in absent if find_spec(name) is None]
    return [Need("package", f"{' and '.join(absent)} not installed", capabilities.install)] if absent else []


def _environment(capabilities: Capabilities) -> list[Need]:
    name = capabilities.environment
    if name is None:
        return []
    known = environments.names().get(name)
    if known is None:
        return [Need("environment", f"needs environment '{name}', which nobody has registered")]
    return [] if known.ready else [Need("environment", f"needs environment '{name}'", known.command)]


def _checkpoint(capabilities: Capabilities) -> list[Need]:
    published = capabilities.checkpoint
    if published is None or published.ready:
        return []
    what = f"needs checkpoint '{published.name}' ({published.size}, {published.licence})"
    return [Need("checkpoint", what, published.command)]


def _gpu(capabilities: Capabilities) -> list[Need]:
    if not capabilities.needs_gpu or any(Path(device).exists() for device in _GPUS):
        return []
    return [Need("GPU", "needs a GPU, and this machine has none")]
