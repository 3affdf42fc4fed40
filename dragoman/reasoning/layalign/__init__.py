"""LayAlign: a multilingual encoder joined to a frozen LLM, layer by layer."""
