"""A user's English to the tokens of the grammar: `I don't have 2 cats!` to `i do not have two cats .`"""

import re

from transformer.tasks.grammar.english import number_words

_SIGNS = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "。": ".", "！": ".", "!": ".", "？": "?", "，": ","})
_WHOLE = {"won't": "will not", "can't": "can not"}
_ENDINGS = {"n't": "not", "'m": "am", "'re": "are", "'ll": "will", "'s": "is"}
_CONTRACTION = re.compile(r"(\w+?)(n't|'m|'re|'ll)|(he|she)('s)")  # but "cat's" may be an owner
_TOKEN = re.compile(r"[\w']+|[^\w\s]")
_ASKING = ("do", "does", "did", "will", "am", "is", "are")


def read(text: str) -> list[str]:
    """Return the tokens of an English sentence, [] if there is no word in it.

    Capitals, contractions, hyphens (`twenty-two`) and numerals up to 99 become what the grammar writes. An exclamation
    mark counts as a full stop; a missing end is added, a question mark where the first word asks. Any other word or
    sign stays as it is, for the vocabulary to know or not.
    """
    text = re.sub(r"(?<=\w)-(?=\w)", " ", text.translate(_SIGNS).lower())
    tokens = [token for rough in _TOKEN.findall(text) for token in _plain(rough)]
    if not any(character.isalnum() for character in "".join(tokens)):
        return []
    while len(tokens) > 1 and tokens[-1] in ".?" and tokens[-2] in ".?":  # "what ?!" ends once
        tokens.pop()
    if tokens[-1] not in (".", "?"):
        tokens.append("?" if tokens[0] in _ASKING else ".")
    return tokens


def _plain(word: str) -> list[str]:
    if word in _WHOLE:
        return _WHOLE[word].split()
    if contraction := _CONTRACTION.fullmatch(word):
        word, ending = filter(None, contraction.groups())
        return [word, _ENDINGS[ending]]
    if re.fullmatch(r"[0-9]{1,2}", word) and int(word) > 0:
        return number_words(int(word)).split()
    return [word]
