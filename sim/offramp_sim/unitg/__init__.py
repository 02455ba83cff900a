# SPDX-License-Identifier: Apache-2.0
"""UniTG simulated: a pipeline, its language model and the network between them, under several policies."""
