"""Pretrained checkpoints behind the interfaces of the backbone: encoders and translators of Hugging Face."""
