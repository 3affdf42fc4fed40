"""Hugging Face encoders and translators behind the interfaces of the backbone."""
