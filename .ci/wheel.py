"""Says which files of the packages the wheel given lacks."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

packages = ("supervisors", "snodo_actors")
wanted = {
    path.as_posix()
    for package in packages
    for path in Path(package).rglob("*")
    if path.is_file() and path.suffix != ".pyc"
}
missing = sorted(wanted - set(zipfile.ZipFile(sys.argv[1]).namelist()))
sys.stdout.write(f"{len(wanted)} files wanted, missing: {', '.join(missing) or 'none'}\n")
sys.exit(bool(missing) or not all(f"{package}/py.typed" in wanted for package in packages))
