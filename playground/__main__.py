"""`python -m playground`: hands over to the command line."""

from playground.cli import main

if __name__ == "__main__":
    main()
