"""Encrypted MindRecord files, as MindSpore writes them: set_enc_key, set_enc_mode, set_dec_mode.

    file = {length i32, encrypted part of up to 64 MiB} .. 0 i32, mode of 7 letters, "ENCRYPT"       integers big-endian

The file and its index are encrypted alike. A part is what `common/cipher.py` makes of it; the name of a mode that is the user's
own functions is UDF-ENC. What is read is decrypted in memory: no plain copy is written, which MindSpore does beside the file.
"""
from __future__ import annotations

import io
import os
from typing import Any, Callable

from ...common import cipher
from ...common.errors import FileFormatError, ValueRangeError
from ...common.files import replacing
from .errors import MindRecordError

END = b"ENCRYPT"
PART = 64 << 20                          # bytes that are encrypted as one
MODE = "AES-GCM"
OWN = b"UDF-ENC"


class Settings:
    """What the set_ functions set. key : None for plain files;  encryption, decryption : a mode or a function"""
    key: str | None = None
    encryption: str | Callable = MODE
    decryption: str | Callable | None = None


def set_enc_key(enc_key: str | None) -> None:
    """The key of files that are written and read from now on: 16, 24 or 32 letters; None for plain files.

    raises : ValueRangeError
    """
    if enc_key is not None and not isinstance(enc_key, str):
        raise ValueRangeError("The input enc_key is not str.")
    if enc_key is not None and len(enc_key.encode()) not in cipher.KEYS["AES"]:
        raise ValueRangeError("The length of input enc_key is not 16, 24, 32.")
    Settings.key = enc_key


def _mode(mode: Any, name: str) -> Any:
    if not callable(mode) and not isinstance(mode, str):
        raise ValueRangeError(f"The input {name} is not str.")
    if not callable(mode) and mode != MODE:
        raise ValueRangeError(f"The input {name} is invalid.", hint=f"{MODE}, or a function")
    return mode


def set_enc_mode(enc_mode: str | Callable = MODE) -> None:
    """How files are encrypted: "AES-GCM", or a function of (file, its size, file to write, key). raises : ValueRangeError"""
    Settings.encryption = _mode(enc_mode, "enc_mode")


def set_dec_mode(dec_mode: str | Callable | None = MODE) -> None:
    """How files are decrypted: "AES-GCM", a function of (file, its size, file to write, key); None: as they are encrypted.

    raises : ValueRangeError
    """
    Settings.decryption = None if dec_mode is None else _mode(dec_mode, "dec_mode")


def encrypt_file(path: str) -> None:
    """Encrypt a file in its place, if there is a key."""
    key, mode = Settings.key, Settings.encryption
    if key is None:
        return
    with open(path, "rb") as plain, replacing(path) as stream:
        if callable(mode):
            mode(plain, os.path.getsize(path), stream, key)
        else:
            while part := plain.read(PART):
                sealed = cipher.encrypt(part, key.encode(), mode)
                stream.write(len(sealed).to_bytes(4, "big", signed=True) + sealed)
        stream.write(bytes(4) + (OWN if callable(mode) else mode.encode()) + END)


def opened(path: str) -> Any:
    """The bytes of a file as a stream, decrypted in memory if there is a key.

    raises : MindRecordError if the file is encrypted and there is no key, the other way round, or the key is another one
    """
    with open(path, "rb") as stream:
        stream.seek(-min(len(END), os.path.getsize(path)), os.SEEK_END)
        sealed = stream.read() == END
    if Settings.key is None:
        if sealed:
            raise MindRecordError(f"The mindrecord file is encrypted. You need to configure 'set_enc_key(...)' and "
                                  f"'set_enc_mode(...)' for decryption. ({path})")
        return open(path, "rb")
    if not sealed:
        raise MindRecordError(f"The mindrecord file is not encrypted. You can set 'set_enc_key(None)' to disable the decryption. "
                              f"({path})")
    mode = Settings.encryption if Settings.decryption is None else Settings.decryption
    if Settings.decryption is None and callable(mode):
        raise MindRecordError("You use custom encryption, so you must also define custom decryption.", hint="set_dec_mode")
    return _decrypted(path, Settings.key, mode)


def _decrypted(path: str, key: str, mode: Any) -> io.BytesIO:
    wrong = f"Failed to decrypt data, please check if enc_key and enc_mode / dec_mode is valid. ({path})"
    plain = io.BytesIO()
    with open(path, "rb") as stream:
        size = os.path.getsize(path) - len(END)
        stream.seek(size - len(OWN))
        if stream.read(len(OWN)) != (OWN if callable(mode) else mode.encode()):
            raise MindRecordError(wrong)
        stream.seek(0)
        if callable(mode):
            mode(stream, size, plain, key)
        else:
            while length := int.from_bytes(stream.read(4), "big", signed=True):
                part = stream.read(max(length, 0))
                if len(part) != length:
                    raise MindRecordError(f"{path} is damaged: an encrypted part does not end")
                try:
                    plain.write(cipher.decrypt(part, key.encode(), mode, path))
                except FileFormatError as error:
                    raise MindRecordError(wrong, note=str(error)) from None
    plain.seek(0)
    return plain
