"""What is wrong with a text that is no JSON, in the words of Go's decoder.

Runs only after a parser has refused the text, so it is written to be followed, not to be fast.
"""

from typing import Final

_END: Final = "unexpected end of JSON input"
_SPACE: Final = " \t\r\n"
_DIGITS: Final = "0123456789"
_ESCAPES: Final = '"\\/bfnrt'


class _Fault(Exception):  # noqa: N818 - a way out of the scanner, not an error of ours
    pass


def syntax_fault(text: str) -> str:
    """The decoder's sentence; empty when it has nothing to say."""
    scanner = _Scanner(text)
    try:
        scanner.value()
        scanner.end()
    except _Fault as fault:
        return str(fault)
    except RecursionError:
        return "exceeded max depth"
    return ""


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def _peek(self) -> str:
        if self._at >= len(self._text):
            raise _Fault(_END)
        return self._text[self._at]

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _next(self) -> str:
        self._skip()
        return self._peek()

    def _refuse(self, context: str) -> _Fault:
        return _Fault(f"invalid character {_quoted(self._peek())} {context}")

    def end(self) -> None:
        self._skip()
        if self._at < len(self._text):
            raise self._refuse("after top-level value")

    def value(self) -> None:
        char = self._next()
        if char == "{":
            self._object()
        elif char == "[":
            self._array()
        elif char == '"':
            self._string()
        elif char == "-" or char in _DIGITS:
            self._number()
        elif char in "tfn":
            self._literal({"t": "true", "f": "false", "n": "null"}[char])
        else:
            raise self._refuse("looking for beginning of value")

    def _object(self) -> None:
        self._at += 1
        if self._next() == "}":
            self._at += 1
            return
        while True:
            if self._next() != '"':
                raise self._refuse("looking for beginning of object key string")
            self._string()
            if self._next() != ":":
                raise self._refuse("after object key")
            self._at += 1
            self.value()
            if self._closes("}", "after object key:value pair"):
                return

    def _array(self) -> None:
        self._at += 1
        if self._next() == "]":
            self._at += 1
            return
        while True:
            self.value()
            if self._closes("]", "after array element"):
                return

    def _closes(self, mark: str, context: str) -> bool:
        char = self._next()
        if char not in ("," + mark):
            raise self._refuse(context)
        self._at += 1
        return char == mark

    def _string(self) -> None:
        self._at += 1
        while (char := self._peek()) != '"':
            if char < " ":
                raise self._refuse("in string literal")
            self._at += 1
            if char == "\\":
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        char = self._peek()
        if char == "u":
            self._at += 1
            for _ in range(4):
                if self._peek() not in "0123456789abcdefABCDEF":
                    raise self._refuse("in \\u hexadecimal character escape")
                self._at += 1
        elif char in _ESCAPES:
            self._at += 1
        else:
            raise self._refuse("in string escape code")

    def _number(self) -> None:
        if self._peek() == "-":
            self._at += 1
            if self._peek() not in _DIGITS:
                raise self._refuse("in numeric literal")
        if self._peek() == "0":
            self._at += 1
        else:
            self._digits()
        if self._text[self._at : self._at + 1] == ".":
            self._at += 1
            self._some_digits("after decimal point in numeric literal")
        if self._text[self._at : self._at + 1] in ("e", "E"):
            self._at += 1
            if self._peek() in "+-":
                self._at += 1
            self._some_digits("in exponent of numeric literal")

    def _some_digits(self, context: str) -> None:
        if self._peek() not in _DIGITS:
            raise self._refuse(context)
        self._digits()

    def _digits(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _DIGITS:
            self._at += 1

    def _literal(self, word: str) -> None:
        for index, expected in enumerate(word):
            if self._peek() != expected:
                raise self._refuse(
                    f"in literal {word} (expecting {_quoted(word[index])})"
                    if index
                    else "looking for beginning of value"
                )
            self._at += 1


def _quoted(char: str) -> str:
    special = {"'": "'\\''", '"': "'\"'", "\n": "'\\n'", "\t": "'\\t'", "\r": "'\\r'"}
    if char in special:
        return special[char]
    return f"'{char}'" if char >= " " else f"'\\x{ord(char):02x}'"
