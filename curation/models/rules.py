"""The scoring contract: what each rule sums, on what condition, over which tokens.

A rule gives each association of a CAT one number; higher means likelier. This holds for all rules
but ``choice``:

* **Text.** An association is scored as the sentence that was published. Rules for the attribute
  term alone (``attribute-…``) read the context with the attribute filled in, as StereoSet's code
  does. If sentence and context differ in capitals, so do these texts. If a context has several
  BLANKs, the first is scored and the others are masked. For intersentence CATs, context and
  association are joined by one space. That space belongs to the association, and so do spaces at
  the end of the context. Nothing else is changed (no casing, no stripping), unless the user gives
  ``--variant``.
* **Tokens** are those of the whole text. A token that shares a character with a part of the text
  belongs to that part. Special tokens are never summed.
* **Logarithms** are natural, sums have double precision, log-probabilities at least float32.
* **Window.** A text that is longer than the model's window loses tokens at its left, as far as they
  are not scored. If that is not enough, the association is refused (``too_long``). It is also
  refused if it has no token to score (``nothing_to_score``) or if its score is not finite
  (``not_finite``). A CAT with a refused association is left out of the model's results and counted.

Autoregressive models. The tokens of the text are x₀ … x_N; for intersentence CATs these are the
tokens of context and association:

================= ================================================ =============== ===============
rule              sum                                              first token     normalised
================= ================================================ =============== ===============
ll-bos            Σ_{i=0}^{N} log p(xᵢ | BOS, x₀ … xᵢ₋₁)           after BOS       no
ll-acl            log p(x₀ | BOS) + Σ_{i=1}^{N} log p(xᵢ | x₀ …)   after BOS alone no
ll-code           the same                                         after BOS alone by N + 1 tokens
ll-arxiv          Σ_{i=1}^{N} log p(xᵢ | x₀ … xᵢ₋₁)                not scored      by N tokens
ll-shared         Σ log p(xᵢ | BOS, x₀ … xᵢ₋₁) over shared tokens  after BOS       no
conditional       Σ log p(aᵢ | c, a₀ … aᵢ₋₁) over the association  after context   no
conditional-chars the same                                         after context   by C characters
ratio             conditional − ll-bos of the association alone    as in those two no
================= ================================================ =============== ===============

BOS is the tokenizer's token for the beginning of a text, or its end-of-text token if it has no
other. Only ``ll-bos`` and ``ll-shared`` add it before every text. The other rules do so only if the
tokenizer adds it by itself (Llama, Gemma). ``ll-bos`` and ``conditional`` are what lm-eval calls
``loglikelihood``. ``ll-code`` is the logarithm of what StereoSet's code computes. ``conditional``,
``conditional-chars`` and ``ratio`` are for intersentence CATs.

C is the number of Unicode code points of the association as it is scored: with its spaces and
punctuation, without the space that joins it to the context, and not normalised (é is two if it is
written as e and an accent). lm-eval's ``acc_norm`` divides by the same number, and its
``acc_bytes`` by UTF-8 bytes. ``conditional`` favours short associations. ``conditional-chars`` does
not, and the number does not depend on the model's tokenizer, as that of tokens does.

Masked models. The attribute's pieces in the text are a₀ … a_M. Each piece is read at [MASK] in its
place, with the tokenizer's own special tokens around the text:

====================== ================================================ =======================
rule                   each piece aₖ is read with                       combined
====================== ================================================ =======================
attribute-acl          a₀ … aₖ₋₁ revealed, aₖ … a_M masked              log of the mean of p
attribute-arxiv        a₀ … aₖ₋₁ revealed, aₖ₊₁ … a_M absent            mean of log p
attribute-code         the same                                         log of the mean of p
attribute-code-literal the same, pasted into the context as text        log of the mean of p
pll                    all others visible, for every token of the text  Σ log p
pll-shared             all others visible, for every token that is      Σ log p
                       shared: not the attribute; the context;
                       what both sentences of a pair have
pll-shared-3           the same, for pairs                              Σ log p, rounded
pll-word-l2r           the rest of its word masked, for every token     Σ log p
aul                    nothing masked, for every token of the text      mean of log p
aula                   the same                                         mean of α log p
====================== ================================================ =======================

``attribute-acl`` is ACL §6.1: the pieces are unmasked from left to right, and the average of their
probabilities is taken. The paper does not say whether later pieces are masked or absent; masked is
our reading. ``attribute-arxiv`` is arXiv §7.1.

``attribute-code-literal`` does what StereoSet's code does, step by step. The attribute is tokenized
alone, without a leading space. For piece k, the decoded pieces before it and the text of the mask
token replace every BLANK of the context. The result is tokenized, and p(aₖ) is read at its first
mask. ``attribute-code`` does the same on the tokens of the whole text. The two are equal for
WordPiece tokenizers if BLANK is a word of its own and the only BLANK. For other tokenizers they
differ.

``pll`` is Salazar et al. 2020, ``pll-shared`` Nangia et al. 2020 and ACL §6.1 (pseudo-likelihood),
``pll-word-l2r`` Kauf & Ivanova 2023. The ``attribute`` rules are for intrasentence CATs. For
intersentence CATs, the ``pll`` rules read context and association as one text.

``aul`` and ``aula`` are Kaneko & Bollegala 2022. αₖ is how much attention token k gets: the mean
over layers, heads and all tokens that attend, special ones too. The model must be able
to return its attentions.

Pairs. Each sentence is a text of its own, without a context. Which tokens are **shared** is decided
as CrowS-Pairs' ``metric.py`` does: Python's ``difflib.SequenceMatcher``, as it is, compares
the tokens of both sentences with their special tokens. The first sentence is the stereotype, or the
anti-stereotype if the pair's direction is ``antistereo``; this matters if two blocks are equally
long. ``pll-shared-3`` rounds the sum to three digits, as that code does, so more pairs are ties. A
pair that shares no token is refused. ``ll-shared`` is WinoQueer's rule for autoregressive models
(Felkner et al. 2023, ``metric_autoregressive.py``), without its rounding; BOS counts as a shared
special token.

XLNet is scored like a masked model: it reads both ways, and a masked token is hidden from every
position. StereoSet's code reads XLNet in another way, so ``attribute-code-literal`` is not for it.

Encoder-decoder models. ``conditional`` gives the context to the encoder and the association, as a
text of its own, to the decoder. ``conditional-chars`` divides it by C. ``infill`` (intrasentence)
gives the encoder the context with a sentinel or mask token for BLANK. It sums the log-probabilities
of the attribute after the sentinel in the decoder or, if the model has no sentinels, of the whole
sentence. The end token is not summed.

``nsp`` is log p(the association follows the context) under a next-sentence head: BERT's own, or one
that ``curation scores train-nsp`` trained. An untrained head is an error.

``choice`` is for chat models and gives no scores of associations: the model is asked which of two
is more natural, for the three pairs of a CAT (the one of a pair), each in both orders
(``docs/chat.md``).

Models behind an endpoint are autoregressive. ``ll-bos``, ``ll-acl``, ``ll-code`` and ``ratio`` need
the text of the BOS token (``--bos``).

Sources: StereoSet ACL §6 and arXiv §7; ``dataloader.py``, ``eval_generative_models.py`` and
``eval_discriminative_models.py`` of its repository; Salazar et al. 2020 §2; Nangia et al. 2020 §3;
Kauf & Ivanova 2023 §3; Kaneko & Bollegala 2022 §3; ``metric.py`` of CrowS-Pairs; Felkner et al.
2023; lm-eval ``LM.loglikelihood``.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, NamedTuple, cast

from curation.files import CurationError
from curation.formats.toml_files import shipped_table
from curation.kinds import CAT_KINDS, ITEMS, KINDS, Kind

Family = Literal["causal", "masked", "xlnet", "seq2seq", "endpoint", "chat"]


class ScoringRequest(NamedTuple):
    """One association to be scored. Places are character offsets.

    Attributes:
        kind: the kind of the CAT. If it has no gap, the fields from ``start`` on keep their
            defaults.
        context: the context, with its BLANK.
        sentence: the association.
        start: where the attribute begins in ``sentence``.
        end: where it ends; start and end are 0 if the sentence does not reproduce its context.
        filled: the context with the attribute in its BLANKs.
        at: where the attribute begins in ``filled``, in the first BLANK.
        also: where it begins in the other BLANKs.
        other: the other sentence of a pair; "" for other kinds.
        second: whether the other sentence is the first of the pair.
    """

    kind: Kind
    context: str
    sentence: str
    start: int = 0
    end: int = 0
    filled: str = ""
    at: int = 0
    also: tuple[int, ...] = ()
    other: str = ""
    second: bool = False

    @property
    def attribute(self) -> str:
        """The words that fill the BLANK."""
        return self.sentence[self.start : self.end]

    @property
    def characters(self) -> int:
        """The number of Unicode code points of the association, by which a score is divided."""
        return len(self.sentence)

    @property
    def text(self) -> str:
        """The text that is scored as a whole."""
        kind = ITEMS[self.kind]
        follows = kind.context and not kind.has_gap
        return f"{self.context} {self.sentence}" if follows else self.sentence

    @property
    def fills(self) -> list[tuple[int, int]]:
        """The (start, end) places in ``sentence`` of the words that fill the context's BLANKs."""
        alike = self.sentence.lower() == self.filled.lower()
        others = self.also if alike and len(self.sentence) == len(self.filled) else ()
        return [(self.start, self.end), *((at, at + self.end - self.start) for at in others)]


