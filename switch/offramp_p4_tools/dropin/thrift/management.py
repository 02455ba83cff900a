# SPDX-License-Identifier: Apache-2.0
"""What bmv2's run-time services do with the whole switch, whatever program runs: swaps of programs, ports, hashes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from offramp_base.errors import OfframpError
from offramp_p4.runtime.device_config import DeviceConfig
from offramp_p4.runtime.pushed import build_pushed
from offramp_p4.serve import LEAST_RING_BYTES, open_port
from offramp_p4.tm.config import MAX_PORT
from offramp_p4.v1model.crc import WIDTHS, CrcParameters
from offramp_p4_tools.dropin.thrift.services import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp_p4.runtime.pipeline import Pipeline
    from offramp_p4.serve import RunningSwitch

_SWAP_DISABLED, _ONGOING_SWAP, _NO_ONGOING_SWAP = 1, 2, 3
_PORT_ERROR: Final = 1
_CALCULATION_NAME, _CALCULATION_TYPE = 1, 2
_PATHS: Final = ("unix:", "shm:", "peer:")


class Management:
    """The methods of the switch as a whole; they take the device's locks themselves.

    Args:
        running: the switch.
        calculations: the hashes of the program that runs, with their algorithms.
        swap: whether programs may be swapped, as with bmv2's ``--enable-swap``.
    """

    def __init__(self, running: RunningSwitch, calculations: Callable[[], dict[str, str]], *, swap: bool) -> None:
        self._running, self._calculations, self._swap = running, calculations, swap
        self._lock = threading.Lock()
        self._next: Pipeline | None = None

    # --- programs -------------------------------------------------------------------------------------------------

    def bm_load_new_config(self, config_str: str) -> None:
        """Compile a program while the present one runs on.

        Raises:
            RequestRefused: swaps are not enabled, or a program is waiting already.
            OfframpError: the program is refused.
        """
        with self._swapping():
            if self._next is not None:
                raise RequestRefused(_ONGOING_SWAP, "a program is waiting for bm_swap_configs")
            self._next = build_pushed(self._running.device, DeviceConfig(config_str), "config.json")

    def bm_swap_configs(self) -> None:
        """Run the program that waits, with empty tables.

        Raises:
            RequestRefused: swaps are not enabled, or no program is waiting.
        """
        device = self._running.device
        with self._swapping():
            if self._next is None:
                raise RequestRefused(_NO_ONGOING_SWAP, "no program is waiting")
            with device.control(), device.exclusive():
                device.pipeline, self._next = self._next, None

    def _swapping(self) -> threading.Lock:
        if not self._swap:
            raise RequestRefused(_SWAP_DISABLED, "swaps need --enable-swap")
        return self._lock

    # --- ports ----------------------------------------------------------------------------------------------------

    def bm_dev_mgr_add_port(self, iface_name: str, port_num: int, pcap_path: str = "") -> None:
        """Attach a port to an interface, or to ``udp:HOST:PORT``.

        Raises:
            RequestRefused: the port is taken or out of range, or the interface cannot be opened.
        """
        with self._lock:
            if not 0 <= port_num <= MAX_PORT or port_num in self._running.ports:
                raise RequestRefused(_PORT_ERROR, f"port {port_num} is taken or outside 0..{MAX_PORT}")
            if pcap_path:  # any process of this machine may ask, and the switch is often root's
                raise RequestRefused(_PORT_ERROR, "captures of packets: name their files when the switch starts")
            if iface_name.startswith(_PATHS):
                raise RequestRefused(_PORT_ERROR, f"{iface_name}: expected an interface or udp:HOST:PORT")
            try:
                port = open_port(iface_name, LEAST_RING_BYTES)
                try:
                    self._running.attach(port_num, port)
                except OfframpError:
                    port.close()
                    raise
            except OfframpError as error:
                raise RequestRefused(_PORT_ERROR, str(error)) from None

    def bm_dev_mgr_remove_port(self, port_num: int) -> None:
        """Close a port.

        Raises:
            RequestRefused: there is none.
        """
        with self._lock:
            try:
                self._running.detach(port_num)
            except OfframpError as error:
                raise RequestRefused(_PORT_ERROR, str(error)) from None

    def bm_dev_mgr_show_ports(self) -> list[Any]:
        """The ports, and whether their links are up."""
        links = self._running.device.environment.links
        with self._lock:
            return [
                {"port_num": number, "iface_name": port.name, "is_up": links.up(number), "extra": {}}
                for number, port in sorted(self._running.ports.items())
            ]

    # --- hashes ---------------------------------------------------------------------------------------------------

    def bm_set_crc16_custom_parameters(self, calc_name: str, crc16_config: Any) -> None:
        """Set the parameters of a custom CRC of 16 bits; see :meth:`_set_crc`."""
        self._set_crc(calc_name, "crc16_custom", crc16_config)

    def bm_set_crc32_custom_parameters(self, calc_name: str, crc32_config: Any) -> None:
        """Set the parameters of a custom CRC of 32 bits; see :meth:`_set_crc`."""
        self._set_crc(calc_name, "crc32_custom", crc32_config)

    def _set_crc(self, name: str, algorithm: str, config: Any) -> None:
        """Set the parameters of all calls that compute a calculation; Thrift's numbers are signed.

        Raises:
            RequestRefused: there is no such hash, or it is of another algorithm.
        """
        from offramp_p4_tools.bmv2.write import calculations

        self._check_calculation(name, algorithm)
        width = WIDTHS[algorithm]
        numbers = ("polynomial", "initial_remainder", "final_xor_value")
        flags = ("data_reflected", "remainder_reflected")
        parameters = CrcParameters(
            width,
            *(config.get(n, 0) & ((1 << width) - 1) for n in numbers),
            *(bool(config.get(f, False)) for f in flags),
        )
        device = self._running.device
        with device.control(), device.exclusive():
            pipeline = device.pipeline
            crcs = None if pipeline is None else pipeline.switch.crcs
            if pipeline is None or crcs is None:
                raise RequestRefused(_CALCULATION_NAME, f"no calculation {name}")
            for call in calculations(pipeline.program).get(name, ()):
                crcs.set(call, parameters)

    def bm_set_toeplitz_hash_key(self, calc_name: str, key: bytes) -> None:
        """Refuse as bmv2 does, since no program here has this hash."""
        del key
        self._check_calculation(calc_name, "toeplitz")

    def _check_calculation(self, name: str, algorithm: str) -> None:
        calculations = self._calculations()
        if name not in calculations:
            raise RequestRefused(_CALCULATION_NAME, f"no calculation {name}")
        if calculations[name] != algorithm:
            raise RequestRefused(_CALCULATION_TYPE, f"calculation {name} is {calculations[name]}, not {algorithm}")
