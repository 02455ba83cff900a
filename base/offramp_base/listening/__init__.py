# SPDX-License-Identifier: Apache-2.0
"""The only way to listen: where, for whom, and how a peer proves who it is (docs/security.md).

Every server of Offramp binds through this package: to loopback or a Unix socket of mode 0600 by default, to any other
address only with a token that peers prove, or, for gRPC, with TLS. A peer proves its token before a byte of its
greeting is read, greetings have limits in size, time and number, and nobody waits for a silent peer.
"""

from offramp_base.listening.access import Access
from offramp_base.listening.address import Address, parse_address
from offramp_base.listening.connect import connect
from offramp_base.listening.limits import ConnectionLimits
from offramp_base.listening.listener import Greeting, Listener
from offramp_base.listening.token import Token

__all__ = ["Access", "Address", "ConnectionLimits", "Greeting", "Listener", "Token", "connect", "parse_address"]
