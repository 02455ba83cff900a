"""The P4 software switch: front end, typed IR, execution engine, v1model target, STF, P4Runtime server."""
