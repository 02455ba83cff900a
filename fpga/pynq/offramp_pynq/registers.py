# SPDX-License-Identifier: Apache-2.0
"""Register maps; generated from fpga/regs by ``offramp fpga regs``, which the tests repeat."""

ALLREDUCE_REGS = {
    "MAGIC": 0x00,
    "VERSION": 0x04,
    "CLEAR": 0x08,
    "STATUS": 0x0C,
    "SIZE": 0x10,
    "NUMBER0": 0x20,
    "RANKS0": 0x24,
    "PAGES0": 0x28,
    "NUMBER1": 0x30,
    "RANKS1": 0x34,
    "PAGES1": 0x38,
    "NUMBER2": 0x40,
    "RANKS2": 0x44,
    "PAGES2": 0x48,
    "NUMBER3": 0x50,
    "RANKS3": 0x54,
    "PAGES3": 0x58,
    "MALFORMED": 0x64,
    "STRANGER": 0x68,
    "STALE": 0x6C,
    "OPENED": 0x70,
    "ADDED": 0x74,
    "COMPLETED": 0x78,
    "DUPLICATE": 0x7C,
    "REPEATED": 0x80,
    "PULLED": 0x84,
}
ALLREDUCE_REGS_VERSION = 0x41520001

EBS_LOOKUP_REGS = {
    "MAGIC": 0x00,
    "VERSION": 0x04,
    "CONTROL": 0x08,
    "STATUS": 0x0C,
    "BASE_LOW": 0x10,
    "BASE_HIGH": 0x14,
    "VOLUMES": 0x18,
    "ENTRIES": 0x1C,
    "ADDRESSES": 0x20,
    "SEGMENTS": 0x24,
    "LOOKUPS": 0x28,
    "FAULTS": 0x2C,
}
EBS_LOOKUP_REGS_VERSION = 0x45420001

KVS_LOOKUP_REGS = {
    "MAGIC": 0x00,
    "VERSION": 0x04,
    "CONTROL": 0x08,
    "STATUS": 0x0C,
    "BASE_LOW": 0x10,
    "BASE_HIGH": 0x14,
    "MASK": 0x18,
    "LOOKUPS": 0x1C,
    "FAULTS": 0x20,
}
KVS_LOOKUP_REGS_VERSION = 0x4B560001

P2P_DMA_REGS = {
    "MAGIC": 0x00,
    "VERSION": 0x04,
    "CONTROL": 0x08,
    "STATUS": 0x0C,
    "LANES": 0x10,
    "COPIES": 0x14,
    "FAULTS": 0x18,
    "HOST_LOW": 0x20,
    "HOST_HIGH": 0x24,
    "ACCELERATOR_LOW": 0x28,
    "ACCELERATOR_HIGH": 0x2C,
    "NIC_LOW": 0x30,
    "NIC_HIGH": 0x34,
}
P2P_DMA_REGS_VERSION = 0x50440001

PATH_ROUTER_REGS = {
    "MAGIC": 0x00,
    "VERSION": 0x04,
    "MODEL": 0x08,
    "MODELS": 0x0C,
    "REFUSED": 0x10,
}
PATH_ROUTER_REGS_VERSION = 0x50520001

QUANTPACK_REGS = {
    "MAGIC": 0x00,
    "VERSION": 0x04,
    "CONTROL": 0x08,
    "STATUS": 0x0C,
    "COLUMNS": 0x10,
    "LANES": 0x14,
    "QUANTISED": 0x18,
    "DEQUANTISED": 0x1C,
    "FAULTS": 0x20,
}
QUANTPACK_REGS_VERSION = 0x51500001

REDUCE_REGS = {
    "MAGIC": 0x00,
    "VERSION": 0x04,
    "CONTROL": 0x08,
    "STATUS": 0x0C,
    "CAPACITY": 0x10,
    "LANES": 0x14,
    "SUMS": 0x18,
    "FAULTS": 0x1C,
}
REDUCE_REGS_VERSION = 0x52440001

SWITCHGNN_REGS = {
    "MAGIC": 0x00,
    "VERSION": 0x04,
    "CLEAR": 0x08,
    "STATUS": 0x0C,
    "AGGREGATORS": 0x10,
    "VERTICES": 0x14,
    "EDGES": 0x18,
    "MEMBERS": 0x20,
    "ROUND": 0x24,
    "WHICH": 0x28,
    "COUNT": 0x2C,
}
SWITCHGNN_REGS_VERSION = 0x53470001
