"""A folder of tiny random checkpoints of all pretrained methods, in the layouts that their own tests spell out."""

from pathlib import Path

import pytest
import test_arrow
import test_avici
import test_causcale
import test_cdfm
import test_foundcause
import test_sea
import test_tabcausal
from published import publish

_PICKLED = (test_arrow, test_causcale, test_foundcause, test_sea, test_tabcausal)


def publish_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make them and point `ARENA_CHECKPOINTS` to them."""
    for module in _PICKLED:
        publish(module.CHECKPOINT, module.published(), folder, monkeypatch)
    test_avici.publish(folder, monkeypatch)
    test_cdfm.write()
