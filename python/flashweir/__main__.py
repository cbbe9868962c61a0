"""`python -m flashweir` is the command `flashweir`."""

from flashweir.cli import main

if __name__ == "__main__":
    main()
