"""Security of connections over real networks."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from typing import Self


@dataclass(frozen=True)
class Security:
    """Authentication and encryption of connections. Made by one of the methods."""

    plain_: bool = False
    token_: str | None = None
    identity: str | None = None
    peer: str | None = None
    known_peers: str | None = None
    authorized_keys: str | None = None

    @classmethod
    def plain(cls) -> Self:
        """No protection: anyone on the path can read and change the data."""
        return cls(plain_=True)

    @classmethod
    def token(cls, token: str) -> Self:
        """Authentication of both ends by a shared secret, such as the token that `multihop recv` prints."""
        return cls(token_=token)

    @classmethod
    def keys(
        cls,
        identity: str | PathLike[str],
        *,
        peer: str | None = None,
        known_peers: str | PathLike[str] | None = None,
        authorized_keys: str | PathLike[str] | None = None,
    ) -> Self:
        """Authentication by a private key (a file of `multihop keygen`), and how the peer's key is checked.

        `peer` is the public key that the peer must have, or `any`. To connect, `known_peers` is the file of
        the keys of listeners seen before. To listen, `authorized_keys` is the file of the callers' keys.
        """
        known = None if known_peers is None else fspath(known_peers)
        authorized = None if authorized_keys is None else fspath(authorized_keys)
        return cls(identity=fspath(identity), peer=peer, known_peers=known, authorized_keys=authorized)
