"""Free text to claims: the prompt, retries, rejections, recorded replies, providers; no request leaves the machine."""

import ast
import asyncio
import json
import sys
from pathlib import Path

import pytest

pydantic_ai = pytest.importorskip("pydantic_ai")

from pydantic_ai import models  # noqa: E402
from pydantic_ai.exceptions import ModelAuthenticationError, ModelConnectionError, UnexpectedModelBehavior  # noqa: E402
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import FunctionModel  # noqa: E402
from pydantic_ai.models.test import TestModel as GeneratingModel  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import arena  # noqa: E402
from arena.cli import app  # noqa: E402
from arena.errors import DataError, ProviderError  # noqa: E402
from eval.hypotheses import parse, prompt, providers, texts  # noqa: E402
from eval.hypotheses.parse import parse_hypotheses  # noqa: E402
from eval.hypotheses.proposals import FORMS, Proposal, Rejection  # noqa: E402
from eval.hypotheses.simulator import Simulator  # noqa: E402

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE",
        "AWS_BEARER_TOKEN_BEDROCK")  # fmt: skip
ROOTS = [
    {"name": "dose", "root": {"family": "uniform", "low": 0.0, "high": 10.0}, "unit": "mg", "description": "A day."},
    {"name": "sex", "root": {"family": "bernoulli", "probability": 0.5}, "kind": "binary"},
    {"name": "ward", "root": {"family": "ordinal", "probability": [0.3, 0.3, 0.4]}, "kind": "categorical"},
]
HINGE = {"op": "threshold", "operand": "dose", "weight": 1.75, "at": 5.125, "scale": 2.5, "label": "secret bend",
         "archetype": "monotone_threshold"}  # fmt: skip
GATE = {"op": "gate", "operand": "dose", "by": "sex", "level": 1.0, "weight": -1.625, "at": 5.0, "scale": 2.5,
        "label": "secret gate", "archetype": "subpopulation_only"}  # fmt: skip
REST = [{"op": "linear", "operand": name, "weight": 0.25, "at": 0.0, "scale": 1.0} for name in ("sex", "ward")]
BEND = {"variable": "dose", "form": "threshold", "direction": "+"}


def spec(term, **fields):
    y = {"name": "pain", "parents": ["dose", "sex", "ward"], "noise": {"family": "gaussian", "scale": 0.5},
         "mechanism": {"family": "terms", "terms": [term, *REST]}, "description": "On the next day."}  # fmt: skip
    return arena.SCMSpec.from_dict({"name": "ward7", "nodes": [*ROOTS, y], "outcome": "pain", **fields})


@pytest.fixture(autouse=True)
def no_requests(monkeypatch):
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")


@pytest.fixture(scope="module")
def meta():
    return Simulator(spec(HINGE, description="Has a secret bend.")).meta(1000)