class Refusal(NamedTuple):
    """Why an association has no score: a reason code and a sentence."""

    code: Literal["too_long", "nothing_to_score", "not_finite"]
    detail: str


Scored = float | Refusal


class Rule(NamedTuple):
    """The models and kinds of CAT that a rule is for, and what it computes in a line."""

    families: tuple[Family, ...]
    kinds: tuple[Kind, ...]
    says: str


RULES: dict[str, Rule] = {
    name: Rule(tuple(rule["families"]), tuple(rule["kinds"]), rule["says"])
    for name, rule in shipped_table("scores", "rules.toml").items()
}
"""Each rule's families and kinds, and in a few words what it computes."""
Profile = dict[Family, dict[Kind, str]]
_TABLE = shipped_table("scores", "profiles.toml")

SOURCES: dict[str, str] = {name: profile.pop("source") for name, profile in _TABLE.items()}
"""The source that each profile follows."""

PROFILES: dict[str, Profile] = {
    name: {
        family: {kind: rules[kind] for kind in KINDS if kind in rules}
        for family, rules in of.items()
    }
    for name, of in _TABLE.items()
}
"""The rule for each kind of CAT, by profile and family; ``default`` needs no trained head. A kind
may have no rule: its CATs are scored by naming a rule."""

TRAINED_HEADS = {"acl-ll"}
"""Profiles that need a trained head even if a model has its own (ACL §6.1)."""

