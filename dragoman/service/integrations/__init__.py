"""Search in the forms that other tools ask for: Dify, Open WebUI, RoutIR, Pyserini, and agents that speak MCP."""
