"""As `data-skip`, where the scripts of an environment are not on the path: `python -m data_skip.cli`."""

from data_skip.cli import main

main()