def replying(*replies):
    """A model that gives these replies in turn, the last one again and again, and keeps what it was sent."""
    sent = []

    def function(messages, info):
        sent.append((messages, info))
        reply = replies[min(len(sent), len(replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return ModelResponse(parts=[TextPart(reply) if isinstance(reply, str) else ToolCallPart(*reply)])

    return FunctionModel(function, model_name="fake"), sent


def test_a_text_becomes_a_claim(meta):
    model, sent = replying(("claim", BEND))
    assert parse_hypotheses(["More than 5 mg a day hurts."], meta, model) == [Proposal(**BEND)]
    assert "More than 5 mg a day hurts." in str(sent[0][0])
    assert {tool.name for tool in sent[0][1].output_tools} == {"claim", "no_claim"}
    generated = GeneratingModel(custom_output_args={**BEND, "direction": "-"})
    (found,) = parse_hypotheses(["any"], meta, generated)
    assert found == Proposal(**{**BEND, "direction": "-"})


def test_the_prompt_has_the_columns_and_forms_and_nothing_of_the_answer(meta):
    model, sent = replying(("claim", {"variable": "dosis"}), ("claim", BEND))
    parse_hypotheses(["h"], meta, model)
    told = sent[0][1].instructions
    for text in ("pain (continuous): On the next day.", "- dose (continuous; unit: mg): A day.",
                 "- ward (categorical; levels: 0, 1, 2)", *(f"- {form}: " for form in FORMS)):  # fmt: skip
        assert text in told
    everything = str([(messages, info.instructions, info.output_tools) for messages, info in sent])
    assert not [word for word in ("secret", "5.125", "1.75", "monotone_threshold", "ward7") if word in everything]
    other = Simulator(spec(GATE)).meta(1000)
    assert prompt.instructions(other) == told
    assert tuple(prompt.MEANINGS) == FORMS


@pytest.mark.parametrize(
    "bad, reason",
    [
        (("claim", {"variable": "doze", "form": "threshold"}), "which is not a variable of the data"),
        (("claim", {"variable": "pain"}), "itself, expected a possible cause of it"),
        (("claim", {"variable": "dose", "form": "wavy"}), "Input should be "),
        (("claim", {"variable": "ward", "form": "categorical_level", "level": 7}), "expected a level of "),
        (("claim", '{"variable": '), "Invalid JSON"),
        (("clam", BEND), "Unknown tool name"),
        ("It is a threshold.", "include your response in a tool call"),
    ],
)
def test_a_bad_reply_is_retried_with_the_reason_and_then_reported(meta, bad, reason):
    model, sent = replying(bad, ("claim", BEND))
    assert parse_hypotheses(["h"], meta, model) == [Proposal(**BEND)]
    assert len(sent) == 2 and reason in str(sent[1][0][-1])
    model, sent = replying(bad)
    (found,) = parse_hypotheses(["h"], meta, model)
    assert isinstance(found, Rejection) and len(sent) == 1 + parse.RETRIES
    assert found.reason.startswith("the model gave no valid claim") and reason in found.reason
    assert "\n" not in found.reason


def test_no_text_vanishes(meta):
    model, sent = replying(("no_claim", {"reason": "speaks of the weather"}))
    given = ["h", "", "h", "x" * 5000, "\ud800", Rejection("is no hypothesis")]
    found = parse_hypotheses(given, meta, model)
    assert all(isinstance(one, Rejection) for one in found) and len(found) == len(given)
    assert "speaks of the weather" in found[0].reason and found[2] == found[0]
    assert len(sent) == 1  # what is no text is not asked about, and no text twice
    with pytest.raises(DataError, match="2001 hypotheses, expected at most 2000"):
        parse_hypotheses(["h"] * 2001, meta, model)


def test_files_of_texts(tmp_path):
    lines, entries = tmp_path / "a.md", tmp_path / "a.json"
    lines.write_text("# Ideas\n\n- one\n2. two\n\n  three\n", encoding="utf-8")
    assert texts.read_texts(lines) == ["one", "two", "three"]
    entries.write_text(json.dumps(["one", {"hypothesis": "two", "p": 0.1}, {"text": "three"}, {"variable": "x"}, 4]))
    *found, no, neither = texts.read_texts(entries)
    assert found == ["one", "two", "three"]
    assert isinstance(no, Rejection) and no == neither
    with pytest.raises(DataError, match="cannot read"):
        texts.read_texts(tmp_path / "none.txt")


def test_replies_are_recorded_and_used(meta, tmp_path):
    file = tmp_path / "out" / "replies.json"
    model, sent = replying(("claim", BEND), ("no_claim", {"reason": "vague"}))
    first = parse_hypotheses(["a"], meta, model, file)
    both = parse_hypotheses(["b", "a"], meta, model, file)
    assert len(sent) == 2 and both[1] == first[0]
    assert parse_hypotheses(["b", "a"], meta, recorded=file) == both
    stored = json.loads(file.read_text())
    assert stored["replies"][0] == {"text": "a", "claim": {"variable": "dose", "form": "threshold"}}
    assert stored["model"] == model.model_id and stored["outcome"] == "pain"

    with pytest.raises(ProviderError, match="1 of 2 hypotheses have no recorded reply in .*--provider: anthropic, bed"):
        parse_hypotheses(["a", "c"], meta, recorded=file)
    with pytest.raises(DataError, match="has replies of 'function:.*', not of 'openai:gpt-6-luna'"):
        parse_hypotheses(["a"], meta, "openai", file)
    other = {**meta, "columns": meta["columns"][1:]}
    with pytest.raises(DataError, match="other columns than this spec's"):
        parse_hypotheses(["a"], other, model, file)
    for text, message in (("[]", "expected recorded replies"), ("{", "not JSON"), ('{"model": 1}', "field 'model'")):
        file.write_text(text)
        with pytest.raises(DataError, match=message):
            parse_hypotheses(["a"], meta, model, file)


@pytest.mark.parametrize(
    "error, message",
    [
        (ModelAuthenticationError("fake", "bad\nkey"), r"did not accept the credentials: .*\(bad key\)"),
        (ModelConnectionError("fake", "refused"), "cannot reach function: refused"),
        (UnexpectedModelBehavior("the stream ended"), "failed with the model .*: the stream ended"),
    ],
)
def test_a_failure_halfway_keeps_what_came(meta, tmp_path, monkeypatch, error, message):
    monkeypatch.setattr(parse, "AT_ONCE", 1)
    file = tmp_path / "replies.json"
    model, sent = replying(("claim", BEND), ("claim", BEND), error)
    with pytest.raises(ProviderError, match=f"{message}; 2 of 5 replies are kept in .*replies.json"):
        parse_hypotheses(list("abcde"), meta, model, file)
    assert len(sent) == 3  # nothing is asked after the failure
    model, sent = replying(("claim", BEND))
    assert parse_hypotheses(list("abcde"), meta, model, file) == [Proposal(**BEND)] * 5
    assert len(sent) == 3 and [path.name for path in tmp_path.iterdir()] == ["replies.json"]


def test_a_failure_at_once_binds_to_no_model(meta, tmp_path):
    file = tmp_path / "replies.json"
    model, _ = replying(ModelConnectionError("fake", "refused"))
    with pytest.raises(ProviderError, match="cannot reach function: refused$"):
        parse_hypotheses(["a"], meta, model, file)
    other = GeneratingModel(custom_output_args=BEND)
    assert parse_hypotheses(["a"], meta, other, file) == [Proposal(**BEND)]


def test_in_a_running_loop_as_in_a_notebook(meta):
    async def cell():
        return parse_hypotheses(["a"], meta, replying(("claim", BEND))[0])

    assert asyncio.run(cell()) == [Proposal(**BEND)]


@pytest.mark.parametrize("provider", providers.DEFAULT_MODELS)
def test_providers(meta, provider, monkeypatch):
    with pytest.raises(ProviderError, match=f"{provider} cannot be used: {providers.NEEDS[provider][:20]}"):
        parse_hypotheses(["a"], meta, provider)
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "fake")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    default = f"{provider}:{providers.DEFAULT_MODELS[provider]}"
    assert providers.connect(provider).model_id == default
    assert default in models.KnownModelName.__value__.__args__
    assert providers.connect(f"{provider}:other").model_id == f"{provider}:other"
    with pytest.raises(RuntimeError, match="requests are not allowed"):
        parse_hypotheses(["a"], meta, provider)


def test_unknown_provider_and_missing_package(meta, monkeypatch):
    with pytest.raises(
        ProviderError, match="unknown provider 'antropic' .did you mean 'anthropic'.*are anthropic, bed"
    ):
        parse_hypotheses(["a"], meta, "antropic:x")
    for name in ("boto3", "pydantic_ai"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, "pydantic_ai.providers.bedrock", raising=False)
        monkeypatch.delitem(sys.modules, "pydantic_ai.models.bedrock", raising=False)
        with pytest.raises(ProviderError, match=r"pydantic-ai-slim.*; run: pip install 'causal-arena\[parse\]'"):
            parse_hypotheses(["a"], meta, "bedrock")


def test_recorded_replies_need_no_package(meta, tmp_path, monkeypatch):
    file = tmp_path / "replies.json"
    found = parse_hypotheses(["a"], meta, replying(("claim", BEND))[0], file)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    assert parse_hypotheses(["a"], meta, recorded=file) == found
    with pytest.raises(ProviderError, match="pip install"):
        parse_hypotheses(["b"], meta, "openai")


def test_nothing_is_imported_before_it_is_needed():
    for module in (parse, prompt, providers, texts):
        for node in ast.parse(Path(module.__file__).read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            assert "pydantic_ai" not in " ".join([*names, getattr(node, "module", None) or ""])


def test_judge_reads_text(meta, tmp_path):
    hypotheses, world, replies, out = (tmp_path / name for name in ("h.txt", "spec.json", "replies.json", "out.json"))
    world.write_text(spec(HINGE).to_json())
    hypotheses.write_text("More than 5 mg a day hurts.\nWomen suffer more.\nGood weather helps.\n")
    model, _ = replying(
        ("claim", BEND), ("claim", {"variable": "sex", "form": "threshold"}), ("no_claim", {"reason": "no column"})
    )  # noqa: E501
    for text in texts.read_texts(hypotheses):
        parse_hypotheses([text], meta, model, replies)

    def judge(*options):
        command = ["judge", str(world), str(hypotheses), "--units", "1000", *map(str, options)]
        return CliRunner().invoke(app, command)

    done = judge("--parse", "--replies", replies, "--out", out)
    assert done.exit_code == 0, done.output
    assert "claim precision   0.333  of 3 proposals" in done.output
    assert "3 hypotheses read by function:" in done.output
    report = json.loads(out.read_text())
    assert report["parsed_by"] == model.model_id
    assert [(one["text"][:5], one["status"]) for one in report["proposals"]] == [
        ("More ", "confirmed"), ("Women", "refuted"), ("Good ", "rejected")]  # fmt: skip
    assert report["recall"]["confirmed_recall"] == 1.0

    hypotheses.write_text("Something else.\n")
    out.unlink()
    for options, message in (
        (["--parse", "--replies", replies, "--out", out], "1 of 1 hypotheses have no recorded reply"),
        (["--parse", "--provider", "openai", "--out", out], "openai cannot be used: set OPENAI_API_KEY"),
        (["--parse", "--model", "gpt"], "--model gpt needs --provider"),
        (["--provider", "openai"], "expected --parse beside them"),
    ):
        failed = judge(*options)
        assert isinstance(failed.exception, ProviderError) and message in str(failed.exception)
    assert not out.exists()
