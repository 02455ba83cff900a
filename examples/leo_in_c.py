# SPDX-License-Identifier: Apache-2.0
"""A LEO application in C: a program of 45 lines against ``libofframp`` counts words in LEO's key-value store.

The program is smartnic/store/examples/count.c. The library is compiled when it is first needed (cmake, ninja, g++).

    to 1
    be 1
    or 1
    to 2
"""

import os
import subprocess
import tempfile
from pathlib import Path

from offramp.leo import StoreProcess, StoreSettings
from offramp.leo.store import LIBRARY, build_library, source_root


def main() -> None:
    """Build, serve, run."""
    library = build_library()
    with tempfile.TemporaryDirectory() as folder, StoreProcess(StoreSettings(listen="127.0.0.1:0")) as store:
        program = Path(folder) / "count"
        source = source_root() / "examples" / "count.c"
        flags = [f"-I{source_root() / 'include'}", str(library / LIBRARY), f"-Wl,-rpath,{library}"]
        subprocess.run(["cc", "-O2", str(source), "-o", str(program), *flags], check=True)
        subprocess.run([str(program), store.addresses["listen"], "to", "be", "or", "to"], check=True, env=os.environ)


if __name__ == "__main__":
    main()
