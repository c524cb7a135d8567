"""Hypotheses in free text, read as structured claims by a language model: the only step that asks a provider.

A text gives one claim. A text without one, or whose reply stays invalid, is a rejection, which counts as a failed
claim. Verdicts are experiments all the same: a model that misreads a text changes the claim, not the verdict on it.
"""

import asyncio
import dataclasses
import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from arena.errors import DataError, ProviderError
from arena.spec_errors import listed
from eval.hypotheses import prompt, providers, replies
from eval.hypotheses.evaluate import Report
from eval.hypotheses.proposals import Proposal, Rejection, Variable, read
from eval.hypotheses.texts import read_texts, usable
from mechanisms.parameters import Data

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.models import Model

#: How often a model may correct a reply that is no valid claim.
RETRIES = 2
#: Requests at a time.
AT_ONCE = 8
#: Tokens of a reply, what the model thinks before it included, and seconds until one is given up.
LONGEST_REPLY, PATIENCE = 4096, 120.0
#: Texts in one list; a limit of cost.
MOST = 2000


class NoClaim(Data, frozen=True):
    """That a text claims nothing that can be judged.

    Attributes:
        reason: Why.
    """

    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class Parsed(NamedTuple):
    """Texts and the claims that were read from them.

    Attributes:
        texts: As written; None where there was no text.
        claims: One for each text.
        model: Who read them, as `provider:model`.
    """

    texts: list[str | None]
    claims: list[Proposal | Rejection]
    model: str

    def summary(self) -> str:
        """Who read how many, in one line."""
        none = sum(isinstance(claim, Rejection) for claim in self.claims)
        return f"{len(self.texts)} hypotheses read by {self.model}, {none} without a claim"

    def beside(self, report: Report) -> Report:
        """A report on the claims, with the text that each was read from."""
        verdicts = zip(report.verdicts, self.texts, strict=True)
        shown = tuple(dataclasses.replace(verdict, text=text) for verdict, text in verdicts)
        return dataclasses.replace(report, verdicts=shown, parsed_by=self.model)


def parse_file(
    path: str | os.PathLike[str],
    meta: Mapping[str, Any],
    provider: str | None = None,
    model: str | None = None,
    recorded: str | os.PathLike[str] | None = None,
) -> Parsed:
    """Read the hypotheses of a file as claims; see `texts.read_texts` and `parse_hypotheses`.

    Args:
        provider: `anthropic`, `bedrock` or `openai`; None if every reply is recorded.
        model: A model of the provider's; None for its default.
    """
    if model and not provider:
        raise ProviderError(f"--model {model} needs --provider: {listed(providers.DEFAULT_MODELS)}")
    texts = read_texts(path)
    asked = providers.model_id(provider, model) if provider else None
    claims, by = _parse(texts, meta, asked, recorded)
    shown = [one.encode(errors="replace").decode() if isinstance(one, str) else None for one in texts]
    return Parsed(shown, claims, by)


def parse_hypotheses(
    texts: Sequence[str | Rejection],
    meta: Mapping[str, Any],
    model: "str | Model | None" = None,
    recorded: str | os.PathLike[str] | None = None,
) -> list[Proposal | Rejection]:
    """Read hypotheses in free text as claims.

    Args:
        texts: The hypotheses; rejections pass through.
        meta: Roles and types of the columns, as from `Simulator.meta`. The model is told of these and nothing else.
        model: `provider:model`, a provider alone for its default model, a model of pydantic-ai, or None if every reply
            is recorded.
        recorded: A file of replies. Texts in it are not asked about again; new replies are added to it, also if a
            request fails later.

    Returns:
        One claim or rejection for each text, in their order.

    Raises:
        DataError: If there are too many texts, or the file of replies is none or another one's.
        ProviderError: If pydantic-ai is missing, or the provider, its credentials, the model or the network fails.
    """
    if isinstance(model, str):
        model = providers.model_id(*model.split(":", 1))
    return _parse(texts, meta, model, recorded)[0]


def _parse(
    texts: Sequence[str | Rejection], meta: Mapping[str, Any], model: "str | Model | None", path: Any
) -> tuple[list[Proposal | Rejection], str]:
    if len(texts) > MOST:
        raise DataError(f"{len(texts)} hypotheses, expected at most {MOST}")
    id = model if isinstance(model, str) or model is None else model.model_id
    found = replies.read(path, meta, id) if path is not None else None
    claims = replies.known(found)
    texts = [usable(one) if isinstance(one, str) else one for one in texts]
    missing = [one for one in dict.fromkeys(texts) if isinstance(one, str) and one not in claims]
    if missing and model is None:
        where = f" in {path}" if path is not None else ""
        raise ProviderError(
            f"{len(missing)} of {len(texts)} hypotheses have no recorded reply{where}; name who reads them with "
            f"--provider: {listed(providers.DEFAULT_MODELS)}"
        )
    if missing:
        assert model is not None and id is not None
        _read_all(missing, meta, model, id, claims, path)
    variables = _variables(meta)
    out = [read(claims[one], variables, meta["outcome"]) if isinstance(one, str) else one for one in texts]
    return out, id or (found.model if found else "nobody")


