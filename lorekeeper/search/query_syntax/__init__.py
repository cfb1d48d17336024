"""The syntax of a search box: words, quoted phrases and tests on fields."""
