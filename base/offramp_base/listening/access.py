# SPDX-License-Identifier: Apache-2.0
"""The condition under which peers may speak to a listener."""

from __future__ import annotations

from dataclasses import dataclass

from offramp_base.errors import OfframpError
from offramp_base.listening.address import Address
from offramp_base.listening.token import Token


@dataclass(frozen=True)
class Access:
    """The proof that a server demands of its peers.

    Attributes:
        token: token that a peer must prove to have; None: no proof.
        certificates: clients show certificates by TLS (gRPC alone does).
        insecure: an address beyond this machine is served although peers do not authenticate.
    """

    token: Token | None = None
    certificates: bool = False
    insecure: bool = False

    def check(self, address: Address, what: str) -> None:
        """Refuse to serve other machines by accident.

        Raises:
            OfframpError: the address is reachable from other machines, and peers would not have to authenticate.
        """
        if not (address.local or self.token or self.certificates or self.insecure):
            ways = "client certificates (TLS)" if what == "gRPC" else "a token (OFFRAMP_TOKEN_FILE)"
            raise OfframpError(
                f"{what} {address}: other machines reach this address; it needs {ways}, or insecure where every "
                "machine that reaches it is trusted"
            )
