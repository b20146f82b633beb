# Written by `python -m compat stubs`.
from numpy.version import *
from numpy.version import full_version as full_version
from numpy.version import git_revision as git_revision
from numpy.version import release as release
from numpy.version import short_version as short_version
from numpy.version import version as version
