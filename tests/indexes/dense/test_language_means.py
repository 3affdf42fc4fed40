"""The mean vectors of languages, with which passages in several languages compare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.indexes.dense.language_means import LanguageMeans, shipped_means

WIDTH = 3
VECTORS = st.lists(st.floats(-1, 1), min_size=WIDTH, max_size=WIDTH).map(lambda one: np.array(one, np.float32))


@given(VECTORS, st.dictionaries(st.sampled_from("abcd"), VECTORS), st.sets(st.sampled_from("abcdef")))
def test_the_excess_is_the_inner_product_less_the_mean_over_the_languages(
    vector: np.ndarray, means: dict[str, np.ndarray], languages: set[str]
) -> None:
    found = LanguageMeans(means).excess(vector, languages)
    assert found.keys() == languages & means.keys()
    products = {one: float(vector.astype(np.float64) @ means[one]) for one in found}
    for one, value in found.items():
        assert value == pytest.approx(products[one] - np.mean(list(products.values())), abs=1e-5)


def test_they_are_kept_in_16_bits_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "means.safetensors"
    LanguageMeans({"de": np.array([0.25, -0.5, 1.0], np.float32)}).save(path)
    read = LanguageMeans.load(path)
    assert read.languages == ("de",)
    assert read.excess(np.ones(WIDTH, np.float32), ["de", "en"]) == {"de": 0.0}
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(ValueError, match=r"means\.safetensors has no means of languages"):
        LanguageMeans.load(path)


def test_the_shipped_means_tell_languages_apart() -> None:
    means, known = shipped_means("e5-small"), ["ar", "de", "el", "en", "es", "ru", "zh"]
    assert set(known) <= set(means.languages)
    for language in known:
        excess = means.excess(means._means[language], known)
        assert max(excess, key=excess.__getitem__) == language
    assert shipped_means("another").languages == ()
