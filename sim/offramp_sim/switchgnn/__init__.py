"""SwitchGNN without a network: the reference model of its switch and the in-process driver."""
