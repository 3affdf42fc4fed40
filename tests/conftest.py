"""Settings of all tests."""

import hypothesis

hypothesis.settings.register_profile("dragoman", deadline=None)  # a busy machine is no fault of what is tested
hypothesis.settings.load_profile("dragoman")
