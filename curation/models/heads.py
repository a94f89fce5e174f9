"""The heads that a model is opened with: their classes in transformers, and missing weights."""

from typing import Any, Literal

from curation.models.rules import Family

Head = Literal["lm", "next-sentence", "classes", "none"]
TRAINERS: dict[Head, str] = {  # how a missing head is trained
    "lm": "",
    "none": "",
    "next-sentence": ", or train a head with «curation scores train-nsp»",
    "classes": ", or train one with «curation measures train-sentiment»",
}
REPORT = "training.json"  # written when a training has ended


def class_of(transformers: Any, head: Head, family: Family) -> Any:
    """The class of transformers that opens a model with this head."""
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
    """The names of weights that were missing, or had another shape.

    Args:
        model: the loaded model.
        report: what transformers reports about loading it.
        head: the head that it was loaded with.
        fresh: the head is still to be trained, so only the weights below it count.
    """
    missing = {*report["missing_keys"], *(key[0] for key in report["mismatched_keys"])}
    if fresh:
        missing = {key for key in missing if key.startswith(f"{model.base_model_prefix}.")}
    if fresh or head == "none":  # not every model has a pooling layer
        missing = {key for key in missing if "pooler" not in key}
    return sorted(missing)
