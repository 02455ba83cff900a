# SPDX-License-Identifier: Apache-2.0
"""A cluster that runs a placed training job: tasks, flows that share network cards, and comparisons."""
