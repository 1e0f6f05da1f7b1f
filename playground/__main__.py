"""`python -m playground`: hands over to the command line."""

import sys

from playground import missing

try:
    from playground.cli import main
except ModuleNotFoundError as error:
    sys.exit(missing(error))

if __name__ == "__main__":
    main()
