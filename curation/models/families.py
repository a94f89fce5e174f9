"""The family of a model, from its configuration in transformers."""

import importlib
from typing import Any

from curation.files import CurationError
from curation.models.rules import Family


def family_of(config: Any) -> Family:
    """The family of the language model that a configuration describes.

    It follows from the model's type and the architecture that it was saved as. If these do not
    tell, it follows from the classes that transformers has for the type.

    Raises:
        CurationError: it is not a language model.
    """
    saved = " ".join(getattr(config, "architectures", None) or [])
    if config.model_type == "xlnet":
        return "xlnet"
    if getattr(config, "is_encoder_decoder", False):
        return "seq2seq"
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    if config.model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        # BERT and similar models, whatever head they were saved with; XLM has the field «causal».
        reads_left = getattr(config, "is_decoder", False) or getattr(config, "causal", False)
        return "causal" if reads_left else "masked"
    if "MaskedLM" in saved or "PreTraining" in saved or "NextSentence" in saved:
        return "masked"
    if "CausalLM" in saved or "LMHead" in saved:
        return "causal"
    if config.model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "causal"
    raise CurationError(
        f"a model of type «{config.model_type}» is not a language model that transformers knows",
        "name a causal, masked or encoder-decoder model",
    )


def family_of_body(config: Any) -> Family:
    """The family of the model below a classifier; «masked» if that is not a language model."""
    try:
        return family_of(config)
    except CurationError:
        return "masked"


def chosen_family(config: Any, given: Family | None, name: str) -> Family:
    """The family that the user gave, or that of the configuration."""
    if given is None:
        return family_of(config)
    try:
        own = family_of(config)
    except CurationError:  # transformers does not know the type, so trust the user
        return given
    # A model that reads both ways would see the very tokens that a causal rule asks it to predict.
    if own != given and (given == "causal" or {own, given} & {"xlnet", "seq2seq"}):
        raise CurationError(
            f"{name}: is a {own} model and cannot be used as a {given} model", "leave out --family"
        )
    return given


def check_causal(family: str, name: str) -> None:
    """Check that a model can answer questions.

    Raises:
        CurationError: it is not a causal model.
    """
    if family != "causal":
        raise CurationError(
            f"{name}: is a {family} model and cannot be asked as a chat model",
            "name an instruction-tuned causal model; without chat: it is scored by its own rules",
        )
