"""The words of MindIR's text, and a cursor that walks over them.

    %1 = tanh(%x) : f32[N]      ->      name %1, sign =, word tanh, sign (, name %x, sign ), sign :, word f32, ..

Comments run from # to the end of the line (`#0` is the name of a constant); inside brackets lines may break anywhere.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from ..common.annotations import Function
from ..common.errors import MindliteError
from ..common.records import dataclass

MAX_DEPTH = 64
MAX_DIGITS = 40
_TOKEN = re.compile(r"""
    (?P<space>   (?: [ \t\r] | \#(?!\d)[^\n]* )+ )
  | (?P<newline> \n )
  | (?P<string>  "(?:[^"\\\n]|\\.)*" )
  | (?P<graph>   @(?: [A-Za-z_][\w./]* | "(?:[^"\\\n]|\\.)*" ) (?: :\d+ )? )
  | (?P<name>    %(?: \d+ | [A-Za-z_][\w.]* | "(?:[^"\\\n]|\\.)*" ) (?: :\d+ )? )
  | (?P<blob>    \#\d+ )
  | (?P<float>   \d+\.\d+(?:[eE][-+]?\d+)? | \d+[eE][-+]?\d+ )
  | (?P<int>     \d+ )
  | (?P<word>    [A-Za-z_]\w* )
  | (?P<sign>    // | \.\. | [-+*%(){}\[\]<>=:,?] )
""", re.VERBOSE | re.ASCII)


class ReadError(MindliteError, ValueError):
    """Text that is no MindIR. Fields: line and column, counted from 1."""

    def __init__(self, what: str, text: str, position: int, hint: str = "") -> None:
        start = text.rfind("\n", 0, position) + 1
        end = text.find("\n", position)
        self.line, self.column = text.count("\n", 0, position) + 1, position - start + 1
        source = text[start:end if end >= 0 else len(text)]
        cut = max(0, position - start - 60)
        shown = source[cut:cut + 120]
        super().__init__(f"line {self.line}, column {self.column}: {what}", hint=hint,
                         note=f"    {shown}\n    {' ' * (position - start - cut)}^")

    def __str__(self) -> str:
        return "\n".join([self.message, self.note] + ([f"  hint: {self.hint}"] if self.hint else []))


@dataclass(frozen=True)
class Token:
    """A word of the text: kind (a group's name of the pattern), text, position."""
    kind: str
    text: str
    position: int


class Cursor:
    """A text, its tokens, and the number of the next one."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.tokens = list(self.tokenise())

    def tokenise(self) -> Iterator[Token]:
        """The tokens; newlines inside brackets do not count, several are one."""
        position, nesting, last = 0, 0, "newline"
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise ReadError(f"{self.text[position]!r} does not belong here", self.text, position)
            kind, text = str(match.lastgroup), match.group()
            if kind == "sign":
                nesting += (text in "([") - (text in ")]")
            if kind != "space" and not (kind == "newline" and (nesting > 0 or last == "newline")):
                yield Token(kind, text, position)
                last = kind
            position = match.end()
        yield Token("end", "", len(self.text))

    def fail(self, what: str, token: Token | None = None, hint: str = "") -> NoReturn:
        """Raise the error for `what` at a token (the next one)."""
        raise ReadError(what, self.text, (token or self.tokens[self.at]).position, hint)

    @property
    def next(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.at]

    def take(self, kind: str | None = None, text: str | None = None) -> Token:
        """The next token, which must be of that kind or text."""
        token = self.next
        if (kind and token.kind != kind) or (text and token.text != text):
            seen = {"end": "the text ends", "newline": "the line ends"}.get(token.kind, repr(token.text))
            self.fail(f"{text!r} is expected, {seen}" if text else f"a {kind} is expected, {seen}")
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        """True, and the token is taken, if it is `text`."""
        if self.next.text == text and self.next.kind in ("sign", "word"):
            self.at += 1
            return True
        return False

    def skip_newlines(self) -> None:
        """Go to the next line that has something."""
        while self.next.kind == "newline":
            self.at += 1

    def string(self) -> str:
        """The value of a string token."""
        token = self.take("string")
        return self.unquote(token.text, token)

    def unquote(self, text: str, token: Token) -> str:
        """The value of a JSON string."""
        try:
            return json.loads(text)
        except ValueError:
            self.fail("this string has a bad escape", token)

    def integer(self) -> int:
        """An int that may be negative, as those in sizes' bounds."""
        sign = -1 if self.accept("-") else 1
        return sign * self.number(self.take("int"))

    def number(self, token: Token) -> int:
        """The value of an int token, of bounded length."""
        if len(token.text) > MAX_DIGITS:
            self.fail("this number has too many digits", token)
        return int(token.text)

    def nested(self, inside: Function) -> Any:
        """Call `inside` one level deeper; deep nesting is an error, not the end of the stack."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"more than {MAX_DEPTH} levels of brackets")
        try:
            return inside()
        finally:
            self.depth -= 1

    def listed(self, end: str, item: Function) -> tuple[list[Any], bool]:
        """Items up to `end`, and whether a comma stood before it."""
        items, comma = [], False
        while not self.accept(end):
            items.append(self.nested(item))
            comma = self.accept(",")
            if not comma and self.next.text != end:
                self.take(text=end)
        return items, comma
