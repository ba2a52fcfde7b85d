"""The servers, a module each. Written by `ptc generate`: edits are lost."""

from . import everything as everything
from . import files as files
from . import git as git
from . import memory as memory
from . import sqlite as sqlite
from . import web as web
