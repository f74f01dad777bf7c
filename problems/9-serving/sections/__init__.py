"""What only this study's page shows: how long a token takes at lengths that came before."""

from .lengths import known_and_new_lengths

__all__ = ["known_and_new_lengths"]
