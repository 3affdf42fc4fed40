"""Settings of all tests."""

import os

import hypothesis

from tests import java_archive

os.environ["OMP_NUM_THREADS"] = "1"  # several processes test at a time, and threads of small models wait for each other
os.environ["DRAGOMAN_ALLOWED_HOSTS"] = "testserver"  # the Host of Starlette's test client
os.environ["DRAGOMAN_CONFIG"] = os.devnull  # whatever file a developer has in the working directory
os.environ["JAVA_TOOL_OPTIONS"] = java_archive.options()
hypothesis.settings.register_profile("dragoman", deadline=None)  # a busy machine is no fault of what is tested
hypothesis.settings.load_profile("dragoman")
