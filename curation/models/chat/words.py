"""The words with which answers choose, decline or hesitate, in the languages that are read.

A model may answer in another language than it was asked in, so the words of all languages are read
in every answer. Each list is a regular expression in lower case, with straight apostrophes. A
prompts file adds phrases of its own.
"""

import re


def _any(*parts: str) -> str:
    return "(?:" + "|".join(parts) + ")"


LABELS = _any(
    r"options?|sentences?|choices?|answers?|letters?|statements?|versions?|texts?|continuations?",
    r"variants?|alternatives?|candidates?|responses?|lines?|items?|labels?|endings?|follow-?ups?",
    r"selections?|cases?|numbers?|phrases?|possibilit(?:y|ies)|completions?|wording|one",
    r"la phrase|phrase|réponses?|lettre|énoncé|choix|suite|proposition|texte|l'option|l'énoncé",
    r"satz|sätze|antwort|buchstaben?|möglichkeit|aussage|auswahl|wahl|variante|fortsetzung",
    r"opci[óo]n|opciones|frase|oraci[óo]n|respuesta|letra|enunciado|alternativa|continuación",
    r"opção|resposta|sentença|oração|opzione|risposta|lettera|scelta|l'opzione|la frase",
    r"optie|zin|antwoord|keuze|letter|вариант\w*|предложени\w+|ответ\w*|букв\w+|фраз\w+",
    r"opcj[aeęi]\w*|zdani[ea]\w*|odpowied[źz]\w*|wariant|alternativ|mening|svar|seçenek|cümle",
    r"选项|選項|句子|答案|句|文|選択肢|オプション|答え|문장|선택지|옵션|보기|답",
    r"الخيار|الجملة|الإجابة|विकल्प|वाक्य|উত্তর",
)
# What "is" the letter: "the answer is A", "my pick would be A".
ANSWERS = _any(
    r"answer|choice|pick|selection|option|decision|vote|preference|guess|verdict|conclusion|bet",
    r"response|solution|letter|result|output|winner|favou?rite|one|sentence|statement|summary",
    r"continuation|version|alternative|variant|judg[e]?ment|recommendation|final|text|mine|hunch",
    r"réponse|choix|lettre|préférence|antwort|wahl|entscheidung|lösung|tipp|ergebnis",
    r"respuesta|elección|opción|resposta|escolha|opção|risposta|scelta|antwoord|keuze",
    r"ответ|выбор|вариант|odpowiedź|wybór|svar|val|cevap|yanıt|seçim",
    r"答案|选择|回答|選擇|答え|解答|選択|정답|답|답변|선택|الإجابة|الجواب|उत्तर|जवाब",
)
IS = _any(
    r"is|was|be|'s|being|remains?|remained|goes to|go to|goes for|comes down to|falls on|equals",
    r"est|sia|c'est|serait|sera|reste|ist|w[äa]re|lautet|w[üu]rde|bleibt|es|ser[íi]a|era|é|ser[áa]",
    r"è|sarebbe|is|zou|luidt|это|будет|jest|to|byłaby|är|är|blir",
    r"是|为|為|应该是|應該是|选|は|が|은|는|هي|هو|है",
)
CHOOSE = _any(
    r"choos(?:e|es|ing)|chosen?|pick(?:s|ed|ing)?|select(?:s|ed|ing)?|prefer(?:s|red)?|voted?",
    r"(?:i|i'd|would|people|speakers|please|^) ?use",
    r"go(?:ing)? (?:with|for)|went (?:with|for)|opt(?:ed|ing)? for|vot(?:e|ing) for|"
    r"settled? (?:on|for)",
    r"lean(?:s|ing|ed)?(?: (?:toward|towards|to|for|on))?|expect|"
    r"expect to (?:hear|see|read|find)|tak(?:e|ing)|says?|saying|"
    r"answer(?:ing)?|"
    r"guess|tells? me",
    r"decided? (?:on|for)|favou?rs?|bet(?:ting)? on|recommend|suggest|stick(?:ing)? with|stay with",
    r"leav(?:es|ing)(?: us| me)?(?: with)?|left with|leads? (?:me |us )?to|points? (?:me |"
    r"us )?to(?:wards?)?|means?|meant",
    r"make it|call it|mark|suppose|incline(?:d)? (?:to|towards?)|drawn to|going|reply|respond with",
    r"switch(?:ing)? to|change (?:it|my answer|that|my choice) to|correct (?:that|it|"
    r"myself) to|read|suggests?",
    r"preference (?:for|goes to)|fits|speaks for|argues for|down for|back|name|nominate|like|"
    r"support(?:s)?|lands? on|come down on|plump for|"
    r"side with|vouch for",
    r"je choisi(?:s|rais)|choisi(?:s|rais|r|rai)|préfère|préférerais|prends|prendrais|dirais|"
    r"opte pour|opterais pour|pencher(?:ais)? pour",
    r"wähle|wählen|nehme|nehmen|w[üu]rde|entscheide mich f[üu]r|bevorzuge|f[üu]r|sage|"
    r"tippe auf|denke",
    r"elijo|elegir[íi]a|escojo|escogería|prefiero|preferir[íi]a|dir[íi]a|opto por|"
    r"me quedo con|selecciono|optaría por",
    r"escolho|escolheria|prefiro|diria|fico com|opto por|seleciono|optaria por",
    r"scelgo|sceglierei|preferisco|direi|opterei per|opto per",
    r"kies|kiezen|neem|zou|ga voor|выбираю|выберу|(?:бы )?выбрал\w*(?: бы)?|предпочту|"
    r"предпочитаю|wybieram|wybrał(?:a)?bym|väljer|seçerim|seçiyorum",
    r"选择?|選擇?|我选|会选|選ぶなら|배|고르자면|أختار|اختار",
)
# Between a chooser and its letter.
FILL = _any(
    r"the|that|it|is|was|be|would|letter|for|with|on|to|just|definitely|probably|clearly|maybe",
    r"perhaps|still|rather|likely|as|final|answer|my|of|towards|more|slightly|simply|then|"
    r"therefore",
    r"here|in|this|case|i|le|la|l'|les|el|los|o|os|il|der|die|das|den|satz|de|me|por|pour|que|"
    r"est|est la",
    r"option|number|only|und zwar|eher|wohl|than|sure",
)
SO = _any(
    r"possibly|presumably|arguably",
    r"so|therefore|thus|hence|then|consequently|accordingly|overall|ultimately|finally|in short",
    r"in conclusion|conclusion|probably|likely|definitely|certainly|surely|maybe|perhaps|clearly",
    r"obviously|i guess|i think|i believe|i suppose|i'd say|well|hmm+|h+m|uh+m?|ok|okay|sure|yes",
    r"yeah|alright|right|actually|rather|instead|honestly|easily|easy|simply|no|nope|sorry|pardon",
    r"correction|to be honest|in my opinion|if forced|if pressed|gut feeling|even so|still|got it",
    r"sondern|sino|而是|eindeutig|vermutlich|definitiv|bestimmt|plutôt|clairement|sans doute|"
    r"probablement|seguramente|probablemente|provavelmente|probabilmente|waarschijnlijk|"
    r"наверное|вероятно|скорее|leaning|or rather|or actually|or better|ergo|hands down|"
    r"if anything|on balance|as a result|no doubt|"
    r"without (?:a )?doubt|most likely|more likely",
    r"grammatically|statistically|of course|certainement|donc|alors|oui|also|daher|deshalb|somit",
    r"wahrscheinlich|eher|klar|ja|sicher|entonces|por tanto|por lo tanto|así que|claramente|sí",
    r"portanto|então|logo|sim|quindi|dunque|perciò|sì|dus|daarom|значит|поэтому|итак|da|więc",
    r"所以|因此|那么|当然|好的|だから|したがって|따라서"
    r"|그래서|네|and so|which means|but|and yet|yet",
)
GOOD = _any(
    r"natural(?:ly)?|makes? (?:more |perfect |good |complete )?sense|fits?|fine|good|well|"
    r"plausible|normal(?:ly)?|common(?:ly)?|usual(?:ly)?",
    r"everyday|idiomatic|ordinary|likely|works?|follows?|flows?|correctly|sensible|coherent|"
    r"logical(?:ly)?|reasonable|probable|expected|smooth(?:ly)?|typical|suits?|matches|"
    r"grammatical|familiar|frequent(?:ly)?|popular|widespread|appropriate|fitting|apt|"
    r"believable|straightforward|intuitive|cohesive|relevant|regular|accurate|sound|correct|"
    r"comfortable|colloquial|conversational|frequently|often|everyday|native|acceptable|"
    r"effective|elegant|realistic|consistent|suitable|convincing|(?:people|one) (?:would |"
    r"often |usually |might )?(?:say|write)s?|real|genuine|fluent(?:ly)?|clear|okay|ok|valid|"
    r"proper|"
    r"meaningful|acceptable|credible|conventional|standard|graceful|readable|harmonious|"
    r"does\b|is\b(?=\s*$)|great|perfect(?:ly)?",
    r"naturel(?:le)?|logique|correcte?|sens|natürlich|sinnvoll|sinn|passt|üblich|logisch|"
    r"lógic[ao]|tiene sentido|faz sentido|ha senso|naturale|natuurlijk",
    r"естественн\w+|логичн\w+|自然|合理|通顺|자연스럽|자연",
)
MORE = _any(
    r"(?:more|most) (?:\w+ )?" + GOOD,
    r"more (?:so|sense|often|than(?! one)|in line|to my|of a|to do)|more\s*$|better|best|likelier|"
    r"likeliest",
    r"safer|clearer|smoother|simpler|easier|closer|stronger|commoner|commonest|plainer|truer|"
    r"nicer|neater|cleaner",
    r"safest|clearest|closest|strongest|simplest|smoothest|prefer(?:red|able)|superior|ahead|"
    r"wins?|takes (?:it|the \w+)|beats?|outperforms?|outshines?|trumps?|surpasses|exceeds",
    r"(?:the|my|your|our) (?:\w+ ){0,3}?(?:answer|choice|pick|winner|one|selection|vote|"
    r"(?:usual|normal|common|standard|natural) way|"
    r"preference|guess|bet|favou?rite|option|way to go|letter|sentence|continuation)",
    r"chosen|selected|picked|recommended",
    r"mine\b|correct|right|gets my vote|has (?:the|an?) (?:\w+ )?edge|it is|(?:comes?|"
    r"coming) (?:next|after|"
    r"first)|it'll be|is it|the way|"
    r"(?:is|be|'s) (?:\w+ly |just )?(?:what|how) (?:an? |the |any )?(?:\w+ )?(?:person|people|"
    r"speakers?|one|we|someone|you|most|native)|"
    r"edges? (?:it )?out|what i",
    r"plus|mieux|meilleure?|préférable|la bonne|besser|richtig|am besten|eher|\w{4,}er als|"
    r"häufiger|"
    r"üblicher|natürlicher|wahrscheinlicher|passender",
    r"más|mejor|la correcta|mais|melhor|più|meglio|migliore|corretta|correta|meer|beter|"
    r"waarschijnlijker|natuurlijker",
    r"более|лучше|естественнее|вероятнее|правильн\w+|чаще|bardziej|lepsz\w+|lepiej|mer|bättre|daha",
    r"更|比较|最|の方|のほう|ほうが|方が|より|더|자연스럽습니다|가장|أكثر|أفضل|अधिक|ज़्यादा|बेहतर",
)
LESS = _any(
    r"less(?! so)|least|worse|worst|losers?|weaker|weakest|rarer|odder|stranger|clumsier|loses?|"
    r"lost|"
    r"inferior|wrong|incorrect|behind",
    r"moins|pire|weniger|schlechter|menos|peor|pior|meno|peggio|minder|slechter|менее|хуже|"
    r"mniej|gorsz\w+",
    r"不如|没有|덜|mindre|daha az",
)
BAD = _any(
    r"bad|poor|odd(?:ly)?|strange(?:ly)?|weird|unusual|awkward|clumsy|unnatural(?:ly)?|nonsens\w+|"
    r"unlikely|implausible|absurd|rare|bizarre|peculiar|illogical|silly|ungrammatical|"
    r"out of place|stilted|forced|far-fetched|improbable|surpris\w+|confusing|random|"
    r"incoherent|contrived|off|impossible|unexpected|uncommon|makes little sense|unrelated|"
    r"irrelevant|ruled out|out|clunky|stiff|funny|unidiomatic|nothing to do|doubtful|"
    r"questionable|(?:a |like a )?joke",
    r"bizarre|étrange|maladroit\w*|seltsam|merkwürdig|komisch|unnatürlich|rar[ao]|extrañ[ao]|"
    r"estranh[ao]|stran[ao]|vreemd|странн\w+|неестественн\w+|dziwn\w+|konstig|奇怪|不自然|不通|おかしい|"
    r"이상",
)
NOT = _any(
    r"not|\w+n't|no(?= (?:more|better|less|likelier|sense|good|real))|never|cannot|neither|"
    r"no one|nobody|few people|no (?:\w+ )?(?:speakers?|person|people)|"
    r"nor|unable|"
    r"refus\w+|won't|hardly|rarely|avoid\w*|reject\w*|exclud\w+|rul\w+ out|eliminat\w+|"
    r"discard\w*|declin\w+|dismiss\w*|against|doubt that|instead of choosing|rather than|"
    r"instead of|isnt|dont|unlike|except|anything but",
    r"ne|n'|pas|ni|jamais|refuse|nicht|kein\w*|weder|ni|nunca|non|né|não|nem|niet|geen|не|нет|"
    r"ни|nie|inte|değil",
    r"不|没|ない|ません|않|아니|لا|ليس|नहीं",
)
THAN = _any(r"than|over|чем|niż|än|比|rather than|compared")
AND = _any(
    r"and|or|nor|and/or|und|oder|noch|et|ou|ni|y|o|u|e|oder|und|of|en|и|или|ни|i|lub|ani|och|"
    r"eller|ve|veya|和|或|或者|还是|與|与|跟|と|か|와|과|또는|이나"
    r"|vs\.?|versus|with|against|plus|as well as|"
    r"equals|is equal to|is the same as|و|أو|और|या|& |/|&|\||=+|≈|~|\+",
)
CONTRAST = _any(
    r"(?<!anything )(?<!nothing )but|yet|however|(?<!more )(?<!less )(?<!just )so|therefore|"
    r"thus|hence|while|whereas|although|though|because|since|still|nevertheless|nonetheless|"
    r"then|and so|which (?:leaves|means|makes)|that (?:leaves|means)|leaving|that said",
    r"donc|car|mais(?= [\ue000-\uf8fe])|alors que|tandis que|aber|also|denn|während|jedoch|"
    r"pero|sino|mas|porém|porque|ma|perché|quindi|maar|но|поэтому|потому|ale|więc|但|但是|所以|因为|"
    r"しかし|が、|하지만|그러나",
)
IF = _any(
    r"if|whether|unless|which of|why|which (?:one|is|sentence|option|answer)|how|wenn|falls|"
    r"ob|si|se|als|если|whether it is",
    r"如果|是否|もし|만약",
)
CUE = re.compile(
    r"\b(?:wait|no|nope|actually|sorry|correction|correct(?:ing)? (?:myself|that|it)|"
    r"second thoughts?|reflection|reconsider\w*|rethink\w*|re-?read\w*|again|meant|mean|"
    r"mistake\w*|scratch|oops|rather|instead|apolog\w+|change[d]?|changing|looking closer|"
    r"closer look|however|but|hmm+|typo|strike|revis\w+|updat\w+|let me|"
    r"thinking (?:about it )?(?:more|again)|after all|pardon|switch\w*|final(?:ly)?|"
    r"ultimately|overall|so|therefore|thus|hence|conclusion|attends|pardon|moment|halt|nein|"
    r"doch|korrektur|perdón|espera|não|aliás|scusa|anzi|wacht|нет|извините|точнее)\b"
    r"|不对|等等|抱歉|いや|すみません|아니|잠깐"
)
# Words that may come before a letter that is named in a sentence, beside those above.
BEFORE = _any(
    r"otherwise|else|use|first|second|former|latter|sometimes|often|always|usually|occasionally|today|tomorrow|now",
    r"finde|find|among|amongst|out|some|half|others|many|is|are|a|the|and|or|than|as|of|in|"
    r"with|that|"
    r"between|both|either|"
    r"neither|not|to|from|by|like",
    r"unlike|about|because|while|whereas|although|though|if|when|whether|since|but|compare|"
    r"comparing",
    r"compared|versus|vs|only|just|me|us|it|out|against|at|on|for|thought|think|find|feel|"
    r"finds?|believe|see|has|have|had|that|says?|does|do|did",
    r"considering|consider|look|looking|judge|call|beats?|over|above|under|why|how|which|"
    r"where|yet|nor|even|also|again|both|where|per|via|given|contrast|hand|reads?|using|"
    r"makes?|made|saw|wrote|write|type|show|shows",
    r"entre|ni|ou|et|que|de|pour|oder|und|als|dass|ist|w[äa]re|zwischen|weder|noch|weil|y|o|e|"
    r"con|por|em|di|per|dan|of|en|чем|и|или|между|ни|что|не|niż|i|än|och|la|le|el|il|der|die|"
    r"das|den|zu|für|mit|lautet|ne",
)
# Words that follow a letter at the end of a choice: "the answer is A because ...".
AFTER = _any(
    r"because|as|since|for|over|rather|instead|to|than|but|here|in|i|thanks|thank|given|due|"
    r"there|"
    r"when|if|with|which|while|although|though|however|so|it|by|out|from|at|on|this|that|and|"
    r"or|is|was|has|would|will|seems?|sounds?|reads?|makes?|fits?|follows?|feels?|looks?|"
    r"appears?|flows?|works?|please|then|obviously|definitely|probably|clearly|overall|too|"
    r"again|my|after|based|not|also|now|simply|more|before|among|between|today|best|every|any|"
    r"all|even|hands|easily|without|wins?|beats?|does|could|can|may|might|should|gets?|goes|"
    r"suits?|matches|will|stays?|comes?|remains?|are|were|do|the|you|explanation|reason|"
    r"reasoning|where|once|despite|well|just|only|we|am|of",
    r"car|parce|est|plutôt|qui|à|mais|et|pour|weil|da|denn|ist|wäre|wählen|nehmen|sagen|"
    r"klingt|passt|als|bevorzugen|erwarten|oder|und|aber|porque|es|suena|ya|pues|por|que|pero|"
    r"y|é|pois|soa|mas|e|è|perché|poiché|suona|omdat|want|is|klinkt|kiezen|потому|так|звучит|"
    r"поскольку|более|ponieważ|bo|jest|eftersom|är|wybieram|a|o|en|un|mi|minha|meu|mio|antes|"
    r"vor|eher|natürlicher|besser|wahrscheinlicher|gut|звучит|лучше|лучший|и|или|чем|como|"
    r"come|wie|comme|selon|nach|segundo|secondo|seçeneği|daha",
)
FINITE = _any(
    r"is|was|has|makes?|sounds?|reads?|follows?|seems?|fits?|feels?|looks?|flows?|works?|"
    r"would|will|wins?|beats?|does|doesn't|isn't|wouldn't|couldn't|can't|won't|hasn't|wasn't|"
    r"could|can|may|might|should|must|appears?|gets?|suits?|matches|goes|says|talks|speaks|"
    r"describes|mentions|comes?|continues|lacks|needs|uses|refers|contains|implies|suggests|"
    r"expresses|gives|shows|tells|connects|outperforms|edges|remains|stays|reflects|relates|"
    r"are|were|do|takes|belongs|carries|to (?:be|sound|read|follow|fit|make|seem|feel|come)|"
    r"clearly \w+s|simply \w+s",
    r"est|serait|me semble|semble|sonne|ist|wäre|klingt|passt|scheint|es|sería|suena|parece|"
    r"tiene|é|seria|soa|faz|è|sarebbe|suona|klinkt|zou|звучит|brzmi|jest|låter|är",
)
VERBS = _any(
    FINITE,
    r"and|or|nor|than|then|because|rather|over|it|i|for|as|since|with|but|by|to|vs\.?|versus|"
    r"instead|though|although|while|so|if|please|obviously|definitely|here|thanks|also|too|"
    r"not|just|simply|clearly|probably|actually|overall|both|slightly",
    r"ni|noch|oder|und|ou|et|y|o|mais|aber|pero|mas|ma|parce|weil|porque|perché|als|que|более|"
    r"лучше|"
    r"или|и|чем|daha|denn|car",
)
