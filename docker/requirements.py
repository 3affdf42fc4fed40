"""Print what the package needs, so that an image has it in a layer of its own, below the code that changes more often.

python requirements.py pyproject.toml [EXTRA...]
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
extras = [requirement for extra in sys.argv[2:] for requirement in project["optional-dependencies"][extra]]
sys.stdout.writelines(f"{requirement}\n" for requirement in [*project["dependencies"], *extras])
