"""A plan on a SONiC switch, as tables of its CONFIG_DB."""
