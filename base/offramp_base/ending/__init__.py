# SPDX-License-Identifier: Apache-2.0
"""The ending of commands, and what they hold outside of themselves until then.

A command is two processes. The one that its caller knows does nothing but wait
(:mod:`~offramp_base.ending.supervisor`): it passes SIGINT, SIGTERM and SIGHUP on to the other, which does the work and
unwinds (:mod:`~offramp_base.ending.signals`); what has not ended a second later, because compiled code holds it or a
worker is stopped, it kills. So it does not matter what the work is busy with.

Temporary folders, network namespaces and files that are being written carry their owner's name
(:mod:`~offramp_base.ending.owner`). What a process that was killed has left behind is therefore found and removed by
the next one that makes such a thing (:mod:`~offramp_base.ending.left`). Files appear as a whole
(:mod:`~offramp_base.ending.files`).

The modules are imported one by one: until a command has its supervisor, a signal finds Python's own handlers.
"""
