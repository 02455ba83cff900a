# SPDX-License-Identifier: Apache-2.0
"""A training job on its placement: graph stores, samplers, workers and parameter servers as processes (section VI-A).

A process has the tasks that its role names. Rank 0 also has the scheduler, which runs algorithm 1 over the network: it
starts tasks and flows, and gives each flow its rate, which its sender keeps.
"""
