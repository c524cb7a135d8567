"""Pages as one HTML file that works offline: template, style, scripts and numbers together; all text is escaped."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

#: What every page has besides its own.
STYLES, SCRIPTS = ("report.css",), ("parts.js",)


def render(
    name: str, content: Mapping[str, Any], *, styles: Sequence[str] = (), scripts: Sequence[str] = ()
) -> str:  # fmt: skip
    """A template, with its style and its scripts within.

    Args:
        name: Of the template, one that extends `base.html`.
        content: What the template shows; `specs` are the figures by name, `library` the script that draws them.
        styles: Further style sheets, after the common one.
        scripts: Further scripts, after the common ones.
    """
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_asset),
    )  # fmt: skip
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False, "allow_nan": False}
    assets = {"style": "".join(map(_asset, (*STYLES, *styles))), "scripts": [*map(_asset, (*SCRIPTS, *scripts))]}
    return environment.get_template(name).render({**assets, **content})


def _asset(name: str) -> str:
    return (files("eval") / "templates" / name).read_text(encoding="utf-8")