def _read_all(
    texts: list[str], meta: Mapping[str, Any], model: "str | Model", id: str, claims: dict[str, Any], path: Any
) -> None:
    """Ask about texts; `claims` gets what came back, and the file all of it, also where a request fails."""
    new: dict[str, Any] = {}
    connected = providers.connect(model) if isinstance(model, str) else model
    agent = _agent(connected, meta)
    if path is not None:  # no request is paid for whose reply cannot be kept
        replies.save(path, meta, id, claims)
    try:
        _run(_ask(agent, texts, new))
    except providers.failures() as error:
        kept = f"the {len(new)} replies that came are lost, --replies FILE would keep them"
        if path is not None:
            kept = f"{len(new)} of {len(texts)} replies are kept in {path}, the same command goes on from there"
        raise ProviderError(f"{providers.explained(error, id)}{f'; {kept}' if new else ''}") from None
    finally:
        claims |= {text: new[text] for text in texts if text in new}  # in the order of the texts
        if path is not None and new:
            replies.save(path, meta, id, claims)


def _agent(model: "Model", meta: Mapping[str, Any]) -> "Agent[None, Proposal | NoClaim]":
    """Who reads a text: its output is a claim that names columns of the data, or that there is none."""
    providers.require()
    from pydantic_ai import Agent, ModelRetry, ToolOutput

    variables = _variables(meta)
    agent = Agent(
        model,
        output_type=[
            ToolOutput(Proposal, name="claim", description=prompt.CLAIM),
            ToolOutput(NoClaim, name="no_claim", description=prompt.NO_CLAIM),
        ],
        instructions=prompt.instructions(meta),
        retries={"output": RETRIES, "tools": RETRIES},
        model_settings={"max_tokens": LONGEST_REPLY, "request_timeout": PATIENCE},
    )

    @agent.output_validator
    def about_the_columns(output: Proposal | NoClaim) -> Proposal | NoClaim:
        checked = output if isinstance(output, NoClaim) else read(output, variables, meta["outcome"])
        if isinstance(checked, Rejection):
            raise ModelRetry(checked.reason)
        return checked

    return agent


async def _ask(agent: "Agent[None, Proposal | NoClaim]", texts: list[str], claims: dict[str, Any]) -> None:
    """Ask about every text; after a failure only what is under way already is waited for."""
    gate, failed = asyncio.Semaphore(AT_ONCE), []

    async def one(text: str) -> None:
        async with gate:
            if failed:
                return
            try:
                claims[text] = await _claim(agent, text)
            except Exception as error:
                failed.append(error)

    async with agent:  # closes its connections
        await asyncio.gather(*map(one, texts))
    if failed:
        raise failed[0]


async def _claim(agent: "Agent[None, Proposal | NoClaim]", text: str) -> Proposal | Rejection:
    from pydantic_ai.exceptions import UnexpectedModelBehavior

    try:
        output = (await agent.run(text)).output
    except UnexpectedModelBehavior as error:
        if not _fault_of_the_reply(error):
            raise
        return Rejection(f"the model gave no valid claim: {_why(error)}")
    return Rejection(f"claims nothing that can be judged: {output.reason}") if isinstance(output, NoClaim) else output


def _fault_of_the_reply(error: Exception) -> bool:
    """Whether the provider works and the model did not get it right: replies stayed invalid, too long or filtered."""
    from pydantic_ai.exceptions import ContentFilterError, IncompleteToolCall, OutputTokenLimitExceeded

    cause = error.__cause__
    if isinstance(cause, ValidationError):  # the libraries of providers use pydantic as well
        return cause.title in (Proposal.__name__, NoClaim.__name__)
    ours = cause is not None and type(cause).__module__.startswith("pydantic_ai.")
    return ours or isinstance(error, ContentFilterError | IncompleteToolCall | OutputTokenLimitExceeded)


def _why(error: Exception) -> str:
    """What was wrong with the last reply, in one line."""
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        first = cause.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        return f"field '{field}': {first['msg']}" if field else first["msg"]
    return " ".join(str(getattr(cause, "message", None) or cause or error).split())


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, also where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    failed: list[BaseException] = []

    def target() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def _variables(meta: Mapping[str, Any]) -> dict[str, Variable]:
    return {
        column["name"]: Variable(column["type"], tuple(map(float, column.get("levels", ()))))
        for column in meta["columns"]
    }