OWN_HEADS = {"arxiv", "code"}
"""Profiles that use BERT's own head, and trained ones for other models (arXiv §7.1 to §7.3)."""


LOST_TIES = {"crows"}
"""Profiles whose source counts ties as lost, as ``--ties official`` does."""


OF_TEXTS = ("ll-bos", "ll-acl", "ll-code", "ll-arxiv")
OF_PAIRS = ("ll-shared",)
OF_ASSOCIATIONS = ("conditional", "conditional-chars", "ratio")
"""The rules of autoregressive models, here and behind endpoints, by what they sum over."""


def rules_name(rules: Mapping[Any, str]) -> str:
    """The name of a run under these rules: its only rule, or ``INTRASENTENCE_INTERSENTENCE``.

    >>> rules_name({"intrasentence": "ll-acl", "intersentence": "nsp"})
    'll-acl_nsp'
    >>> rules_name({"intrasentence": "pll", "intersentence": "pll"})
    'pll'
    """
    return "_".join(dict.fromkeys(rules[kind] for kind in KINDS if kind in rules))


def rules_of(rules: Mapping[Any, str], kinds: Collection[str]) -> dict[Kind, str]:
    """The rules that a run of CATs of some kinds has.

    Kinds with a context always come together, so that a run of a part of StereoSet serves the rest.

    >>> rules_of({"intrasentence": "pll", "intersentence": "pll", "pair": "pll"}, ["intersentence"])
    {'intrasentence': 'pll', 'intersentence': 'pll'}
    """
    forms = {ITEMS[kind].context != "" for kind in KINDS if kind in kinds}
    own = [kind for kind in KINDS if kind in rules and (ITEMS[kind].context != "") in forms]
    return {kind: rules[kind] for kind in own}


