"""``dragoman table install``: tables from dictionaries that are given away."""
