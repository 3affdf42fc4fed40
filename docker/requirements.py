"""Print what the package needs, so that an image has it in a layer of its own, below the code that changes more often.

python requirements.py pyproject.toml [EXTRA...]
"""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
requirements = [*project["dependencies"], *(f"{project['name']}[{extra}]" for extra in sys.argv[2:])]
for requirement in requirements:  # it grows by those of extras, which may name others
    if included := re.fullmatch(rf"{project['name']}\[(.+)\]", requirement):
        requirements += project["optional-dependencies"][included[1]]
    else:
        sys.stdout.write(f"{requirement}\n")
