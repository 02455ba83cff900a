# SPDX-License-Identifier: Apache-2.0
"""The messages of gNMI, the gRPC network management interface of OpenConfig, which client and server share."""
