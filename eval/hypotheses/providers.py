"""Providers of language models: which ones, what each needs, and what went wrong with one, in one line.

pydantic-ai and the providers' libraries are imported when a model is asked for, not before.
"""

from typing import TYPE_CHECKING

from arena.errors import ProviderError
from arena.spec_errors import did_you_mean, listed

if TYPE_CHECKING:
    from pydantic_ai.models import Model

INSTALL = "pip install 'causal-arena[parse]'"
#: The model of each provider unless another is named; small ones, for reading one sentence is easy.
DEFAULT_MODELS = {
    "anthropic": "claude-haiku-5-5",
    "openai": "gpt-6-luna",
    "bedrock": "global.anthropic.claude-haiku-5-5",
}
#: What must be set in the environment.
NEEDS = {
    "anthropic": "set ANTHROPIC_API_KEY",
    "openai": "set OPENAI_API_KEY",
    "bedrock": "set AWS_DEFAULT_REGION, and AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY (or AWS_PROFILE, or "
    "AWS_BEARER_TOKEN_BEDROCK)",
}


def model_id(provider: str, model: str | None = None) -> str:
    """`provider:model`, with the provider's default model unless one is named.

    Raises:
        ProviderError: If there is no such provider.
    """
    if provider not in DEFAULT_MODELS:
        hint = did_you_mean(provider, DEFAULT_MODELS)
        raise ProviderError(f"unknown provider '{provider}'{hint}; providers are {listed(DEFAULT_MODELS)}")
    return f"{provider}:{model or DEFAULT_MODELS[provider]}"


def require() -> None:
    """See that pydantic-ai can be imported.

    Raises:
        ProviderError: If it cannot, with the command that installs it.
    """
    try:
        import pydantic_ai  # noqa: F401
    except ImportError as error:
        raise _missing(error) from None


def connect(id: str) -> "Model":
    """The model of a `provider:model`; nothing is sent yet.

    Raises:
        ProviderError: If the provider is unknown, its library is not installed, or what it needs is not set.
    """
    provider, _, name = id.partition(":")
    id = model_id(provider, name)
    require()
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    try:
        return infer_model(id)
    except ImportError as error:
        raise _missing(error) from None
    except UserError:
        raise ProviderError(f"{provider} cannot be used: {NEEDS[provider]}") from None
    except _of_aws() as error:
        raise ProviderError(f"{provider} cannot be used: {NEEDS[provider]} ({_short(error)})") from None


def failures() -> tuple[type[Exception], ...]:
    """The exceptions of a request that a provider or the network failed."""
    from pydantic_ai.exceptions import AgentRunError, UserError

    return (AgentRunError, UserError, *_of_aws())


def explained(error: Exception, id: str) -> ProviderError:
    """One line for the person: what failed, and what would help."""
    from pydantic_ai.exceptions import ModelAuthenticationError, ModelConnectionError, ModelNotFoundError

    provider, _, name = id.partition(":")
    needs = NEEDS.get(provider, "")
    if isinstance(error, ModelAuthenticationError) or type(error).__name__ in ("NoCredentialsError", "ProfileNotFound"):
        return ProviderError(f"{provider} did not accept the credentials: {needs} ({_short(error)})")
    if isinstance(error, ModelNotFoundError):
        return ProviderError(f"{provider} has no model '{name}'; name another one with --model ({_short(error)})")
    if isinstance(error, ModelConnectionError):
        return ProviderError(f"cannot reach {provider}: {_short(error)}")
    return ProviderError(f"{provider} failed with the model '{name}': {_short(error)}")


def _of_aws() -> tuple[type[Exception], ...]:
    """What the library of AWS raises before a request is sent."""
    try:
        from botocore.exceptions import BotoCoreError
    except ImportError:
        return ()
    return (BotoCoreError,)


def _missing(error: ImportError) -> ProviderError:
    name = f" ({error.name})" if error.name else ""
    return ProviderError(f"hypotheses in free text need the package pydantic-ai-slim{name}; run: {INSTALL}")


def _short(error: Exception) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    told = body.get("message", body.get("Message")) if isinstance(body, dict) else None
    text = " ".join(str(told or error).split()) or type(error).__name__
    return text if len(text) <= 240 else text[:237] + "..."
