"""`python -m playground`: hands over to the command line."""

import atexit
import gc
import signal
import sys

from playground import missing

interrupt = signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while it loads leaves without a traceback
try:
    from playground.cli import main
except ModuleNotFoundError as error:
    sys.exit(missing(error))
signal.signal(signal.SIGINT, interrupt)

if __name__ == "__main__":
    atexit.register(gc.freeze)  # else its end looks through all imports for garbage: a fifth of its time
    main()
