"""`python -m polylm`."""

from polylm.cli import main

if __name__ == "__main__":
    main()
