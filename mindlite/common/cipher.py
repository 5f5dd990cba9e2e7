"""Encrypted files, as MindSpore writes them: blocks of up to 64 MiB, each with a key stream of its own.

    block = magic u32, tag 16 (AES-GCM only), length i32, {16 i32, nonce 16, size i32, text of that size}

AES-GCM uses the first 12 bytes of its nonce, as MindSpore 2.10 does.

Needs the package `cryptography`. AES-GCM notices changed bytes (NIST SP 800-38D); AES-CBC and SM4-CBC do not.
"""
from __future__ import annotations

import importlib
import os
import struct
from typing import Any

from .errors import ArgumentError, FileFormatError, ValueRangeError

MAGIC = {"AES-GCM": 0x7F3A5ED8, "AES-CBC": 0x7F3A5ED9, "SM4-CBC": 0x7F3A5EDA}
BLOCK = 64 << 20
TAG = NONCE = 16
KEYS = {"AES": (16, 24, 32), "SM4": (16,)}


def check_key(what: str, key: bytes, mode: str) -> None:
    """raises : ArgumentError for a key that is no bytes; ValueRangeError for another mode, or length of the key"""
    if not isinstance(key, bytes):
        raise ArgumentError(f"{what}: a key is bytes, not {type(key).__name__}")
    if mode not in MAGIC:
        raise ValueRangeError(f"{what}: there is no mode {mode!r}", hint=", ".join(MAGIC))
    if len(key) not in KEYS[mode[:3]]:
        raise ValueRangeError(f"{what}: a key of {mode} has {' or '.join(map(str, KEYS[mode[:3]]))} bytes, not {len(key)}")


def is_encrypted(data: bytes) -> bool:
    """True for the bytes of an encrypted file."""
    return len(data) >= 4 and struct.unpack("<I", data[:4])[0] in MAGIC.values()


def encrypt(plain: bytes, key: bytes, mode: str) -> bytes:
    """The bytes of the encrypted file. raises : as check_key; ImportError without `cryptography`"""
    check_key("encrypt", key, mode)
    found = []
    for begin in range(0, len(plain), BLOCK):
        nonce = os.urandom(NONCE)
        text, tag = _seal(plain[begin:begin + BLOCK], key, mode, nonce)
        body = struct.pack("<i", NONCE) + nonce + struct.pack("<i", len(text)) + text
        found.append(struct.pack("<I", MAGIC[mode]) + tag + struct.pack("<i", len(body)) + body)
    return b"".join(found)


def decrypt(data: bytes, key: bytes, mode: str, path: str) -> bytes:
    """What was encrypted. raises : FileFormatError for damage, another key or another mode; as check_key; ImportError"""
    check_key("decrypt", key, mode)
    plain, at, tag_size = [], 0, TAG if mode == "AES-GCM" else 0
    while at < len(data):
        head = data[at:at + 4 + tag_size + 8 + NONCE + 4]
        if len(head) < 4 + tag_size + 8 + NONCE + 4 or struct.unpack("<I", head[:4])[0] != MAGIC[mode]:
            raise FileFormatError(f"{path} is damaged, or not encrypted by {mode}")
        tag, head = head[4:4 + tag_size], head[4 + tag_size:]
        length, nonce_size = struct.unpack("<ii", head[:8])
        size, = struct.unpack("<i", head[8 + NONCE:])
        at += 4 + tag_size + 8 + NONCE + 4
        if nonce_size != NONCE or size < 0 or length != 8 + NONCE + size or size > len(data) - at:
            raise FileFormatError(f"{path} is damaged: a block does not end")
        plain.append(_open(data[at:at + size], key, mode, head[8:8 + NONCE], tag, path))
        at += size
    return b"".join(plain)


def _modules() -> tuple[Any, Any, Any]:
    home = "cryptography.hazmat.primitives"
    return (importlib.import_module(home + ".ciphers"), importlib.import_module(home + ".padding"),
            importlib.import_module("cryptography.exceptions"))


def _cipher(ciphers: Any, key: bytes, mode: str, nonce: bytes, tag: bytes | None) -> Any:
    kind = ciphers.algorithms.AES if mode.startswith("AES") else ciphers.algorithms.SM4
    way = ciphers.modes.GCM(nonce[:12], tag) if mode.endswith("GCM") else ciphers.modes.CBC(nonce)
    return ciphers.Cipher(kind(key), way)


def _seal(plain: bytes, key: bytes, mode: str, nonce: bytes) -> tuple[bytes, bytes]:
    ciphers, padding, _ = _modules()
    if mode.endswith("CBC"):
        padder = padding.PKCS7(128).padder()
        plain = padder.update(plain) + padder.finalize()
    worker = _cipher(ciphers, key, mode, nonce, None).encryptor()
    text = worker.update(plain) + worker.finalize()
    return text, worker.tag if mode.endswith("GCM") else b""


def _open(text: bytes, key: bytes, mode: str, nonce: bytes, tag: bytes, path: str) -> bytes:
    ciphers, padding, exceptions = _modules()
    worker = _cipher(ciphers, key, mode, nonce, tag or None).decryptor()
    try:
        plain = worker.update(text) + worker.finalize()
        if mode.endswith("CBC"):
            unpadder = padding.PKCS7(128).unpadder()
            plain = unpadder.update(plain) + unpadder.finalize()
    except (exceptions.InvalidTag, ValueError):
        raise FileFormatError(f"{path}: the key is another one, or the file is damaged") from None
    return plain
