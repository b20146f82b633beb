"""In place of the build backend of NumPy's source distribution, where only that is to be downloaded.

`pip download` asks the backend for metadata, and the real one configures a build of NumPy for that, which takes
minutes and needs compilers. The distribution has its metadata in PKG-INFO already.
"""

import shutil
from pathlib import Path


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: object = None) -> str:
    """PEP 517's hook, called in the folder of the distribution; the name of the folder that has been made."""
    folder = Path(metadata_directory) / "numpy.dist-info"
    folder.mkdir()
    shutil.copy("PKG-INFO", folder / "METADATA")
    return folder.name