def profiles_of(family: str, rules: Mapping[Any, str]) -> list[str]:
    """The profiles that have exactly these rules for a family and for the kinds of the rules.

    >>> profiles_of("causal", {"intrasentence": "ll-acl", "intersentence": "ratio"})
    ['acl-pll']
    """
    return [
        name
        for name, profile in PROFILES.items()
        if rules and rules_of(profile.get(cast("Family", family), {}), rules) == dict(rules)
    ]


def not_computed(rule: str, known: Iterable[str]) -> CurationError:
    """The error for a rule that a module has no sum for. It must not get the sum of another one."""
    return CurationError(
        f"the rule «{rule}» is not computed here", f"use one of: {', '.join(known)}"
    )


def rules_for(
    family: Family,
    *,
    rule: str | None,
    profile: str | None,
    kinds: Collection[Kind] = CAT_KINDS,
) -> dict[Kind, str]:
    """The rule for each kind of CAT, by the name of a rule or profile.

    Args:
        family: the family of the model.
        rule: the name of a rule; it is used for the kinds that it is for.
        profile: the name of a profile; without rule and profile, ``default``, and ``choice`` for
            chat models.
        kinds: the kinds of the CATs; rules for others are left out, as in ``rules_of``.

    Raises:
        CurationError: the rule or profile does not exist, is not for this family or has no rule for
            these kinds (the error lists those that fit), or both are given.

    >>> rules_for("causal", rule=None, profile="arxiv")
    {'intrasentence': 'll-arxiv', 'intersentence': 'nsp'}
    """
    if rule and profile:
        raise CurationError("both a rule and a profile are given", "give only one of them")
    if rule:
        fit = ", ".join(name for name, known in RULES.items() if family in known.families)
        if rule not in RULES:
            raise CurationError(f"there is no rule «{rule}»", f"use one of: {', '.join(RULES)}")
        if family not in RULES[rule].families:
            raise CurationError(
                f"the rule «{rule}» is not for {family} models", f"use one of: {fit}"
            )
        if own := rules_of(dict.fromkeys(RULES[rule].kinds, rule), kinds):
            return own
        raise CurationError(
            f"the rule is for {', '.join(RULES[rule].kinds)} CATs, and there are none",
            "choose another rule or profile",
        )
    name = profile or ("choice" if family == "chat" else "default")
    if name not in PROFILES:
        raise CurationError(f"there is no profile «{name}»", f"use one of: {', '.join(PROFILES)}")
    if family not in PROFILES[name]:
        fit = ", ".join(known for known, rules in PROFILES.items() if family in rules)
        why = ""
        if family == "endpoint":
            why = ": it needs a next-sentence head, which a model behind an endpoint cannot have"
        raise CurationError(
            f"the profile «{name}» has no rules for {family} models{why}", f"use one of: {fit}"
        )
    if own := rules_of(PROFILES[name][family], kinds):
        return own
    fitting = [
        f"--profile {known}"
        for known, of in PROFILES.items()
        if rules_of(of.get(family, {}), kinds)
    ]
    fitting += [
        f"--rule {known}"
        for known, of in RULES.items()
        if family in of.families and set(kinds) & set(of.kinds)
    ]
    raise CurationError(
        f"the profile «{name}» has no rule for {', '.join(kinds)} CATs of {family} models",
        f"use one of: {', '.join(fitting)}" if fitting else "score a model of another family",
    )
