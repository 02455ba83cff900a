# SPDX-License-Identifier: Apache-2.0
"""Hot keys of a key-value store, answered by the switch in front of it (``p4/kvcache``), coherent with writes."""
