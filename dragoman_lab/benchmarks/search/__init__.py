"""Search as a user asks for it: quality over HTTP on public benchmarks, language bias, speed beside other systems."""
