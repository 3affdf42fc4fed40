"""Numbers, dates and units of a sentence in any language, read by what they mean and compared with another's."""

from dragoman.checking.amounts.amount import Amount, Mismatch, Reading
from dragoman.checking.amounts.comparing.comparison import compare_amounts
from dragoman.checking.amounts.reading import read_amounts

__all__ = ["Amount", "Mismatch", "Reading", "compare_amounts", "read_amounts"]
