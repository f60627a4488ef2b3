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
    strict: bool = False
    shared_key: str | None = None
    silent: bool = False

    @classmethod
    def plain(cls) -> Self:
        """No protection: anyone on the path can read and change the data."""
        return cls(plain_=True)

    @classmethod
    def token(cls, token: str, *, silent: bool = False) -> Self:
        """Authentication of both ends by a shared secret, such as the token that `multihop recv` prints.

        A listener that is `silent` answers only those who prove to know it.
        """
        return cls(token_=token, silent=silent)

    @classmethod
    def keys(
        cls,
        identity: str | PathLike[str],
        *,
        peer: str | None = None,
        known_peers: str | PathLike[str] | None = None,
        authorized_keys: str | PathLike[str] | None = None,
        strict: bool = False,
        shared_key: str | PathLike[str] | None = None,
        silent: bool = False,
    ) -> Self:
        """Authentication by a private key (a file of `multihop keygen`), and how the peer's key is checked.

        `peer` is the public key that the peer must have, or `any`. To connect, `known_peers` is the file of
        the keys of listeners seen before; with `strict` others are refused. To listen, `authorized_keys` is
        the file of the callers' keys; a listener that is `silent` answers only those who prove to own one of
        them. `shared_key` is the file of a secret that both ends have in addition, from `multihop keygen
        --shared`.
        """

        def path(file: str | PathLike[str] | None) -> str | None:
            return None if file is None else fspath(file)

        return cls(
            identity=fspath(identity),
            peer=peer,
            known_peers=path(known_peers),
            authorized_keys=path(authorized_keys),
            strict=strict,
            shared_key=path(shared_key),
            silent=silent,
        )
