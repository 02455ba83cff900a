"""Devices that functions run on, behind :class:`offramp.leo.device.Device`."""
