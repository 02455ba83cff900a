"""FPGA engines: where their sources lie, their registers, synthesis, bitstreams and boards."""
