"""The heads that a model is opened with: their classes in transformers, and what they lack."""

from typing import Any, Literal

from curation.models.rules import Family

Head = Literal["lm", "next-sentence", "classes", "none"]
TRAINERS: dict[Head, str] = {  # how a head that is lacking is trained
    "lm": "",
    "none": "",
    "next-sentence": ", or train a head with «curation scores train-nsp»",
    "classes": ", or train one with «curation measures train-sentiment»",
}


def class_of(transformers: Any, head: Head, family: Family) -> Any:
    """What of transformers opens a model with this head."""
    if head == "none":
        return transformers.AutoModel
    if head == "next-sentence":
        return transformers.AutoModelForNextSentencePrediction
    if head == "classes":
        return transformers.AutoModelForSequenceClassification
    return {
        "causal": transformers.AutoModelForCausalLM,
        "masked": transformers.AutoModelForMaskedLM,
        "xlnet": transformers.XLNetLMHeadModel,
        "seq2seq": transformers.AutoModelForSeq2SeqLM,
    }[family]


def missing_weights(model: Any, report: dict[str, Any], *, head: Head, fresh: bool) -> list[str]:
    """Weights that were not there, or in another shape.

    Args:
        model: as it was loaded.
        report: what transformers says of its loading.
        head: the head that it was loaded with.
        fresh: the head is to be trained: only what lies below it counts.
    """
    lacking = {*report["missing_keys"], *(key[0] for key in report["mismatched_keys"])}
    if fresh:
        lacking = {key for key in lacking if key.startswith(f"{model.base_model_prefix}.")}
    if fresh or head == "none":  # a pooling layer is not everyone's
        lacking = {key for key in lacking if "pooler" not in key}
    return sorted(lacking)
